"""Compose: a study as TOML, checked and run."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TextArea

from engine.errors import UsageError
from tui.screens.place import Place
from tui.widgets.greeting import STARTERS


class Compose(Place):
    MODE = "compose"
    HELP = "Write the study as TOML; ctrl+r runs it."
    BINDINGS = [Binding("ctrl+r", "run", "Run", id="compose.run", priority=True)]

    def compose_body(self) -> Iterable[Widget]:
        yield TextArea.code_editor(STARTERS[0].path.read_text(encoding="utf-8"), language="toml", id="toml")
        yield Static("", id="compose-fault", classes="fault")

    def load(self, text: str) -> None:
        """Takes a config as TOML, of another batch or a file."""
        self.query_one("#toml", TextArea).text = text

    def action_run(self) -> None:
        from engine.reading import config_from, parse_toml

        text = self.query_one("#toml", TextArea).text
        try:
            config = config_from(parse_toml(text, "the config"))
        except UsageError as error:
            self.query_one("#compose-fault", Static).update(Content(str(error)))
            return
        with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False, encoding="utf-8") as file:
            file.write(text)
        self.tidepool.run_config(Path(file.name), config.batch.name)
