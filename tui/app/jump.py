"""Jump mode: every place that takes keys wears a letter, and pressing it goes there."""

from string import ascii_lowercase

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.events import Click, Key
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from tidepool.tui.app.widgets.frame import ModeTab, PanelName

LETTERS = [*ascii_lowercase, *ascii_lowercase.upper()]


def places(screen: Screen[object]) -> list[Widget]:
    """What is in view and can be gone to, from the top left: fields, lists, buttons, and the names of panels."""
    wanted = [
        widget
        for widget in screen.query("*").results(Widget)
        if (widget.focusable or isinstance(widget, PanelName)) and not isinstance(widget, ModeTab) and _seen(widget)
    ]
    return sorted(wanted, key=lambda widget: (widget.region.y, widget.region.x))[: len(LETTERS)]


def _seen(widget: Widget) -> bool:
    region = widget.region
    return bool(widget.display and region.area and widget.screen.region.contains_region(region.crop_size((1, 1))))


class JumpOverlay(ModalScreen[Widget | None]):
    BINDINGS = [Binding("escape", "leave", "Stay", show=False)]
    DEFAULT_CSS = """
    JumpOverlay { background: transparent; align: left top; }
    JumpOverlay .jump-letter { position: absolute; width: 3; height: 1; background: $accent; color: $background; text-style: bold reverse; }
    """

    def __init__(self, about: Screen[object]) -> None:
        super().__init__()
        self._places = dict(zip(LETTERS, places(about), strict=False))

    def compose(self) -> ComposeResult:
        for letter, widget in self._places.items():
            label = Static(Content(f" {letter} "), classes="jump-letter")
            label.absolute_offset = Offset(widget.region.x, widget.region.y)
            yield label

    def on_key(self, event: Key) -> None:
        event.stop()
        self.dismiss(self._places.get(event.character or "") if event.key != "escape" else None)

    def on_click(self, event: Click) -> None:
        self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)


def go_to(widget: Widget) -> None:
    if isinstance(widget, PanelName):
        widget.on_click()
    else:
        widget.focus()
