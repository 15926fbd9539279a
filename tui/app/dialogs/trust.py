"""Asks before a batch that was not created here continues: its servers, keys, code and price."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from tidepool.engine.trust.gate import FOREIGN, MEANING, TrustQuestion
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.drawing.text import one_line


class TrustDialog(Dialog[bool]):
    """Yes or no to all of it; no has the focus."""

    BINDINGS = [Binding("y", "yes", "Yes"), Binding("n", "leave", "No")]
    AUTO_FOCUS = "#no"

    def __init__(self, question: TrustQuestion) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        question = self._question
        with Vertical(classes="dialog -wide") as box:
            box.border_title = Content("Trust this batch?")
            words = f"{one_line(question.name)} ({question.admission.batch_id}) {FOREIGN}. It would use:"
            yield Static(Content(words), classes="dialog-text")
            rows = "\n".join(f"{what:<7} {one_line(told)}" for what, told in question.rows())
            with VerticalScroll(classes="dialog-rows"):  # read from its beginning, where code is named
                yield Static(Content(rows), id="servers")
            yield Static(Content(MEANING), classes="dialog-text")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Trust and resume (y)", id="yes", variant="error")
                yield Button("Cancel (n)", id="no", variant="primary")

    def action_yes(self) -> None:
        self.dismiss(True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")
