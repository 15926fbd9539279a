"""A list of conversations or answers with filters and search, and the text under the cursor."""

import asyncio
from array import array
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Select, Static

from tidepool.engine.reports.blocks import places_of
from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries import search
from tidepool.storage.queries.lists import everybody
from tidepool.storage.queries.search import Hit
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app.background import while_open
from tidepool.tui.app.transcript_sources import TranscriptFilter, TranscriptSource, filter_of, transcript_source
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.app.widgets.rows import PagedRows, Piece, column, marked_name
from tidepool.tui.app.widgets.transcript import TranscriptPane
from tidepool.tui.drawing.text import count, marked, one_line
from tidepool.tui.drawing.transcript import hits_in

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

MARGIN = 40
MOST_HITS = 1_000
"""number of hits to list"""


class ConversationList(PagedRows):
    empty = "no matches"
    _numbers = array("I")
    _heads: Mapping[int, Any] = {}
    source = TranscriptSource()
    _hits: list[Hit] | None = None
    words: tuple[str, ...] = ()

    @property
    def hit(self) -> Hit | None:
        """The message under the cursor, in a search."""
        return self._hits[self.cursor] if self._hits and self.cursor < len(self._hits) else None

    @property
    def selected(self) -> int | None:
        """The conversation under the cursor."""
        if self._hits is not None:
            return self.hit.sequence_number if self.hit else None
        return self._numbers[self.cursor] if self.cursor < len(self._numbers) else None

    @property
    def unread(self) -> list[int]:
        """The visible conversations whose heads are not loaded yet."""
        if self._hits is not None:
            return []
        first, last = self.rows_in_view
        nearby = self._numbers[max(0, first - MARGIN) : last + 1 + MARGIN]
        in_view = self._numbers[first : last + 1]
        return list(nearby) if any(number not in self._heads for number in in_view) else []

    def show_all(self, numbers: "array[int]", words: Sequence[str]) -> None:
        self._numbers, self._hits, self.words = numbers, None, tuple(word.casefold() for word in words)
        self._heads = {}
        self._restart_list(len(numbers))

    def show_grown(self, numbers: "array[int]") -> None:
        """Updates the list of a running batch. The cursor stays on its row."""
        if self._hits is not None or numbers == self._numbers:
            return
        here = self.selected
        self._numbers = numbers
        self.set_count(len(numbers))
        self.refresh()
        if here is not None and here in numbers:
            self.cursor = numbers.index(here)

    def show_heads(self, heads: Mapping[int, Any]) -> None:
        self._heads = heads
        self.refresh()

    def show_hits(self, hits: Sequence[Hit], words: Sequence[str]) -> None:
        self._hits, self.words = list(hits), tuple(word.casefold() for word in words)
        self._restart_list(len(self._hits))

    def _restart_list(self, count: int) -> None:
        self.set_count(count)
        self.refresh()
        self.cursor = 0
        self.scroll_home(animate=False)
        self.post_message(self.Highlighted(self))

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        if self._hits is None:
            number = self._numbers[index]
            head = self._heads.get(number)
            return [("      …", "dim")] if head is None else self.source.row(number, head)
        hit = self._hits[index]
        turn = f"{hit.turn}" if hit.turn is not None else ""
        text = one_line(hit.excerpt)[: max(10, width)]
        name, style = marked_name(hit.speaker, self.source.places)
        return [
            (f"{hit.sequence_number:>7,} ", "dim"),
            column(turn, 3, "dim", right=True),
            column(name, 12, style),
            *((text[start:end], style) for start, end, style in marked((0, len(text)), hits_in(text, self.words))),
        ]


TYPING_SECONDS = 0.15
CHOOSING_SECONDS = 0.02
GROWING_SECONDS = 2.0
"""seconds between updates of a running batch's list"""


