"""One batch out of the file: the same as `tidepool export`, run beside the app."""

import asyncio
import subprocess
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Label, Select, Static

from tidepool.engine.exports.export import EXPORTERS
from tidepool.storage.queries.watching import Watched
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.kind_screens import installed
from tidepool.tui.app.launching import command, environment
from tidepool.tui.app.widgets.text_line import TextLine

PUBLISH = "publish"
FORMATS = {
    "json": ("JSON: a folder with results.json and analysis.json", ""),
    "csv": ("CSV: messages and outcomes, for a spreadsheet", ""),
    "sqlite": ("SQLite: a Tidepool file with this batch alone", ".db"),
    "html": ("HTML: a page to read and share", ".html"),
    "markdown": ("Markdown: the report with its methods, to publish from", ".md"),
    "svg": ("SVG: every plot as a picture for a paper, in a folder", ""),
    "parquet": ("Parquet: for data frames", ""),
    "toml": ("TOML: its config, which runs to an equal batch", ".toml"),
    PUBLISH: ("Publish: a folder with all of this and a dataset card", ""),
    "policy": ("Policy: what a mutation study learned", ".policy"),
}


class ExportDialog(Dialog[tuple[str, str]]):
    """Answers the format and the path."""

    AUTO_FOCUS = "#path"

    def __init__(self, batch: Watched) -> None:
        super().__init__()
        self._batch = batch

    def compose(self) -> ComposeResult:
        spec = installed(self._batch.kind)
        own = spec.formats() if spec else {}
        offered = {name: FORMATS.get(name, (name, ""))[0] for name in dict.fromkeys((*EXPORTERS, PUBLISH, *own))}
        with VerticalScroll(classes="dialog") as box:
            box.border_title = Content("Export")
            yield Label("format")
            yield Select(
                [(words, name) for name, words in offered.items()], value="json", allow_blank=False, id="format"
            )
            yield Label("to")
            yield TextLine(self._suggested("json"), id="path")
            yield Static("", id="fault", classes="fault")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Export", id="export", variant="primary")
                yield Button("Cancel", id="cancel")

    def _suggested(self, name: str) -> str:
        suffix = FORMATS[name][1] if name in FORMATS else ""
        return self._batch.id if name == "json" else f"{self._batch.id}-{name}{suffix}"

    def on_select_changed(self, event: Select.Changed) -> None:
        path = self.query_one("#path", Input)
        if path.value in {self._suggested(name) for name in FORMATS}:
            path.value = self._suggested(str(event.value))

    def on_input_submitted(self) -> None:
        self._export()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "export":
            self._export()
        else:
            self.dismiss(None)

    def _export(self) -> None:
        path = self.query_one("#path", Input).value.strip()
        if not path:
            self.query_one("#fault", Static).update("Where to? Give a path.")
            return
        self.dismiss((str(self.query_one("#format", Select).value), path))


async def export(database: Path, batch_id: str, form: str, target: str) -> str:
    """Runs the export in a process of its own; returns what went wrong, or nothing."""
    asked = ("publish", batch_id) if form == PUBLISH else ("export", batch_id, "--format", form)
    words = command(database, *asked, "-o", target)
    done = await asyncio.to_thread(
        subprocess.run,
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        check=False,
    )
    if done.returncode == 0:
        return ""
    said: bytes = done.stdout
    return said.decode("utf-8", "replace").removeprefix("tidepool: ").strip() or "The export said nothing and failed."
