"""A talk gone on with from one message: which one, what is said there, how often."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Checkbox, Input, Label, Select, Static

from tidepool.engine.branching.making import FEW, MANY, BranchWish
from tidepool.engine.branching.talks import MOST_TIMES
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.widgets.text_line import TextLine
from tidepool.tui.drawing.text import one_line

LONGEST = 60


class BranchDialog(Dialog[BranchWish]):
    """Answers what is wished; whether it can be is looked at afterwards."""

    AUTO_FOCUS = "#say"

    def __init__(self, batch_id: str, conversation: int, messages: Sequence[tuple[str, str, str]]) -> None:
        """`messages` are those of the talk: step, speaker, words."""
        super().__init__()
        self._batch, self._conversation = batch_id, conversation
        self._choices = [
            (Content(one_line(f"{step}  {speaker}: {words}", LONGEST)), step) for step, speaker, words in messages
        ]

    def compose(self) -> ComposeResult:
        middle = self._choices[len(self._choices) // 2][1]
        with VerticalScroll(classes="dialog -wide") as box:
            box.border_title = Content(f"Branch conversation {self._conversation}")
            yield Label("from this message on")
            yield Select(self._choices, value=middle, allow_blank=False, id="at")
            yield Label("say this instead (empty: it is only drawn again)")
            yield TextLine(id="say")
            yield Label("redraws of each, and as many of the message as it was")
            yield TextLine(str(MANY), id="times", type="integer")
            yield Checkbox(f"all conversations of the batch; then {FEW} redraws are enough", id="all", compact=True)
            yield Static("", id="fault", classes="fault")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Plan it", id="plan", variant="primary")
                yield Button("Cancel", id="cancel")

    def on_checkbox_changed(self, event: Checkbox.Changed) -> None:
        times = self.query_one("#times", Input)
        if times.value in (str(MANY), str(FEW)):
            times.value = str(FEW if event.value else MANY)

    def on_input_submitted(self) -> None:
        self._answer()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "plan":
            self._answer()
        else:
            self.dismiss(None)

    def _answer(self) -> None:
        times, say = self.query_one("#times", Input).value, self.query_one("#say", Input).value
        if not times.isdecimal() or not 1 <= int(times) <= MOST_TIMES:
            self.query_one("#fault", Static).update(f"How often? From 1 to {MOST_TIMES:,} times.")
            return
        chosen = () if self.query_one("#all", Checkbox).value else (self._conversation,)
        at = str(self.query_one("#at", Select).value)
        self.dismiss(BranchWish(self._batch, at, chosen, say if say.strip() else None, int(times)))