class ConversationsPane(Vertical):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.source: TranscriptSource = TranscriptSource()
        self._batch: BatchLine | None = None
        self._turn: int | None = None
        self._found_at = 0.0

    def compose(self) -> ComposeResult:
        with Horizontal(id="talk-filters"):
            yield TextLine(placeholder=TranscriptSource.hint, id="search", compact=True)
            yield Select(_choices(TranscriptSource.shows), value="all", allow_blank=False, id="show", compact=True)
            yield Select([], prompt=TranscriptSource.anybody, id="agent", compact=True)
            yield Select([], prompt=TranscriptSource.any_part, id="wave", compact=True)
        yield Static("", id="found")
        with Horizontal(id="talk-panes"):
            yield ConversationList(id="talk-list")
            yield TranscriptPane(id="talk-text")

    @property
    def _app(self) -> "TidepoolApp":
        return cast("TidepoolApp", self.app)

    @property
    def list(self) -> ConversationList:
        return self.query_one(ConversationList)

    @property
    def filter(self) -> TranscriptFilter:
        participant, part = self.query_one("#agent", Select).value, self.query_one("#wave", Select).value
        return TranscriptFilter(
            self.query_one("#search", Input).value,
            str(self.query_one("#show", Select).value),
            participant if isinstance(participant, str) else None,
            part if isinstance(part, str | int) and not isinstance(part, bool) else None,
        )

    async def open(self, batch: BatchLine) -> None:
        self._batch, before = batch, self.source.title
        self.source = self.list.source = transcript_source(batch)
        file = self._app.file
        search_line, show = self.query_one("#search", Input), self.query_one("#show", Select)
        if self.source.title != before:
            search_line.placeholder = self.source.hint
            show.set_options(_choices(self.source.shows))
        participant, part = self.query_one("#agent", Select), self.query_one("#wave", Select)
        participant.prompt, part.prompt = self.source.anybody, self.source.any_part
        choices = await file.look(self.source.participants)
        participant.set_options(choices)
        places = places_of(await file.look(everybody, batch.number))
        self.query_one("#talk-text", TranscriptPane).places = self.source.places = places
        part.set_options(await file.look(self.source.parts))
        if choices and not self.source.lists_hits:
            participant.value = choices[0][1]
        search_line.value = ""
        self._find(CHOOSING_SECONDS)

    async def look(self, batch: BatchLine) -> None:
        """Reads the heads of the visible rows and the text under the cursor. Updates the list of a running batch."""
        if self._batch is None:
            return
        going_on, self._batch = batch.running or self._batch.running, batch
        if going_on and monotonic() > self._found_at + GROWING_SECONDS:
            self._grow(batch)
        if unread := self.list.unread:
            self.list.show_heads(await self._app.file.look(self.source.heads, unread))
        number = self.list.selected
        text = self.query_one("#talk-text", TranscriptPane)
        if number is None:
            text.show(None)
            return
        read_unit = TranscriptSource(batch.number).read if self.list.hit else self.source.read
        transcript = await self._app.file.look(read_unit, number)
        turn, self._turn = self._turn, None
        text.show(transcript, self.list.words, turn)

    @on(Input.Changed, "#search")
    def _typed(self) -> None:
        self._find(TYPING_SECONDS)

    @on(Select.Changed)
    def _chosen(self) -> None:
        self._find(CHOOSING_SECONDS)

    @work(exclusive=True, group="find")
    async def _find(self, pause: float) -> None:
        """Updates the list after a pause, because more may be typed or chosen."""
        if self._batch is None:
            return
        self._found_at = monotonic()
        await asyncio.sleep(pause)
        filters = self.filter
        with while_open(self.app):
            try:
                searched = self.source.lists_hits and search.search_words(filters.words)
                await (self._show_hits if searched else self._list)(self._batch, filters)
            except TidepoolError as error:
                self._show_status(str(error))

    @work(exclusive=True, group="find")
    async def _grow(self, batch: BatchLine) -> None:
        self._found_at = monotonic()
        with while_open(self.app):
            if self.list.hit is None:
                numbers = await self._app.file.dig(self.source.matching, self.filter)
                self.list.show_grown(numbers)
                self._show_status(self.source.count_text(numbers, batch))

    async def _list(self, batch: BatchLine, filters: TranscriptFilter) -> None:
        numbers = await self._app.file.dig(self.source.matching, filters)
        self.list.show_all(numbers, search.search_words(filters.words))
        self._show_status(self.source.count_text(numbers, batch))

    async def _show_hits(self, batch: BatchLine, filters: TranscriptFilter) -> None:
        hits = await self._app.file.dig(search.find, batch.number, filter_of(filters), most=MOST_HITS)
        self.list.show_hits(hits, search.search_words(filters.words))
        noun = "message" if len(hits) == 1 else "messages"
        self._show_status(f"{count(len(hits))}{'+' if len(hits) == MOST_HITS else ''} {noun}")

    def _show_status(self, text: str) -> None:
        self.query_one("#found", Static).update(Content(text))

    @on(ConversationList.Highlighted)
    def _moved(self) -> None:
        self._turn = self.list.hit.turn if self.list.hit else None
        self._nudge()

    @on(ConversationList.Scrolled)
    def _nudge(self) -> None:
        nudge = getattr(self.screen, "nudge", None)
        if nudge:
            nudge()

    @on(ConversationList.Opened)
    def _opened(self) -> None:
        self.add_class("-reading")
        self.query_one("#talk-text").focus()

    @on(Input.Submitted, "#search")
    def _to_list(self) -> None:
        self.list.focus()

    def focus(self, scroll_visible: bool = True) -> "ConversationsPane":
        """Focuses the list of the panel."""
        self.list.focus(scroll_visible)
        return self

    def back_to_list(self) -> None:
        self.remove_class("-reading")
        self.list.focus()

    def step(self, by: int) -> None:
        """Moves to the next or previous hit, conversation or answer."""
        self.list.go_to(self.list.cursor + by)

    def start_search(self) -> None:
        """Starts a search of all messages. Clears the filter for one prompt that is set at first."""
        self.remove_class("-reading")
        if not self.source.lists_hits and not self.filter.words:
            self.query_one("#agent", Select).clear()
        self.screen.set_focus(self.query_one("#search", Input))  # at once, because letters may follow immediately


def _choices(shows: Mapping[str, str]) -> "list[tuple[str, str]]":
    return [(name, key) for key, name in shows.items()]
