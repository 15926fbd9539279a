"""The line on top: where one is, where one can go, and which file is open."""

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tidepool.tui.drawing.text import one_line

PLACES = {
    "batches": ("1", "Batches"),
    "compose": ("2", "Compose"),
    "watch": ("3", "Watch"),
    "results": ("4", "Results"),
    "library": ("5", "Library"),
    "providers": ("6", "Providers"),
}
"""mode → (key, title)"""


class ModeTab(Static):
    """One of the places, to click on."""

    def __init__(self, mode: str, here: bool) -> None:
        key, title = PLACES[mode]
        text = Content.assemble(key, " ", (title, "bold" if here else ""))
        super().__init__(text, classes="-here" if here else None)
        self.mode = mode

    def on_click(self) -> None:
        self.post_message(Navigation.Went(self.mode))


class Navigation(Horizontal):
    @dataclass
    class Went(Message):
        mode: str

    def __init__(self, here: str) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        for mode in PLACES:
            yield ModeTab(mode, mode == self._here)
        path = getattr(self.app, "path", None)
        yield Static(Content(one_line(path.name) if path else ""), id="file-name")
