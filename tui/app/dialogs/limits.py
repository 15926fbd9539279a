"""New limits for a running batch: they take hold within a second."""

import json
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Label, Static

from tidepool.engine.errors import UsageError
from tidepool.storage.queries.watching import Watched
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.widgets.text_line import TextLine
from tidepool.tui.command.commands.steer import read_change
from tidepool.tui.drawing.plain import shortened

FIELDS = {
    "max_concurrent": "calls at once",
    "requests_per_minute": "requests a minute (0: no limit)",
    "tokens_per_minute": "tokens a minute (0: no limit)",
    "budget_usd": "budget in dollars (0: no cap)",
}


def current_limits(batch: Watched) -> dict[str, Any]:
    """What rules the batch now, of its busiest provider."""
    limits = json.loads(batch.limits)
    providers = list(limits.get("providers", {}).values())
    known: dict[str, Any] = max(providers, key=lambda one: one.get("in_flight", 0)) if providers else {}
    return {**known, "budget_usd": limits.get("budget_usd", 0.0)}


class LimitsDialog(Dialog[dict[str, Any]]):
    AUTO_FOCUS = "Input"

    def __init__(self, batch: Watched) -> None:
        super().__init__()
        self._now = {name: str(current_limits(batch).get(name, "")) for name in FIELDS}

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as box:
            box.border_title = Content("Limits while running")
            for name, words in FIELDS.items():
                yield Label(words)
                yield TextLine(self._now[name], id=name, compact=True)
            yield Static("", id="fault", classes="fault")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Apply", id="apply", variant="primary")
                yield Button("Leave as they are", id="leave")

    def changes(self) -> dict[str, Any]:
        """What differs from what rules now; raises where a value cannot be."""
        return dict(
            read_change(f"{name}={field.value.strip()}")
            for name in FIELDS
            if (field := self.query_one(f"#{name}", Input)).value.strip() != self._now[name]
        )

    def on_input_changed(self) -> None:
        self._check()

    def on_input_submitted(self) -> None:
        self._apply()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "apply":
            self._apply()
        else:
            self.dismiss(None)

    def _check(self) -> dict[str, Any] | None:
        fault = self.query_one("#fault", Static)
        try:
            changes = self.changes()
        except UsageError as error:
            fault.update(Content(shortened(str(error))))
            return None
        fault.update("")
        return changes

    def _apply(self) -> None:
        if (changes := self._check()) is not None:
            self.dismiss(changes or None)
