"""What a batch has to read, or the messages a search has found; any number of them."""

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.storage.queries.search import Hit
from tidepool.tui.app.matter import Matter, Talks
from tidepool.tui.app.widgets.marked_names import marked_name
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.app.widgets.watching.wavefront import Wavefront
from tidepool.tui.drawing.plain import fitted, one_line

MARGIN = 40


class ConversationList(Rows):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._numbers: array[int] = array("I")
        self._heads: Mapping[int, Any] = {}
        self.matter: Matter = Talks()
        self._hits: list[Hit] | None = None
        self.all_read = True
        """all that was said can be searched by now"""
        self._words: tuple[str, ...] = ()

    @property
    def hit(self) -> Hit | None:
        """The message under the cursor, while searching."""
        return self._hits[self.cursor] if self._hits and self.cursor < len(self._hits) else None

    @property
    def selected(self) -> int | None:
        """The conversation under the cursor."""
        if self._hits is not None:
            return self.hit.sequence_number if self.hit else None
        return self._numbers[self.cursor] if self.cursor < len(self._numbers) else None

    @property
    def words(self) -> tuple[str, ...]:
        return self._words

    @property
    def wanted(self) -> list[int]:
        """The conversations in view whose heads are not known yet."""
        if self._hits is not None:
            return []
        first, last = self.rows_in_view
        near = self._numbers[max(0, first - MARGIN) : last + 1 + MARGIN]
        shown = self._numbers[first : last + 1]
        return list(near) if any(number not in self._heads for number in shown) else []

    @property
    def last_hit(self) -> int:
        return self._hits[-1].call_id if self._hits else 0

    def show_all(self, numbers: "array[int]", words: Sequence[str] = ()) -> None:
        self._numbers, self._hits, self._words = numbers, None, tuple(word.casefold() for word in words)
        self._heads = {}
        self._anew(len(numbers))

    def show_grown(self, numbers: "array[int]") -> None:
        """The list of a batch that goes on: whoever reads in it stays where he is."""
        if self._hits is not None or numbers == self._numbers:
            return
        here = self.selected
        self._numbers = numbers
        self.set_count(len(numbers))
        self.touch_all()
        if here is not None and here in numbers:
            self.cursor = numbers.index(here)

    def point_to(self, number: int) -> bool:
        """Puts the cursor on a conversation, where the list has it."""
        if self._hits is not None or number not in self._numbers:
            return False
        self.go_to(self._numbers.index(number))
        return True

    def show_heads(self, heads: Mapping[int, Any]) -> None:
        self._heads = heads
        self.touch_all()

    def show_hits(self, hits: Sequence[Hit], words: Sequence[str]) -> None:
        self._hits, self._words = list(hits), tuple(word.casefold() for word in words)
        self._anew(len(self._hits))

    def add_hits(self, hits: Sequence[Hit]) -> None:
        if self._hits is not None:
            self._hits += hits
            self.set_count(len(self._hits))

    def _anew(self, count: int) -> None:
        self.set_count(count)
        self.touch_all()
        self.cursor = 0
        self.scroll_home(animate=False)
        self.post_message(self.Highlighted(self, 0))

    def watch_scroll_y(self, before: float, after: float) -> None:
        super().watch_scroll_y(before, after)
        if round(before) != round(after):
            self.post_message(Wavefront.Scrolled())

    def empty_text(self) -> str:
        if not self.all_read:
            return "nothing found yet"
        return "nothing found" if self._hits is not None else "nothing fits"

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        return self._draw_hit(self._hits[index], width) if self._hits is not None else self._draw_head(index)

    def _draw_hit(self, hit: Hit, width: int) -> Sequence[Piece]:
        turn = f"{hit.turn}" if hit.turn is not None else ""
        text = one_line(hit.excerpt)
        name, style = marked_name(hit.speaker, self.matter.places)
        return [
            (f"{hit.sequence_number:>7,} ", "dim"),
            (fitted(turn, 3, right=True) + " ", "dim"),
            (fitted(name, 12) + " ", style),
            *_marked(text[: max(10, width)], self._words),
        ]

    def _draw_head(self, index: int) -> Sequence[Piece]:
        number = self._numbers[index]
        head = self._heads.get(number)
        if head is None:
            return [("      …", "dim")]
        return self.matter.row(number, head)


def _marked(text: str, words: Sequence[str]) -> list[Piece]:
    folded = text.casefold()
    if len(folded) != len(text):
        return [(text, "")]
    places = sorted((folded.find(word), word) for word in words if folded.find(word) >= 0)
    pieces: list[Piece] = []
    at = 0
    for place, word in places:
        if place >= at:
            pieces += [(text[at:place], ""), (text[place : place + len(word)], "hit")]
            at = place + len(word)
    return [*pieces, (text[at:], "")]
