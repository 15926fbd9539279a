"""What the screens share: navigation, footer, the loop that reads the file, and the actions on a batch."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual import work
from textual._context import NoActiveAppError
from textual.app import ComposeResult, ScreenStackError, SuspendNotSupported
from textual.binding import Binding
from textual.events import Resize, ScreenResume
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.worker import Worker

from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.watching import BatchLine, order_lines
from tidepool.storage.studies import delete_any, steer_any
from tidepool.tui.app import launching
from tidepool.tui.app.background import while_open
from tidepool.tui.app.dialogs.basic import Confirm
from tidepool.tui.app.widgets.frame import KeyLine, Navigation
from tidepool.tui.drawing.text import one_line

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

CLOSER_BELOW = 110
"""cells"""


class ModeScreen(Screen[None]):
    MODE = ""
    HELP = ""
    PERIOD = 0.25
    """seconds between two looks at the file"""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Textual would draw the whole screen anew; those who lose and gain the focus draw themselves."""

    def __init__(self) -> None:
        super().__init__()
        self._nudged = asyncio.Event()
        self._styled_by = ""
        """the theme that it was last seen in"""
        with suppress(NoActiveAppError, ScreenStackError):
            # as new as the screen one comes from, which Textual would style and lay out anew for every new one
            self._css_update_count = self.app.screen._css_update_count

    @property
    def tidepool(self) -> "TidepoolApp":
        return cast("TidepoolApp", self.app)

    def compose(self) -> ComposeResult:
        app = self.app
        size = app.size
        self.add_class(_widest(size.width, app.HORIZONTAL_BREAKPOINTS), _widest(size.height, app.VERTICAL_BREAKPOINTS))
        yield Navigation(self.MODE)
        yield from self.compose_body()
        yield KeyLine(compact=size.width < CLOSER_BELOW)

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Textual would style everything anew at each return, and twice at the first; only another theme asks for that."""
        event.refresh_styles &= self._styled_by not in ("", self.app.theme)
        self._styled_by = self.app.theme
        self.nudge()

    def on_resize(self, event: Resize) -> None:
        """Where there is little room the keys stand closer, so that Help is among them."""
        self.query_one(KeyLine).compact = event.size.width < CLOSER_BELOW

    def compose_body(self) -> Iterable[Widget]:
        return ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A slash is a key of the screen, in its turn with the letters after it; typed into a text it is a slash."""
        return not (action in ("search", "filter") and isinstance(self.focused, Input | TextArea))

    def notify(self, message: str, *, markup: bool = False, **more: Any) -> None:
        """Foreign text is no markup."""
        super().notify(message, markup=markup, **more)

    async def before_the_end(self) -> None:
        """The app ends when this has."""

    async def look(self) -> None:
        """Reads what has changed and shows it; called while the screen is in sight."""

    def nudge(self) -> None:
        """Look at once, without waiting for the next turn."""
        self._nudged.set()

    async def on_mount(self) -> None:
        self.run_worker(self._keep_looking(), group="look", exclusive=True)

    async def _keep_looking(self) -> None:
        while True:
            self._nudged.clear()
            if self in self.app.screen_stack:
                try:
                    with while_open(self.app):
                        await self.look()
                except TidepoolError as error:
                    self.tidepool.show_error(error)
                    await asyncio.sleep(5)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._nudged.wait(), self.PERIOD)


def _widest(cells: int, breakpoints: list[tuple[int, str]] | None) -> str:
    """The class that Textual will give a screen of this size; known before its widgets are made, they are styled once."""
    return max((place, name) for place, name in breakpoints or () if cells >= place)[1]


ScreenT = TypeVar("ScreenT", bound=ModeScreen)
BatchScreenT = TypeVar("BatchScreenT", bound="BatchActions")


def screen_action(act: Callable[[ScreenT], Awaitable[None]]) -> Callable[[ScreenT], Worker[None]]:
    """An action in a worker of its own; what goes wrong is told in the error dialog."""

    @work(group="act")
    async def run(screen: ScreenT) -> None:
        try:
            await act(screen)
        except TidepoolError as error:
            screen.tidepool.show_error(error)

    return run


def batch_action(act: Callable[[BatchScreenT, BatchLine], Awaitable[None]]) -> Callable[[BatchScreenT], Worker[None]]:
    """Such an action on the batch that the screen shows."""

    async def run(screen: BatchScreenT) -> None:
        if (batch := screen.shown_batch) is not None:
            await act(screen, batch)

    return screen_action(run)


