"""The base of all screens: navigation, footer, the loop that reads the file, and the actions on a batch."""

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
    """seconds between two reads of the file"""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Without repaint, because Textual would redraw the whole screen. Widgets that gain or lose the focus redraw themselves."""

    def __init__(self) -> None:
        super().__init__()
        self._nudged = asyncio.Event()
        self._styled_by = ""
        """the theme of its last display"""
        with suppress(NoActiveAppError, ScreenStackError):
            # as recent as the previous screen, which Textual would otherwise style and lay out again for every new one
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
        """Restyles the screen only after a change of theme. Textual would do it at each return, and twice at first."""
        event.refresh_styles &= self._styled_by not in ("", self.app.theme)
        self._styled_by = self.app.theme
        self.nudge()

    def on_resize(self, event: Resize) -> None:
        """Makes the footer compact on narrow screens, so that Help fits."""
        self.query_one(KeyLine).compact = event.size.width < CLOSER_BELOW

    def compose_body(self) -> Iterable[Widget]:
        return ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables the slash as a key while a text field has the focus."""
        return not (action in ("search", "filter") and isinstance(self.focused, Input | TextArea))

    def notify(self, message: str, *, markup: bool = False, **more: Any) -> None:
        """Shows a message without markup, because it may contain foreign text."""
        super().notify(message, markup=markup, **more)

    async def before_the_end(self) -> None:
        """Runs before the app ends."""

    async def look(self) -> None:
        """Reads and shows changes. Called while the screen is visible."""

    def nudge(self) -> None:
        """Calls `look` at once instead of after the period."""
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
    """Returns the class that Textual gives a screen of this size. Setting it before the widgets exist styles them only once."""
    return max((place, name) for place, name in breakpoints or () if cells >= place)[1]


ScreenT = TypeVar("ScreenT", bound=ModeScreen)
BatchScreenT = TypeVar("BatchScreenT", bound="BatchActions")


def screen_action(act: Callable[[ScreenT], Awaitable[None]]) -> Callable[[ScreenT], Worker[None]]:
    """Runs an action in its own worker. Shows errors in the error dialog."""

    @work(group="act")
    async def run(screen: ScreenT) -> None:
        try:
            await act(screen)
        except TidepoolError as error:
            screen.tidepool.show_error(error)

    return run


def batch_action(act: Callable[[BatchScreenT, BatchLine], Awaitable[None]]) -> Callable[[BatchScreenT], Worker[None]]:
    """Runs an action on the batch that the screen shows."""

    async def run(screen: BatchScreenT) -> None:
        if (batch := screen.shown_batch) is not None:
            await act(screen, batch)

    return screen_action(run)


BATCH_BINDINGS = [
    Binding("p", "pause", "Pause", tooltip="pause or continue"),
    Binding("s", "stop", "Stop", tooltip="you can resume it later"),
    Binding("u", "resume", "Resume", tooltip="continue and retry failures; no request is paid twice"),
    Binding("l", "limits", "Limits", tooltip="change limits while it runs"),
    Binding("e", "export", "Export", tooltip="JSON, CSV, SQLite, HTML, Markdown, Parquet"),
    Binding("c", "duplicate", "Duplicate", tooltip="open its config as a new study"),
    Binding("h", "code", "Hand coding", show=False, tooltip="code a blinded sample with one key per code"),
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
"""action → whether it applies to a batch"""


class BatchActions(ModeScreen):
    _batch: BatchLine | None = None

    @property
    def shown_batch(self) -> BatchLine | None:
        """The batch that the actions of this screen apply to."""
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
            self.notify("Stopping after the requests in flight.")

    @batch_action
    async def action_limits(self, batch: BatchLine) -> None:
        from tidepool.tui.app.dialogs.batch import LimitsDialog

        if changes := await self.app.push_screen_wait(LimitsDialog(batch)):
            await self._steer(batch, "limits", changes)

    @batch_action
    async def action_resume(self, batch: BatchLine) -> None:
        """Resumes the batch. Asks first about a batch from elsewhere, because the process that resumes it has no terminal."""
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
        self.notify(one_line(f"Exporting to {answer[1]}…"))
        if fault := await export(self.tidepool.path, batch.id, *answer):
            self.tidepool.show_error(fault)
        else:
            self.notify(one_line(f"Exported to {answer[1]}."))

    @batch_action
    async def action_duplicate(self, batch: BatchLine) -> None:
        await self.tidepool.compose_copy(batch)

    def action_code(self) -> None:
        """Suspends the app and runs `tidepool code` in the terminal."""
        if (batch := self.shown_batch) is None:
            return
        try:
            with self.app.suspend():
                subprocess.run(launching.command(self.tidepool.path, "code", batch.id), env=launching.environment())
        except SuspendNotSupported:
            self.tidepool.show_error(f"Hand coding needs a terminal. Run `tidepool code {batch.id}` in one.")
        self.app.refresh(layout=True)
        self.recount()

    def recount(self) -> None:
        """Recomputes the results of the batch."""

    @batch_action
    async def action_delete(self, batch: BatchLine) -> None:
        cells = f"{batch.cells:,} batches, " if batch.cells else ""
        question = (
            f"Delete {one_line(batch.name)} ({batch.id}) with {cells}{batch.units_total:,} units and {batch.calls:,} "
            "replies? You cannot undo this."
        )
        if await self.app.push_screen_wait(Confirm(question, "Delete", no="Keep")):
            await self.tidepool.file.do(delete_any, self.tidepool.path, batch.id)
