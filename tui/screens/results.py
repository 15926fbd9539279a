"""Results: to come."""

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from tui.screens.batch_actions import BatchActions


class Results(BatchActions):
    MODE = "results"

    def compose_body(self) -> Iterable[Widget]:
        yield Static("", classes="empty")
