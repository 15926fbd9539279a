"""Something to read: passages of foreign text, wrapped and never interpreted, some with a name beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.events import Resize

from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.text import fitted, one_line, plain, wrapped

MOST_SHOWN = 20_000
"""characters of one passage: more than anybody reads here"""
WIDEST_LABEL = 22


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    style: str = ""
    """the name of one of the styles of Rows"""
    label: str | None = None
    """what stands beside the text"""


class ReadingPane(Rows):
    has_cursor = False

    def __init__(self, *, id: str | None = None, empty: str = "") -> None:
        super().__init__(id=id)
        self._passages: list[Passage] = []
        self._lines: list[tuple[Piece, ...]] = []
        self._empty = empty

    @property
    def passages(self) -> list[Passage]:
        return self._passages

    def show(self, passages: Sequence[Passage], *, at_end: bool = False) -> None:
        if list(passages) == self._passages:
            return
        self._passages = list(passages)
        self._lay_out()
        if at_end:
            self.call_after_refresh(self.scroll_end, animate=False)
        else:
            self.scroll_home(animate=False)

    def _lay_out(self) -> None:
        self._lines = laid_out(self._passages, self.view_width)
        self._drawn.clear()
        self._count = len(self._lines)
        self._measure()
        self.refresh()

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    def empty_text(self) -> str:
        return self._empty

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        return self._lines[index]


def laid_out(passages: Sequence[Passage], width: int) -> list[tuple[Piece, ...]]:
    lines: list[tuple[Piece, ...]] = []
    labels = [one_line(passage.label) for passage in passages if passage.label is not None]
    beside = min(WIDEST_LABEL, max(map(len, labels), default=0)) + 2
    for passage in passages:
        label = None if passage.label is None else fitted(one_line(passage.label), beside - 2) + "  "
        text = plain(shortened(passage.text))
        for start, end in wrapped(text, max(10, width - 2 - (beside if label is not None else 0))):
            margin: Piece = (" " if label is None else f" {label}", "dim")
            lines.append((margin, (text[start:end].rstrip(), passage.style)))
            label = None if label is None else " " * beside
    return lines


def shortened(text: str) -> str:
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]} … and {len(text) - MOST_SHOWN:,} characters more"
