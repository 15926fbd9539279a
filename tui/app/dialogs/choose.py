"""Choosing one of a few, by the arrow keys or a click."""

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button

from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.dialogs.pick import Choice
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.text import fitted, one_line


class ChoiceList(Rows):
    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__()
        self.choices = list(choices)

    def on_mount(self) -> None:
        self.set_count(len(self.choices))

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        choice = self.choices[index]
        share = max(12, width // 2)
        return [
            (f" {fitted(one_line(choice.title), share)} ", ""),
            (fitted(one_line(choice.detail), width - share - 2), "dim"),
        ]


class ChooseDialog(Dialog[str]):
    """Answers the id of the one chosen."""

    CSS_PATH = "../screens/library.tcss"
    AUTO_FOCUS = "ChoiceList"

    def __init__(self, title: str, choices: Sequence[Choice], *, take: str = "Take it") -> None:
        super().__init__()
        self._title, self._choices, self._take = title, choices, take

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -choose") as box:
            box.border_title = Content(self._title)
            yield ChoiceList(self._choices)
            with Horizontal(classes="dialog-buttons"):
                yield Button(Content(f"{self._take} (enter)"), id="take", variant="primary")
                yield Button("Cancel", id="cancel")

    @on(ChoiceList.Opened)
    def _opened(self, event: ChoiceList.Opened) -> None:
        self.dismiss(self._choices[event.index].id)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        here = self.query_one(ChoiceList).cursor
        self.dismiss(self._choices[here].id if event.button.id == "take" else None)
