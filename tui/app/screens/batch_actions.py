"""What can be done with a batch, the same keys on every screen that has one in hand."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual import work
from textual.binding import Binding

from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.watching import Watched, order_lines
from tidepool.storage.studies import batches_to_resume, delete_any, steer_any
from tidepool.tui.app import launching
from tidepool.tui.app.dialogs.dialog import Confirm
from tidepool.tui.app.screens.mode_screen import ModeScreen
from tidepool.tui.drawing.plain import one_line

BATCH_BINDINGS = [
    Binding("p", "pause", "Pause", id="batch.pause", tooltip="or let a paused batch go on"),
    Binding("s", "stop", "Stop", id="batch.stop", tooltip="it can be resumed"),
    Binding("u", "resume", "Resume", id="batch.resume", tooltip="goes on, retries failed units, buys nothing twice"),
    Binding("l", "limits", "Limits", id="batch.limits", tooltip="change them while it runs"),
    Binding("e", "export", "Export", id="batch.export", tooltip="JSON, CSV, SQLite, HTML, Markdown, Parquet"),
    Binding(
        "o", "open_export", "Open the export", show=False, id="batch.open_export", tooltip="the last one of this batch"
    ),
    Binding("c", "duplicate", "Copy", id="batch.copy", tooltip="its config, to change and run anew"),
    Binding("h", "code", "Code by hand", show=False, id="batch.code", tooltip="a blinded sample of it, one key a code"),
    Binding("x", "delete", "Delete", id="batch.delete", tooltip="asks first"),
]

RESUMABLE = ("interrupted", "partial", "failed", "pending")
NEEDS: dict[str, Callable[[Watched], bool]] = {
    "pause": lambda batch: batch.running,
    "stop": lambda batch: batch.running,
    "limits": lambda batch: batch.running,
    "resume": lambda batch: batch.status in RESUMABLE,
    "delete": lambda batch: not batch.running,
    "export": lambda batch: True,
    "open_export": lambda batch: True,
    "duplicate": lambda batch: True,
    "code": lambda batch: (
        batch.kind in ("secret_game", "simulation", "evolution") and not batch.running and not batch.cells
    ),
}
"""action → which batches it is for"""


class BatchActions(ModeScreen):
    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action not in NEEDS:
            return super().check_action(action, parameters)
        batch = self.shown_batch
        return batch is not None and NEEDS[action](batch)

    async def _told(self, batch: Watched, word: str, arguments: dict[str, Any] | None = None) -> None:
        try:
            await self.tidepool.file.do(steer_any, self.tidepool.path, batch.id, word, arguments)
        except TidepoolError as error:
            self.tidepool.tell(error)

    @work(group="act")
    async def action_pause(self) -> None:
        if batch := self.shown_batch:
            await self._told(batch, "continue" if batch.paused else "pause")

    @work(group="act")
    async def action_stop(self) -> None:
        from tidepool.tui.app.dialogs.stop import StopDialog

        if (batch := self.shown_batch) is None:
            return
        orders = await self.tidepool.file.look(order_lines, abs(batch.number))
        answer = await self.app.push_screen_wait(StopDialog(batch.name, sum(order.open for order in orders)))
        if answer is not None:
            await self._told(batch, "stop", {"on_stop": answer})
            self.notify("Stopping: calls in flight may finish.", markup=False)

    @work(group="act")
    async def action_limits(self) -> None:
        from tidepool.tui.app.dialogs.limits import (
            LimitsDialog,  # knows every key of a config: the first screen need not
        )

        if (batch := self.shown_batch) is None:
            return
        changes = await self.app.push_screen_wait(LimitsDialog(batch))
        if changes:
            await self._told(batch, "limits", changes)

    @work(group="act")
    async def action_resume(self) -> None:
        """A batch that was not created here is asked about first: the process that resumes it has no terminal."""
        from tidepool.engine.trust.gate import adopt, question_about

        if (batch := self.shown_batch) is None:
            return
        path, file = self.tidepool.path, self.tidepool.file
        try:
            for one in await file.look(batches_to_resume, batch.id):
                if (question := await file.do(question_about, path, one)) is None:
                    continue
                from tidepool.tui.app.dialogs.trust import TrustDialog

                if not await self.app.push_screen_wait(TrustDialog(question)):
                    return
                await file.do(adopt, path, question.admission.batch_id, question.admission.frozen)
        except TidepoolError as error:
            self.tidepool.tell(error)
            return
        self.tidepool.follow(launching.resume(path, batch.id))

    @work(group="act")
    async def action_export(self) -> None:
        from tidepool.tui.app.dialogs.export import ExportDialog, export

        if (batch := self.shown_batch) is None:
            return
        answer = await self.app.push_screen_wait(ExportDialog(batch))
        if answer is None:
            return
        self.notify(one_line(f"Exporting to {answer[1]} …"), markup=False)
        if fault := await export(self.tidepool.path, batch.id, *answer):
            self.tidepool.tell(fault)
        else:
            self.tidepool.exported[batch.id] = Path(answer[1])
            self.notify(one_line(f"Exported to {answer[1]}. o opens it."), markup=False)

    @work(group="act")
    async def action_open_export(self) -> None:
        """In a browser or whatever the desktop has for it; over SSH there is none, so its path is copied."""
        if (batch := self.shown_batch) is None:
            return
        if (path := self.tidepool.exported.get(batch.id)) is None:
            self.notify("Nothing of this batch was exported since the app was opened: e does.", markup=False)
        elif not await asyncio.to_thread(launching.open_outside, path):
            self.app.copy_to_clipboard(str(Path.cwd() / path))
            self.notify(one_line(f"There is no desktop here to open it with. Copied: {path}"), markup=False)

    @work(group="act")
    async def action_duplicate(self) -> None:
        if batch := self.shown_batch:
            await self.tidepool.compose_copy(batch)

    @work(group="act")
    async def action_code(self) -> None:
        from tidepool.tui.app.dialogs.coding import CodingDialog, CodingStart

        if (batch := self.shown_batch) is None or (wish := await self.app.push_screen_wait(CodingStart(batch))) is None:
            return
        try:
            session = await self.tidepool.file.do(wish.session, self.tidepool.path, batch.id)
            if wish.act == "code":
                await self.app.push_screen_wait(CodingDialog(session))
            else:
                self.notify(one_line(await self.tidepool.file.do(wish.exchanged, session)), markup=False)
        except TidepoolError as error:
            self.tidepool.tell(error)
        self.recount()

    def recount(self) -> None:
        """What the screen shows of the batch is no longer all."""

    @work(group="act")
    async def action_delete(self) -> None:
        if (batch := self.shown_batch) is None:
            return
        cells = f"{batch.cells:,} batches, " if batch.cells else ""
        question = (
            f"Delete {one_line(batch.name)} ({batch.id}) with its {cells}{batch.units_total:,} units and {batch.calls:,} "
            "answers? This cannot be undone."
        )
        if await self.app.push_screen_wait(Confirm(question, "Delete", no="Keep")):
            try:
                await self.tidepool.file.do(delete_any, self.tidepool.path, batch.id)
            except TidepoolError as error:
                self.tidepool.tell(error)
