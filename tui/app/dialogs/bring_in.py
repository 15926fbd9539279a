"""A file into the library: entities, entity types or agents, out of JSON, TOML or CSV."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Label, Select, Static

from tidepool.tui.app.dialogs.form import KeepingDialog
from tidepool.tui.app.widgets.text_line import TextLine

HOLDS = {"entities": "entities, or entity types", "agents": "agents"}


class ImportDialog(KeepingDialog):
    """A file with a mistake in it is refused as a whole, told in words; the path stays where it was typed."""

    AUTO_FOCUS = "#path"

    def __init__(self, shelf: str, keep: Callable[[str, Path], Awaitable[str]]) -> None:
        super().__init__()
        self._shelf = "agents" if shelf == "agents" else "entities"
        self._keep = keep

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -import", can_focus=False) as box:
            box.border_title = Content("Import a file")
            yield Label("it holds")
            choices = [(words, shelf) for shelf, words in HOLDS.items()]
            yield Select(choices, value=self._shelf, allow_blank=False, id="holds", compact=True)
            yield Label("path of a .json, .toml or .csv file")
            yield TextLine(placeholder="people.csv", id="path", compact=True)
            yield Static("", id="fault", classes="fault")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Import (enter)", id="keep", variant="primary")
                yield Button("Cancel", id="cancel")

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_keep()

    @on(Input.Changed)
    def _typed(self) -> None:
        self.fault("")

    async def kept(self) -> str | None:
        words = self.query_one("#path", Input).value.strip()
        if not words:
            self.fault("Which file? Give its path.")
            return None
        return await self._keep(str(self.query_one("#holds", Select).value), Path(words))
