"""An empty file greets with three things to try, each one key away, offline."""

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tidepool.tui.app.kind_screens import STARTERS, Starter


class StarterCard(Static):
    def __init__(self, starter: Starter) -> None:
        super().__init__(
            Content.assemble(
                (f" {starter.key} ", "bold $text on $primary-muted"),
                (f"  {starter.title}", "bold"),
                (f"\n     {starter.text}", "$quiet"),
            )
        )
        self.starter = starter

    def on_click(self) -> None:
        self.post_message(Greeting.Chosen(self.starter))


class Greeting(Vertical):
    @dataclass
    class Chosen(Message):
        starter: Starter

    def compose(self) -> ComposeResult:
        yield Static(
            Content.assemble(
                ("Tidepool", "bold $primary"),
                "  many small talks with language models, in one file",
            )
        )
        yield Static(Content("Nothing here yet. Try one of these: no key, no network, no cost."))
        for starter in STARTERS:
            yield StarterCard(starter)
        yield Static(
            Content.assemble(
                ("2", "bold $accent"),
                "  compose your own     ",
                ("?", "bold $accent"),
                "  help     ",
                ("ctrl+p", "bold $accent"),
                "  every command",
            )
        )
