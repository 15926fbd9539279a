"""Choosing several from the library: words narrow the list, the space bar marks, a number draws so many by the seed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from tidepool.engine.call import stream
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.app.widgets.text_line import TextLine
from tidepool.tui.drawing.text import fitted, one_line


@dataclass(frozen=True, slots=True)
class Choice:
    id: str
    title: str
    detail: str = ""

    def fits(self, words: Sequence[str]) -> bool:
        text = f"{self.title} {self.detail} {self.id}".casefold()
        return all(word in text for word in words)


def drawn(choices: Sequence[Choice], count: int, seed: int) -> list[Choice]:
    """So many of them by chance: the same for the same seed, whatever order they come in."""
    among = sorted(choices, key=lambda choice: choice.id)
    chosen = {one.id for one in stream(seed, "people taken from the library").sample(among, min(count, len(among)))}
    return [choice for choice in choices if choice.id in chosen]


class PickList(Rows):
    BINDINGS = [
        Binding("space", "mark", "Mark"),
        Binding("a,ctrl+a", "screen.mark_all", "Mark all shown"),
        Binding("n", "screen.to_count", "So many by chance"),
        Binding("slash", "screen.to_words", "Search", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.choices: list[Choice] = []
        self.marked: dict[str, None] = {}

    def show(self, choices: Iterable[Choice]) -> None:
        self.choices = list(choices)
        self.set_count(len(self.choices))
        self.touch_all()

    def empty_text(self) -> str:
        return "nothing fits these words"

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        choice = self.choices[index]
        mark: Piece = ("[x] ", "accent") if choice.id in self.marked else ("[ ] ", "dim")
        share = max(12, width * 2 // 5)
        return [mark, (fitted(choice.title, share) + " ", ""), (fitted(choice.detail, width - share - 5), "dim")]

    def toggle(self, index: int) -> None:
        if index < len(self.choices):
            one = self.choices[index].id
            if one in self.marked:
                del self.marked[one]
            else:
                self.marked[one] = None
            self.touch([index])

    def on_click(self, event: events.Click) -> None:
        index = round(self.scroll_offset.y) + event.y
        if event.chain == 1:
            self.toggle(index)

    def action_mark(self) -> None:
        self.toggle(self.cursor)
        self.go_to(self.cursor + 1)
        self.screen.query_one(PickDialog.PickedCount).show(len(self.marked))


class PickDialog(Dialog[list[str]]):
    """Answers the ids that are marked, in the order they were."""

    BINDINGS = [
        Binding("ctrl+a", "mark_all", "Mark all shown", priority=True),
        Binding("down", "into_list", "Into the list", show=False),
    ]

    class PickedCount(Static):
        def show(self, marked: int) -> None:
            self.update(Content(f"{marked:,} marked"))

    def __init__(self, title: str, choices: Sequence[Choice], marked: Iterable[str], seed: int = 42) -> None:
        super().__init__()
        self._title, self._seed = title, seed
        self._choices = list(choices)
        self._marked = list(marked)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide pick") as box:
            box.border_title = Content(self._title)
            yield TextLine(placeholder="search: words of name, kind or id", id="words", compact=True)
            yield PickList(id="choices")
            with Horizontal(classes="pick-count"):
                yield self.PickedCount(id="tally")
                yield Static(Content("· take"))
                yield TextLine(id="count", compact=True, type="integer", placeholder="20")
                yield Static(Content(f"by chance, seed {self._seed}"))
                yield Button("Draw", id="draw", compact=True)
            with Horizontal(classes="dialog-buttons"):
                yield Button("Take them (enter)", id="take", variant="primary")
                yield Button("Cancel", id="cancel")

    @property
    def roll(self) -> PickList:
        return self.query_one(PickList)

    def on_mount(self) -> None:
        self.roll.marked = dict.fromkeys(self._marked)
        self.roll.show(self._choices)
        self._count()

    @on(Input.Changed, "#words")
    def _narrow(self, event: Input.Changed) -> None:
        words = event.value.casefold().split()
        self.roll.show(choice for choice in self._choices if choice.fits(words))

    def action_into_list(self) -> None:
        self.roll.focus()

    def action_mark_all(self) -> None:
        shown = [choice.id for choice in self.roll.choices]
        if all(one in self.roll.marked for one in shown):
            for one in shown:
                del self.roll.marked[one]
        else:
            self.roll.marked.update(dict.fromkeys(shown))
        self.roll.touch_all()
        self._count()

    def action_to_count(self) -> None:
        self.query_one("#count").focus()

    def action_to_words(self) -> None:
        self.query_one("#words").focus()

    @on(Input.Submitted, "#count")
    @on(Button.Pressed, "#draw")
    def _draw(self, event: Message) -> None:
        """Marks so many of those shown, in place of what was marked among them."""
        event.stop()
        typed = self.query_one("#count", Input).value.strip()
        if not typed.isdigit() or not int(typed):
            self.query_one(self.PickedCount).update(Content("How many? Type a whole number."))
            return
        for choice in self.roll.choices:
            self.roll.marked.pop(choice.id, None)
        self.roll.marked.update(dict.fromkeys(one.id for one in drawn(self.roll.choices, int(typed), self._seed)))
        self.roll.touch_all()
        self._count()
        self.roll.focus()

    @on(PickList.Opened)
    @on(Input.Submitted, "#words")
    def _take(self) -> None:
        self.dismiss(list(self.roll.marked))

    def on_click(self) -> None:
        self._count()

    def _count(self) -> None:
        self.query_one(self.PickedCount).show(len(self.roll.marked))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(list(self.roll.marked) if event.button.id == "take" else None)


def choice_of(one: str, title: str, detail: str) -> Choice:
    return Choice(one, one_line(title), one_line(detail))
