"""What the six places share: the line on top, the footer, and a steady look at the file while they are in sight."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from textual._context import NoActiveAppError
from textual.app import ComposeResult, ScreenStackError
from textual.events import Resize, ScreenResume
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.watching import Watched
from tidepool.tui.app.shutdown import while_open
from tidepool.tui.app.widgets.key_line import KeyLine
from tidepool.tui.app.widgets.navigation import Navigation

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

    @property
    def shown_batch(self) -> Watched | None:
        """The batch that actions of this screen are about."""
        return None

    def compose(self) -> ComposeResult:
        size = self.app.size
        app = self.app
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
                    self.tidepool.tell(error)
                    await asyncio.sleep(5)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._nudged.wait(), self.PERIOD)


def _widest(cells: int, breakpoints: list[tuple[int, str]] | None) -> str:
    """The class that Textual will give a screen of this size; known before its widgets are made, they are styled once."""
    return max((place, name) for place, name in breakpoints or () if cells >= place)[1]
