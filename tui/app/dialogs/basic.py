"""Dialogs lie over a screen, say one thing, and close by Escape: errors, confirmations, choices, help."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Input, Static

from tidepool.tui.app.theme import STATES
from tidepool.tui.app.widgets.rows import Rows
from tidepool.tui.drawing.text import one_line, shortened

MOVING = {"app.focus_next", "app.focus_previous", "screen.copy_text", "command_palette", "help_quit"}


@dataclass(frozen=True, slots=True)
class Offer:
    binding: Binding
    node: DOMNode
    moves: bool


def offers(screen: Screen[object]) -> list[Offer]:
    """Each action once, in the order in which a person looks for them."""
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
    TITLE = ""

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.pressed(str(event.button.id))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.submitted(str(event.input.id))

    def pressed(self, button: str) -> None:
        """A button was pressed: `cancel` closes the dialog, any other accepts it."""
        if button == "cancel":
            self.action_leave()
        else:
            self.accept()

    def submitted(self, line: str) -> None:
        """Enter was pressed in a line."""
        self.accept()

    def accept(self) -> None:
        """Answers what the dialog was asked for, or says why it cannot."""
        self.dismiss(None)


def buttons(**labels: str) -> Horizontal:
    """A row of buttons by id, the first of them marked as the usual one."""
    row = [
        Button(Content(label), id=name, variant="default" if place else "primary")
        for place, (name, label) in enumerate(labels.items())
    ]
    return Horizontal(*row, classes="dialog-buttons")


class ErrorDialog(Dialog[None]):
    """The one place where errors are told: what happened, where, and what to do."""

    BINDINGS = [Binding("enter", "leave", "Close", show=False)]
    AUTO_FOCUS = "#close"

    def __init__(self, message: str) -> None:
        super().__init__()
        self.message = message

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -error") as box:
            box.border_title = "That did not work"
            yield Static(Content(shortened(self.message)), classes="dialog-text")
            yield buttons(close="Close")

    def on_mount(self) -> None:
        """Long words are read from their beginning, though the button at their end has the focus."""
        self.call_after_refresh(self.query_one(VerticalScroll).scroll_home, animate=False)


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
            yield self.answers()

    def answers(self) -> Horizontal:
        """The two buttons."""
        yes = Button(Content(f"{self._yes} (y)"), id="yes", variant="error")
        return Horizontal(yes, Button(Content(f"{self._no} (n)"), id="no", variant="primary"), classes="dialog-buttons")

    def action_yes(self) -> None:
        self.dismiss(True)

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
        with VerticalScroll(classes="dialog -wide") as box:
            box.border_title = "Help"
            yield Static(Content(" ".join(self._text.split())), classes="dialog-text")
            yield Static(self._key_lines(), classes="dialog-text")
            yield Static(_legend())

    def _key_lines(self) -> Content:
        width = max((len(key) for key, _, _ in self._keys), default=0)
        return Content("\n").join(
            Content.assemble((key.rjust(width), "bold $accent"), f"  {words}", (f"  {tooltip}", "$quiet"))
            for key, words, tooltip in self._keys
        )


def _legend() -> Content:
    parts = [
        Content.assemble((f"{glyph} ", f"$state-{name}"), f"{meaning}   ") for name, (glyph, meaning) in STATES.items()
    ]
    return Content("").join(parts)


@dataclass(frozen=True, slots=True)
class Choice:
    id: str
    title: str
    detail: str = ""

    def fits(self, words: Sequence[str]) -> bool:
        text = f"{self.title} {self.detail} {self.id}".casefold()
        return all(word in text for word in words)


def choice_of(one: str, title: str, detail: str) -> Choice:
    return Choice(one, one_line(title), one_line(detail))


class SearchDialog(Dialog[T], Generic[T]):
    """A line to search in and a list below; the arrow keys go through the list while one types."""

    BINDINGS = [
        Binding("down", "in_list('step', 1)", "Next", show=False),
        Binding("up", "in_list('step', -1)", "Previous", show=False),
        Binding("pagedown", "in_list('page', 1)", "Page down", show=False),
        Binding("pageup", "in_list('page', -1)", "Page up", show=False),
    ]
    AUTO_FOCUS = "#words"

    def action_in_list(self, move: str, by: int) -> None:
        roll = self.query_one(Rows)
        (roll.action_step if move == "step" else roll.action_page)(by)