BATCH_BINDINGS = [
    Binding("p", "pause", "Pause", tooltip="or let a paused batch go on"),
    Binding("s", "stop", "Stop", tooltip="it can be resumed"),
    Binding("u", "resume", "Resume", tooltip="goes on, retries failed units, buys nothing twice"),
    Binding("l", "limits", "Limits", tooltip="change them while it runs"),
    Binding("e", "export", "Export", tooltip="JSON, CSV, SQLite, HTML, Markdown, Parquet"),
    Binding("c", "duplicate", "Copy", tooltip="its config, to change and run anew"),
    Binding("h", "code", "Code by hand", show=False, tooltip="a blinded sample of it, one key a code"),
    Binding("x", "delete", "Delete", tooltip="asks first"),
]

RESUMABLE = ("interrupted", "partial", "failed", "pending")
NEEDS: dict[str, Callable[[BatchLine], bool]] = {
    "pause": lambda batch: batch.running,
    "stop": lambda batch: batch.running,
    "limits": lambda batch: batch.running,
    "resume": lambda batch: batch.status in RESUMABLE,
    "delete": lambda batch: not batch.running,
    "export": lambda batch: True,
    "duplicate": lambda batch: True,
    "code": lambda batch: batch.kind in ("secret_game", "simulation") and not batch.running and not batch.cells,
}
"""action → which batches it is for"""


class BatchActions(ModeScreen):
    _batch: BatchLine | None = None

    @property
    def shown_batch(self) -> BatchLine | None:
        """The batch that actions of this screen are about."""
        return self._batch

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action not in NEEDS:
            return super().check_action(action, parameters)
        batch = self.shown_batch
        return batch is not None and NEEDS[action](batch)

    async def _steer(self, batch: BatchLine, word: str, arguments: dict[str, Any] | None = None) -> None:
        await self.tidepool.file.do(steer_any, self.tidepool.path, batch.id, word, arguments)

    @batch_action
    async def action_pause(self, batch: BatchLine) -> None:
        await self._steer(batch, "continue" if batch.paused else "pause")

    @batch_action
    async def action_stop(self, batch: BatchLine) -> None:
        from tidepool.tui.app.dialogs.batch import StopDialog

        orders = await self.tidepool.file.look(order_lines, abs(batch.number))
        answer = await self.app.push_screen_wait(StopDialog(batch.name, sum(order.open for order in orders)))
        if answer is not None:
            await self._steer(batch, "stop", {"on_stop": answer})
            self.notify("Stopping: calls in flight may finish.")

    @batch_action
    async def action_limits(self, batch: BatchLine) -> None:
        from tidepool.tui.app.dialogs.batch import LimitsDialog

        if changes := await self.app.push_screen_wait(LimitsDialog(batch)):
            await self._steer(batch, "limits", changes)

    @batch_action
    async def action_resume(self, batch: BatchLine) -> None:
        """A batch that was not created here is asked about first: the process that resumes it has no terminal."""
        from tidepool.engine.run import question_about

        path, file = self.tidepool.path, self.tidepool.file
        question = await file.do(question_about, path, batch.id)
        if question is not None and not await self.tidepool.ask_for_trust(question):
            return
        self.tidepool.follow(launching.resume(path, batch.id))

    @batch_action
    async def action_export(self, batch: BatchLine) -> None:
        from tidepool.tui.app.dialogs.batch import ExportDialog, export

        answer = await self.app.push_screen_wait(ExportDialog(batch))
        if answer is None:
            return
        self.notify(one_line(f"Exporting to {answer[1]} …"))
        if fault := await export(self.tidepool.path, batch.id, *answer):
            self.tidepool.show_error(fault)
        else:
            self.notify(one_line(f"Exported to {answer[1]}."))

    @batch_action
    async def action_duplicate(self, batch: BatchLine) -> None:
        await self.tidepool.compose_copy(batch)

    def action_code(self) -> None:
        """Hands the terminal to `tidepool code`, which shows one side after another, and takes it back."""
        if (batch := self.shown_batch) is None:
            return
        try:
            with self.app.suspend():
                subprocess.run(launching.command(self.tidepool.path, "code", batch.id), env=launching.environment())
        except SuspendNotSupported:
            self.tidepool.show_error(f"Coding needs a terminal of its own: run `tidepool code {batch.id}` there.")
        self.app.refresh(layout=True)
        self.recount()

    def recount(self) -> None:
        """What the screen shows of the batch is no longer all."""

    @batch_action
    async def action_delete(self, batch: BatchLine) -> None:
        cells = f"{batch.cells:,} batches, " if batch.cells else ""
        question = (
            f"Delete {one_line(batch.name)} ({batch.id}) with its {cells}{batch.units_total:,} units and {batch.calls:,} "
            "answers? This cannot be undone."
        )
        if await self.app.push_screen_wait(Confirm(question, "Delete", no="Keep")):
            await self.tidepool.file.do(delete_any, self.tidepool.path, batch.id)
