"""What this screen is for, its keys, and what the colours mean."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from tidepool.tui.app.actions import offers
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.theme import STATES


class Help(Dialog[None]):
    BINDINGS = [Binding("question_mark,f1,enter", "leave", "Close", show=False)]

    def __init__(self, about: Screen[object]) -> None:
        super().__init__()
        self._text = getattr(about, "HELP", "")
        self._keys = [
            (self._shown(about, offer.binding), offer.words, offer.binding.tooltip) for offer in offers(about)
        ]

    @staticmethod
    def _shown(about: Screen[object], binding: Binding) -> str:
        return about.app.get_key_display(binding)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -wide") as box:
            box.border_title = "Help"
            yield Static(Content(" ".join(self._text.split())), classes="dialog-text")
            yield Static(self._key_lines(), classes="dialog-text")
            yield Static(_legend())

    def _key_lines(self) -> Content:
        width = max((len(key) for key, _, _ in self._keys), default=0)
        return Content("\n").join(
            Content.assemble((key.rjust(width), "bold $accent"), f"  {words}", (f"  {tooltip}", "$quiet"))
            for key, words, tooltip in self._keys
        )


def _legend() -> Content:
    parts = [
        Content.assemble((f"{state.glyph} ", f"${_variable(name)}"), f"{state.meaning}   ")
        for name, state in STATES.items()
    ]
    return Content("").join(parts)


def _variable(name: str) -> str:
    return f"state-{name}"
