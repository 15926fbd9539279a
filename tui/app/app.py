"""The terminal app. Connects screens, keys and the study file, and leaves a single plain file when it ends."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, ClassVar
from unicodedata import category

from rich.cells import cell_len
from rich.segment import Segment
from textual import work
from textual.app import ScreenStackError, SystemCommand
from textual.binding import Binding
from textual.color import Color
from textual.events import AppBlur
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import Theme

from tidepool.engine.trust.record import report_problems_to
from tidepool.storage.errors import TidepoolError
from tidepool.storage.file import prepare, reading, settle
from tidepool.storage.queries.lists import read_batch_or_study, study_number
from tidepool.storage.queries.watching import BatchLine, batch_number, read_batches
from tidepool.storage.text import MARK, in_document
from tidepool.tui.app import launching
from tidepool.tui.app.background import FileReader, WorkerProcess
from tidepool.tui.app.dialogs.basic import ErrorDialog, Help, offers
from tidepool.tui.app.key_order import OrderedKeysApp
from tidepool.tui.app.screens.base import ModeScreen
from tidepool.tui.app.screens.batches import BatchesScreen
from tidepool.tui.app.theme import COLOUR_BLIND, DARK, LIGHT_NAME, keep_theme, read_theme, settings_file, theme_colours
from tidepool.tui.app.widgets.frame import PLACES
from tidepool.tui.drawing.text import console, one_line

if TYPE_CHECKING:
    from tidepool.engine.gate import TrustQuestion
    from tidepool.tui.app.compose.examination import Examiner

LATER = ("compose", "watch", "results", "library", "providers")
"""screens that are loaded on first use or when idle, so that the first screen appears sooner"""


def _new_screen(mode: str) -> ModeScreen:
    screen: ModeScreen = getattr(import_module(f"tidepool.tui.app.screens.{mode}"), f"{mode.title()}Screen")()
    return screen


LONGEST_FAREWELL = 10.0
"""seconds"""


class TidepoolApp(OrderedKeysApp):
    TITLE = "Tidepool"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar = {"batches": BatchesScreen, **{mode: partial(_new_screen, mode) for mode in LATER}}
    DEFAULT_MODE = "batches"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall")]
    BINDINGS = [
        *(Binding(key, f"go('{mode}')", title, show=False) for mode, (key, title) in PLACES.items()),
        Binding("question_mark,f1", "help", "Help", key_display="?"),
        Binding("ctrl+p", "command_palette", "Commands", tooltip="search all actions"),
        Binding("ctrl+t", "theme", "Dark/light", show=False),
        Binding("y", "copy", "Copy to clipboard", show=False, tooltip="the text under the cursor"),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, tooltip="return to the shell; fg continues"),
        Binding("ctrl+q", "quit", "Quit", tooltip="running batches continue", priority=True),
    ]

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.file = FileReader(path)
        self.plotting = WorkerProcess()
        """draws plots"""
        self.counting = WorkerProcess()
        """computes statistics"""
        self.current: int | None = None
        """the number of the batch that Watch and Results show; negative for a study"""
        self.compared: list[int] = []
        """the numbers of the compared batches"""
        self.alone = False
        """whether the process is the app's own, so that it may tune the garbage collector"""
        self._launched: list[launching.Launched] = []
        self._plain_lines = PlainLines()
        self.error_console = console(sys.stderr)
        self.register_theme(DARK)
        self.register_theme(COLOUR_BLIND)
        if self.theme == "textual-dark":
            theme = read_theme(settings_file())
            self.theme = theme if theme in self.available_themes else DARK.name

    @cached_property
    def examiner(self) -> "Examiner":
        """Checks drafts."""
        from tidepool.tui.app.compose.examination import Examiner

        return Examiner()

    def get_css_variables(self) -> dict[str, str]:
        self.theme_variables = super().get_css_variables() | theme_colours(self.current_theme)
        return self.theme_variables

    def on_mount(self) -> None:
        report_problems_to(lambda text: self.notify(text, severity="warning", markup=False, timeout=30))
        self.theme_changed_signal.subscribe(self, self._keep_theme)
        self.forward_keys()
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))  # the terminal cleared its screen
        self._mind_launched()
        if self.alone:
            self.set_timer(1.0, self._rest)
            for number in (signal.SIGTERM, signal.SIGHUP):  # restore the terminal
                asyncio.get_running_loop().add_signal_handler(number, self._leave, 128 + number)

    @work(group="rest")
    async def _rest(self) -> None:
        """Loads the other screens after the first one is shown."""
        for mode in LATER:
            await asyncio.to_thread(import_module, f"tidepool.tui.app.screens.{mode}")
        gc.collect()
        gc.freeze()

    def _leave(self, code: int) -> None:
        """Exits, at the latest after ten seconds, because writing to a closed terminal may block for ever."""
        self.exit(None, code)
        last = Timer(LONGEST_FAREWELL, os._exit, (code,))
        last.daemon = True
        last.start()

    def on_app_blur(self, event: AppBlur) -> None:
        """Keeps the focused widget when the terminal loses the focus. Textual would remove the focus and leave the footer unchanged."""
        event.prevent_default()

    def clear_selection(self) -> None:
        """Ignores calls before the first screen is on the stack. From Python 3.12 on, Textual starts tasks at once, so the fields
        of the first screen clear the selection too early."""
        with suppress(ScreenStackError):
            super().clear_selection()

    def shut_down(self) -> None:
        """Ends the threads and helper processes of the app. Batches that it started continue."""
        report_problems_to(None)
        self.file.close()
        self.plotting.close()
        self.counting.close()
        if "examiner" in self.__dict__:
            self.examiner.close()

    async def action_quit(self) -> None:
        """Quits, also from a dialog. Saves what was typed in the screen."""
        if isinstance(self.screen, ModeScreen):
            await self.screen.before_the_end()
        self.exit()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), self._plain_lines]

    def copy_to_clipboard(self, text: str) -> None:
        """Cleans the text first, because it may be pasted into a shell."""
        super().copy_to_clipboard(in_document(text))

    async def action_go(self, mode: str) -> None:
        if mode in ("watch", "results") and isinstance(self.screen, BatchesScreen) and self.screen.shown_batch:
            self.current = self.screen.shown_batch.number
        if mode != self.current_mode:
            await self._switch(mode)

    async def _switch(self, mode: str) -> None:
        """Switches the mode unless the app is ending and closing its screens."""
        if self.is_running:
            await self.switch_mode(mode)

    def open_batch(self, batch: BatchLine) -> None:
        """Opens Watch for a running or pending batch, and Results for an ended one."""
        self.current = batch.number
        self.switch_mode("watch" if batch.running or batch.status == "pending" else "results")

    def compare(self, batches: list[BatchLine]) -> None:
        self.current = batches[0].number
        self.compared = [batch.number for batch in batches]
        self.switch_mode("results")

    async def current_batch(self) -> BatchLine | None:
        """Returns the current batch: the last opened one, else a running one, else the newest."""
        if self.current is not None and (line := await self.file.look(read_batch_or_study, self.path, self.current)):
            return line
        batches = await self.file.look(read_batches, self.path)
        line = next((batch for batch in batches if batch.running), next(iter(batches), None))
        self.current = line.number if line else None
        return line

    def run_config(self, config: Path, title: str) -> None:
        self.follow(launching.run_config(self.path, config, title))

    def follow(self, launched: launching.Launched) -> None:
        """Follows a started process and shows its batch as soon as it exists."""
        self._launched.append(launched)
        self.notify(f"Starting {one_line(launched.title)} …", markup=False, timeout=2)

    @work(group="launched")
    async def _mind_launched(self) -> None:
        shown_pids: set[int] = set()
        while self.is_running:
            for launched in list(self._launched):
                if launched.process.pid not in shown_pids and await self._show_launched(launched):
                    shown_pids.add(launched.process.pid)
                if launched.ended:
                    self._launched.remove(launched)
                    if complaint := launched.complaint():
                        self.show_error(complaint)
            await asyncio.sleep(0.1)

    async def _show_launched(self, launched: launching.Launched) -> bool:
        batch_id = launched.batch_id()
        number = await self.file.look(batch_number, batch_id) if batch_id else None
        if number is None and batch_id:
            number = await self.file.look(study_number, batch_id)
        if number is None:
            return False
        self.current = number
        if self.current_mode in ("batches", "compose", "watch", "results"):
            await self._switch("watch")
        return True

    async def compose_copy(self, batch: BatchLine) -> None:
        """Opens the config of a batch in Compose. Raises a TidepoolError."""
        from tidepool.tui.drawing.configs import config_of

        text = await self.file.look(config_of, batch.number)
        await self._switch("compose")
        from tidepool.tui.app.screens.compose import ComposeScreen

        if isinstance(self.screen, ComposeScreen):
            self.screen.load(text)

    async def ask_for_trust(self, question: "TrustQuestion") -> bool:
        """Asks whether a batch from another machine may run. Stores a positive answer."""
        from tidepool.tui.app.dialogs.batch import TrustDialog

        if not await self.push_screen_wait(TrustDialog(question)):
            return False
        await self.file.do(question.adopt, self.path)
        return True

    def show_error(self, error: TidepoolError | str) -> None:
        """Shows the error dialog, unless it already shows the same message."""
        if not (isinstance(self.screen, ErrorDialog) and self.screen.message == str(error)):
            self.push_screen(ErrorDialog(str(error)))

    def action_help(self) -> None:
        if not isinstance(self.screen, Help):
            self.push_screen(Help(self.screen))

    def action_theme(self) -> None:
        self.theme = LIGHT_NAME if self.current_theme.dark else DARK.name

    def _keep_theme(self, theme: Theme) -> None:
        """Saves the theme for the next start."""
        with suppress(OSError):  # the folder is not writable, so the theme lasts until the app closes
            keep_theme(settings_file(), theme.name)

    def action_copy(self) -> None:
        """Copies by way of the terminal, so that the text reaches the clipboard of your own machine."""
        copied = getattr(self.focused, "copied", None)
        if text := copied() if copied else "":
            self.copy_to_clipboard(text)
            self.notify(f"Copied: {one_line(text, 60)}", markup=False, timeout=2)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yields every action that is available here."""
        for offer in offers(screen):
            if not offer.moves:
                tooltip, key = offer.binding.tooltip, self.get_key_display(offer.binding)
                about = f"{tooltip} ({key})" if tooltip else f"key {key}"
                run = partial(self.call_next, self.run_action, offer.binding.action, offer.node)
                yield SystemCommand(offer.binding.description, about, run)
        yield SystemCommand("Screenshot", "save the screen as SVG", self.deliver_screenshot)
        yield SystemCommand("Theme", "choose the colours", self.action_change_theme)


JOINERS = "\u200c\u200d"
"""kept, because an editor has already measured the joined width"""


class PlainLines(LineFilter):
    """Replaces characters that control the terminal, as the last step before a line is written.

    Widgets clean foreign text when they measure it. Editors cannot do this, and a widget may omit it. The width of the line
    stays the same, because it is already laid out.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            segment if segment.control else Segment("".join(map(_plain_character, segment.text)), segment.style)
            for segment in segments
        ]


@lru_cache(4096)
def _plain_character(character: str) -> str:
    steers = category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in JOINERS
    return MARK * cell_len(character) if steers else character


def open_app(path: Path) -> int:
    """Runs the app on a study file, which is created if missing. Returns the exit code."""
    prepare(path)
    app = TidepoolApp(path)
    try:
        run_alone(app)
    finally:
        _leave_single_file(path)
    return app.return_code or 0


def run_alone(app: TidepoolApp) -> None:
    """Runs the app with its helper processes until it ends."""
    app.alone = True
    app.plotting.start()
    app.counting.start()
    try:
        app.run()
    finally:
        app.shut_down()


def _leave_single_file(path: Path) -> None:
    """Makes the study a single plain file again, unless a batch is running."""
    with suppress(TidepoolError):
        with reading(path) as connection:
            busy = any(batch.running for batch in read_batches(connection, path))
        if not busy:
            settle(path)
