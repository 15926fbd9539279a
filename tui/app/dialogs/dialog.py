"""Dialogs lie over a screen, say one thing, and leave by Escape."""

from typing import Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tidepool.tui.drawing.text import shortened

T = TypeVar("T")


class Dialog(ModalScreen[T], Generic[T]):
    BINDINGS = [Binding("escape", "leave", "Close")]
    TITLE = ""

    def action_leave(self) -> None:
        self.dismiss(None)


class ErrorDialog(Dialog[None]):
    """The one place where errors are told: what happened, where, and what to do."""

    BINDINGS = [Binding("enter", "leave", "Close", show=False)]
    AUTO_FOCUS = "#close"

    def __init__(self, message: str, title: str = "That did not work") -> None:
        super().__init__()
        self.message = message
        self._title = title

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -error") as box:
            box.border_title = Content(self._title)
            yield Static(Content(shortened(self.message)), classes="dialog-text")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Close", id="close", variant="primary")

    def on_mount(self) -> None:
        """Long words are read from their beginning, though the button at their end has the focus."""
        self.call_after_refresh(self.query_one(VerticalScroll).scroll_home, animate=False)

    def on_button_pressed(self) -> None:
        self.dismiss(None)


class Confirm(Dialog[bool]):
    """A question with one dangerous and one safe answer; the safe one has the focus."""

    BINDINGS = [Binding("y", "yes", "Yes"), Binding("n", "leave", "No")]
    AUTO_FOCUS = "#no"

    def __init__(self, question: str, yes: str, *, no: str = "No", title: str = "Sure?") -> None:
        super().__init__()
        self._question, self._yes, self._no, self._title = question, yes, no, title

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as box:
            box.border_title = Content(self._title)
            yield Static(Content(shortened(self._question)), classes="dialog-text")
            with Horizontal(classes="dialog-buttons"):
                yield Button(Content(f"{self._yes} (y)"), id="yes", variant="error")
                yield Button(Content(f"{self._no} (n)"), id="no", variant="primary")

    def action_yes(self) -> None:
        self.dismiss(True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")
