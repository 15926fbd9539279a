"""Providers: to come."""

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from tui.screens.place import Place


class Providers(Place):
    MODE = "providers"

    def compose_body(self) -> Iterable[Widget]:
        yield Static("", classes="empty")
