"""Dialogs for a batch: stop it, change its limits, trust it, export it."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Label, Select, Static

from tidepool.engine.errors import UsageError
from tidepool.engine.exports.export import EXPORTERS
from tidepool.engine.gate import FOREIGN, MEANING, TrustQuestion
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app.dialogs.basic import Confirm, Dialog, buttons, fault_line, frame, paragraph
from tidepool.tui.app.kind_screens import installed
from tidepool.tui.app.launching import command, environment
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.command.commands.manage import read_change
from tidepool.tui.drawing.text import one_line


class StopDialog(Dialog[str]):
    """Returns `leave`, `cancel` or None."""

    BINDINGS = [Binding("s", "dismiss('leave')", "Stop"), Binding("c", "dismiss('cancel')", "Stop and cancel")]
    AUTO_FOCUS = "#leave"

    def __init__(self, name: str, orders: int) -> None:
        super().__init__()
        self._batch_name, self._orders = name, orders

    def compose(self) -> ComposeResult:
        with frame("Stop the batch?"):
            yield paragraph(
                f"{one_line(self._batch_name)} stops after the requests in flight. All replies are saved, "
                "and you can resume it at any time."
            )
            if self._orders:
                yield paragraph(
                    f"It has {self._orders} open provider batch{'es' if self._orders > 1 else ''}. If you only stop, a "
                    "resume collects the paid results. If you cancel, you keep only finished results."
                )
            with Horizontal(classes="dialog-buttons"):
                yield Button("Stop (s)", id="leave", variant="warning")
                if self._orders:
                    yield Button("Stop and cancel (c)", id="cancel", variant="error")
                yield Button("Keep running (esc)", id="run", variant="primary")

    def pressed(self, button: str) -> None:
        self.dismiss(button if button != "run" else None)


FIELDS = {
    "max_concurrent": "requests in flight",
    "requests_per_minute": "requests per minute (0: no limit)",
    "tokens_per_minute": "tokens per minute (0: no limit)",
    "budget_usd": "budget in USD (0: no limit)",
}


class LimitsDialog(Dialog[dict[str, Any]]):
    AUTO_FOCUS = "Input"

    def __init__(self, batch: BatchLine) -> None:
        super().__init__()
        limits = json.loads(batch.limits)
        providers = limits.get("providers", {}).values()
        busiest: dict[str, Any] = max(providers, key=lambda one: one.get("in_flight", 0), default={})
        now = {**busiest, "budget_usd": limits.get("budget_usd", 0.0)}
        self._now = {name: str(now.get(name, "")) for name in FIELDS}

    def compose(self) -> ComposeResult:
        with frame("Limits"):
            for name, words in FIELDS.items():
                yield Label(words)
                yield TextLine(self._now[name], id=name, compact=True)
            yield fault_line()
            yield buttons(apply="Apply", cancel="Cancel")

    @on(Input.Changed)
    def _changes(self) -> dict[str, Any] | None:
        """Returns the changed limits. Shows an error and returns None if a value is invalid."""
        typed = {name: self.query_one(f"#{name}", Input).value.strip() for name in FIELDS}
        try:
            changes = dict(read_change(f"{name}={value}") for name, value in typed.items() if value != self._now[name])
        except UsageError as error:
            self.fault(str(error))
            return None
        self.fault("")
        return changes

    def accept(self) -> None:
        if (changes := self._changes()) is not None:
            self.dismiss(changes or None)


class TrustDialog(Confirm):
    """Asks whether to trust a batch. "Cancel" has the focus."""

    def __init__(self, question: TrustQuestion) -> None:
        super().__init__("", "Trust and resume", no="Cancel", title="Trust this batch?")
        self._trust = question

    def compose(self) -> ComposeResult:
        question = self._trust
        with frame(self._title, "-wide", Vertical):
            yield paragraph(f"{one_line(question.name)} ({question.run_id}) {FOREIGN}. It would use:")
            rows = "\n".join(f"{kind:<7} {one_line(item)}" for kind, item in question.rows())
            with VerticalScroll(classes="dialog-rows"):  # shown from its beginning, where code is listed
                yield Static(Content(rows), id="servers")
            yield paragraph(MEANING)
            yield self.answers()


PUBLISH = "publish"
FORMATS = {
    "json": ("JSON: folder with results.json and analysis.json", ""),
    "csv": ("CSV: messages and outcomes, for a spreadsheet", ""),
    "sqlite": ("SQLite: Tidepool file with only this batch", ".db"),
    "html": ("HTML: page to read and share", ".html"),
    "markdown": ("Markdown: report with methods, for a paper", ".md"),
    "parquet": ("Parquet: tables for data frames", ""),
    "toml": ("TOML: config that reproduces the batch", ".toml"),
    PUBLISH: ("Publish: folder with all of this and a dataset card", ""),
    "policy": ("Policy: learned policy of a mutation study", ".policy"),
}


class ExportDialog(Dialog[tuple[str, str]]):
    """Returns the format and the path."""

    AUTO_FOCUS = "#path"

    def __init__(self, batch: BatchLine) -> None:
        super().__init__()
        self._batch = batch

    def compose(self) -> ComposeResult:
        spec = installed(self._batch.kind)
        formats = spec.results.formats() if spec else {}
        offered = {name: FORMATS.get(name, (name, ""))[0] for name in dict.fromkeys((*EXPORTERS, PUBLISH, *formats))}
        with frame("Export"):
            yield Label("format")
            yield Select(
                [(label, name) for name, label in offered.items()], value="json", allow_blank=False, id="format"
            )
            yield Label("to")
            yield TextLine(self._suggested("json"), id="path")
            yield fault_line()
            yield buttons(export="Export", cancel="Cancel")

    def _suggested(self, name: str) -> str:
        suffix = FORMATS.get(name, ("", ""))[1]
        return self._batch.id if name == "json" else f"{self._batch.id}-{name}{suffix}"

    def on_select_changed(self, event: Select.Changed) -> None:
        path = self.query_one("#path", Input)
        if path.value in {self._suggested(name) for name in FORMATS}:
            path.value = self._suggested(str(event.value))

    def accept(self) -> None:
        path = self.query_one("#path", Input).value.strip()
        if not path:
            self.fault("The path is missing. Type a path.")
            return
        self.dismiss((str(self.query_one("#format", Select).value), path))


async def export(database: Path, batch_id: str, form: str, target: str) -> str:
    """Runs the export in a separate process. Returns an error message, empty on success."""
    arguments = ("publish", batch_id) if form == PUBLISH else ("export", batch_id, "--format", form)
    command_line = command(database, *arguments, "-o", target)
    completed = await asyncio.to_thread(
        subprocess.run,
        command_line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        encoding="utf-8",
        errors="replace",
    )
    if completed.returncode == 0:
        return ""
    return completed.stdout.removeprefix("tidepool: ").strip() or "The export failed without a message."
