"""Stopping a batch: what becomes of its provider batches is asked, because they cost money."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.drawing.text import one_line


class StopDialog(Dialog[str]):
    """Answers `leave`, `cancel` or nothing."""

    BINDINGS = [Binding("s", "answer('leave')", "Stop"), Binding("c", "answer('cancel')", "Stop and cancel orders")]
    AUTO_FOCUS = "#leave"

    def __init__(self, name: str, orders: int) -> None:
        super().__init__()
        self._batch_name, self._orders = name, orders

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as box:
            box.border_title = Content("Stop the batch?")
            yield Static(
                Content(
                    f"{one_line(self._batch_name)} stops after the calls in flight. Nothing answered is lost, "
                    "and it can be resumed at any time."
                ),
                classes="dialog-text",
            )
            if self._orders:
                yield Static(
                    Content(
                        f"It has {self._orders} provider batch{'es' if self._orders > 1 else ''} under way. Left alone, "
                        "a resume collects what was paid for; cancelled, only what is finished is kept."
                    ),
                    classes="dialog-text",
                )
            with Horizontal(classes="dialog-buttons"):
                yield Button("Stop (s)", id="leave", variant="warning")
                if self._orders:
                    yield Button("Stop, cancel orders (c)", id="cancel", variant="error")
                yield Button("Let it run (esc)", id="run", variant="primary")

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id if event.button.id != "run" else None)
