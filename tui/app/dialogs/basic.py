"""Dialogs over a screen, which Escape closes: errors, confirmations, choices, help."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Input, Static

from tidepool.tui.app.theme import STATES
from tidepool.tui.app.widgets.rows import ItemRows
from tidepool.tui.drawing.text import shortened

MOVING = {"app.focus_next", "app.focus_previous", "screen.copy_text", "command_palette", "help_quit"}


@dataclass(frozen=True, slots=True)
class Offer:
    binding: Binding
    node: DOMNode
    moves: bool


def offers(screen: Screen[object]) -> list[Offer]:
    """Returns each action once: those of the screen first, then those of the app, then navigation."""
    found: dict[str, Offer] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.description and active.enabled and binding.description not in found:
            moves = binding.action in MOVING or not (isinstance(active.node, App | Screen) or binding.id)
            found[binding.description] = Offer(binding, active.node, moves)
    return sorted(found.values(), key=lambda offer: (offer.moves, isinstance(offer.node, App)))


T = TypeVar("T")


class Dialog(ModalScreen[T], Generic[T]):
    BINDINGS = [Binding("escape", "leave", "Close")]

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.pressed(str(event.button.id))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.submitted(str(event.input.id))

    def pressed(self, button: str) -> None:
        """Handles a button: `cancel` closes the dialog, any other accepts it."""
        if button == "cancel":
            self.action_leave()
        else:
            self.accept()

    def submitted(self, line: str) -> None:
        """Handles Enter in a line."""
        self.accept()

    def accept(self) -> None:
        """Returns the answer of the dialog, or shows an error."""
        self.dismiss(None)

    def fault(self, sentence: str) -> None:
        """Shows an error in the dialog; an empty text removes it."""
        self.query_one("#fault", Static).update(Content(shortened(sentence)))


def frame(
    title: str, classes: str = "", holder: type[Vertical | VerticalScroll] = VerticalScroll, **how: Any
) -> Vertical | VerticalScroll:
    """Returns the box of a dialog, with its title on the border."""
    box = holder(classes=f"dialog {classes}", **how)
    box.border_title = Content(title)
    return box


def paragraph(text: str) -> Static:
    return Static(Content(text), classes="dialog-text")


def fault_line() -> Static:
    """Returns the line for errors in a dialog."""
    return Static("", id="fault", classes="fault")


def buttons(**labels: str) -> Horizontal:
    """Returns a row of buttons by id. The first is the default."""
    row = [
        Button(Content(label), id=name, variant="default" if place else "primary")
        for place, (name, label) in enumerate(labels.items())
    ]
    return Horizontal(*row, classes="dialog-buttons")


class ErrorDialog(Dialog[None]):
    """Shows an error: what happened, where, and what to do."""

    BINDINGS = [Binding("enter", "leave", "Close", show=False)]
    AUTO_FOCUS = "#close"

    def __init__(self, message: str) -> None:
        super().__init__()
        self.message = message

    def compose(self) -> ComposeResult:
        with frame("Something failed", "-error"):
            yield paragraph(shortened(self.message))
            yield buttons(close="Close")

    def on_mount(self) -> None:
        """Scrolls a long message to its beginning, although the button at the end has the focus."""
        self.call_after_refresh(self.query_one(VerticalScroll).scroll_home, animate=False)


class Confirm(Dialog[bool]):
    """A question with a dangerous and a safe answer. The safe one has the focus."""

    BINDINGS = [Binding("y", "dismiss(True)", "Yes"), Binding("n", "leave", "No")]
    AUTO_FOCUS = "#no"

    def __init__(self, question: str, yes: str, *, no: str = "No", title: str = "Please confirm") -> None:
        super().__init__()
        self._question, self._yes, self._no, self._title = question, yes, no, title

    def compose(self) -> ComposeResult:
        with frame(self._title):
            yield paragraph(shortened(self._question))
            yield self.answers()

    def answers(self) -> Horizontal:
        """Returns the two buttons."""
        yes = Button(Content(f"{self._yes} (y)"), id="yes", variant="error")
        return Horizontal(yes, Button(Content(f"{self._no} (n)"), id="no", variant="primary"), classes="dialog-buttons")

    def pressed(self, button: str) -> None:
        self.dismiss(button == "yes")


class Help(Dialog[None]):
    BINDINGS = [Binding("question_mark,f1,enter", "leave", "Close", show=False)]

    def __init__(self, about: Screen[object]) -> None:
        super().__init__()
        self._text = getattr(about, "HELP", "")
        self._keys = [
            (about.app.get_key_display(offer.binding), offer.binding.description, offer.binding.tooltip)
            for offer in offers(about)
        ]

    def compose(self) -> ComposeResult:
        width = max((len(key) for key, _, _ in self._keys), default=0)
        keys = [
            Content.assemble((key.rjust(width), "bold $accent"), f"  {words}", (f"  {tooltip}", "$quiet"))
            for key, words, tooltip in self._keys
        ]
        legend = [
            Content.assemble((f"{glyph} ", f"$state-{name}"), f"{meaning}   ")
            for name, (glyph, meaning) in STATES.items()
        ]
        with frame("Help", "-wide"):
            yield paragraph(" ".join(self._text.split()))
            yield Static(Content("\n").join(keys), classes="dialog-text")
            yield Static(Content("").join(legend))


@dataclass(frozen=True, slots=True)
class Choice:
    id: str
    title: str
    detail: str = ""


ItemT = TypeVar("ItemT")


class SearchDialog(Dialog[T], Generic[T, ItemT]):
    """A search line with a list below. The arrow keys move in the list while you type."""

    BINDINGS = [
        Binding("down", "in_list('step', 1)", "Next", show=False),
        Binding("up", "in_list('step', -1)", "Previous", show=False),
        Binding("pagedown", "in_list('page', 1)", "Page down", show=False),
        Binding("pageup", "in_list('page', -1)", "Page up", show=False),
    ]
    AUTO_FOCUS = "#words"

    def matching(self, typed: str) -> Sequence[ItemT]:
        """Returns the items that match the typed text."""
        raise NotImplementedError

    @property
    def roll(self) -> ItemRows[ItemT]:
        return self.query_one(ItemRows)

    @property
    def found(self) -> Sequence[ItemT]:
        return self.matching(self.query_one("#words", Input).value)

    @property
    def chosen(self) -> ItemT | None:
        """The item that Enter chooses. The list may not show the last letters yet, so it is filtered again."""
        found, here = self.found, self.roll.current
        return here if here in found else next(iter(found), None)

    @on(Input.Changed, "#words")
    def _typed(self) -> None:
        self.roll.show(self.found)
        self.roll.go_to(0)

    def action_in_list(self, move: str, by: int) -> None:
        (self.roll.action_step if move == "step" else self.roll.action_page)(by)
