"""Reading what was said: a list of conversations, or of an evolution's answers, with filters and full-text search, and the
one under the cursor."""

import asyncio
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Select, Static

from tidepool.engine.results.marks import places_of
from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries import search
from tidepool.storage.queries.lists import everybody
from tidepool.storage.queries.watching import Watched
from tidepool.tui.app.matter import SPLITS, Matter, Talks, Wanted, filter_of, matter_of
from tidepool.tui.app.shutdown import while_open
from tidepool.tui.app.widgets.talk import TranscriptPane
from tidepool.tui.app.widgets.talk_list import ConversationList
from tidepool.tui.app.widgets.text_line import TextLine
from tidepool.tui.app.widgets.watching.wavefront import Wavefront
from tidepool.tui.drawing.words import count

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

TYPING_SECONDS = 0.15
CHOOSING_SECONDS = 0.02
GROWING_SECONDS = 2.0
"""between looks at what a running batch has added to the list"""


class ConversationsPane(Vertical):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.matter: Matter = Talks()
        self._batch: Watched | None = None
        self._ids: tuple[int, int] = (0, -1)
        self._turn: int | None = None
        self._found_at = 0.0
        self._before: Wanted | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="talk-filters"):
            yield TextLine(placeholder=Talks.hint, id="search", compact=True)
            yield Select(_choices(Talks.shows), value="all", allow_blank=False, id="show", compact=True)
            yield Select([], prompt=Talks.anybody, id="agent", compact=True)
            yield Select([], prompt=Talks.any_part, id="wave", compact=True)
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
    def filter(self) -> Wanted:
        who, part = self.query_one("#agent", Select).value, self.query_one("#wave", Select).value
        return Wanted(
            self.query_one("#search", Input).value,
            str(self.query_one("#show", Select).value),
            who if isinstance(who, str) else None,
            part if isinstance(part, str | int) and not isinstance(part, bool) else None,
        )

    # -- the batch ---------------------------------------------------------------------------------------

    async def open(self, batch: Watched) -> None:
        self._batch, before = batch, self.matter.title
        self.matter = self.list.matter = matter_of(batch.kind)
        file, number = self._app.file, batch.number
        search_line, show = self.query_one("#search", Input), self.query_one("#show", Select)
        if self.matter.title != before:
            search_line.placeholder = self.matter.hint
            show.set_options(_choices(self.matter.shows))
        who, part = self.query_one("#agent", Select), self.query_one("#wave", Select)
        who.prompt, part.prompt = self.matter.anybody, self.matter.any_part
        people = await file.look(self.matter.who, number)
        who.set_options(people)
        places = places_of(await file.look(everybody, number))
        self.query_one("#talk-text", TranscriptPane).places = self.matter.places = places
        part.set_options(await file.look(self.matter.parts, number))
        if people and not self.matter.lists_hits:
            who.value = people[0][1]
        search_line.value = ""
        self._before = None
        self._ids = (0, -1)
        self._find(CHOOSING_SECONDS)

    async def look(self, batch: Watched) -> None:
        """The heads of the rows in view, and what is under the cursor; of a running batch, what has come to the list."""
        if self._batch is None:
            return
        going_on, self._batch = batch.running or self._batch.running, batch
        if going_on and monotonic() > self._found_at + GROWING_SECONDS:
            self._grow(batch)
        if wanted := self.list.wanted:
            self.list.show_heads(await self._app.file.look(self.matter.heads, batch.number, wanted))
        number = self.list.selected
        text = self.query_one("#talk-text", TranscriptPane)
        if number is None:
            text.show(None)
            return
        read = Talks().read if self.list.hit else self.matter.read
        found = await self._app.file.look(read, batch.number, number)
        turn, self._turn = self._turn, None
        text.show(found, self.list.words, turn)

    # -- finding -----------------------------------------------------------------------------------------

    @on(Input.Changed, "#search")
    def _typed(self) -> None:
        self._find(TYPING_SECONDS)

    @on(Select.Changed)
    def _chosen(self) -> None:
        self._find(CHOOSING_SECONDS)

    @work(exclusive=True, group="find")
    async def _find(self, pause: float) -> None:
        """`pause`: more may be typed or chosen right behind."""
        if self._batch is None:
            return
        self._found_at = monotonic()
        await asyncio.sleep(pause)
        wanted = self.filter
        with while_open(self.app):
            try:
                self.list.all_read = True
                searched = search.match_of(self.matter.words(wanted.words))
                await (self._search if searched else self._list)(self._batch, wanted)
            except TidepoolError as error:
                self._say(str(error))

    @work(exclusive=True, group="find")
    async def _grow(self, batch: Watched) -> None:
        self._found_at = monotonic()
        with while_open(self.app):
            if self.list.hit is None:
                numbers = await self._app.file.dig(self.matter.matching, batch.number, self.filter)
                self.list.show_grown(numbers)
                self._say(self.matter.told(numbers, batch))

    async def _list(self, batch: Watched, wanted: Wanted) -> None:
        numbers = await self._app.file.dig(self.matter.matching, batch.number, wanted)
        self.list.show_all(numbers, search.search_words(self.matter.words(wanted.words)))
        self._say(self.matter.told(numbers, batch))

    async def _search(self, batch: Watched, wanted: Wanted) -> None:
        """What is indexed is shown at once; the rest is indexed in small steps meanwhile."""
        file = self._app.file
        show = self._show_hits if self.matter.lists_hits else self._list
        if batch.running or self._ids[1] < self._ids[0]:
            self._ids = await file.dig(search.range_now, batch.number, self._ids)
        state = await file.dig(search.filled)
        self.list.all_read = state.complete
        await show(batch, wanted)
        if state.complete:
            return
        shown_at = monotonic()
        while not state.complete:
            state = await file.do(search.fill_some, self._app.path)
            if not self.list.count and monotonic() > shown_at + GROWING_SECONDS:
                await show(batch, wanted)
                shown_at = monotonic()
            self._say(f"reading everything once, to find fast: {100 * state.share:.0f} %")
            await asyncio.sleep(0.02)
        self.list.all_read = True
        await show(batch, wanted)

    async def _show_hits(self, batch: Watched, wanted: Wanted) -> None:
        hits = await self._app.file.dig(search.find, batch.number, filter_of(wanted), self._ids)
        self.list.show_hits(hits, search.search_words(wanted.words))
        total = await self._app.file.dig(search.count_hits, filter_of(wanted), self._ids)
        narrowed = wanted.show not in ("all", "any") or wanted.who or wanted.part
        noun = "message" if total == 1 else "messages"
        more = "+" if total >= 10_000 else ""
        self._say(f"{count(total)}{more} {noun}{' before the filters' if narrowed else ''}")

    @work(exclusive=True, group="more")
    async def _more(self) -> None:
        """The next page, when the end of the list is near."""
        if self._batch is None or self.list.hit is None or self.list.rows_in_view[1] < self.list.count - 10:
            return
        wanted = filter_of(self.filter)
        hits = await self._app.file.dig(search.find, self._batch.number, wanted, self._ids, self.list.last_hit)
        self.list.add_hits(hits)

    def _say(self, text: str) -> None:
        self.query_one("#found", Static).update(Content(text))

    # -- the person --------------------------------------------------------------------------------------

    @on(ConversationList.Highlighted)
    def _moved(self) -> None:
        self._turn = self.list.hit.turn if self.list.hit else None
        self._more()
        self._nudge()

    @on(Wavefront.Scrolled)
    def _scrolled(self) -> None:
        self._more()
        self._nudge()

    @on(ConversationList.Opened)
    def _opened(self) -> None:
        self.add_class("-reading")
        self.query_one("#talk-text").focus()

    @on(Input.Submitted, "#search")
    def _to_list(self) -> None:
        self.list.focus()

    def focus(self, scroll_visible: bool = True) -> "ConversationsPane":
        """Whoever comes to this panel reads in its list."""
        self.list.focus(scroll_visible)
        return self

    def back_to_list(self) -> None:
        self.remove_class("-reading")
        self.list.focus()

    def step(self, by: int) -> None:
        """To the next or previous hit, conversation or answer."""
        self.list.go_to(self.list.cursor + by)

    def point_to(self, number: int) -> bool:
        """Whether it is in the list."""
        if self.filter.words:
            self.query_one("#search", Input).value = ""
            return False
        return self.list.point_to(number)

    def start_search(self) -> None:
        """In all that was said: the one prompt whose answers are shown first does not narrow it."""
        self.remove_class("-reading")
        if not self.matter.lists_hits and not self.filter.words:
            self.query_one("#agent", Select).clear()
        self.screen.set_focus(self.query_one("#search", Input))  # at once: letters may be right behind

    def show_only(self, words: Iterable[str]) -> None:
        self.query_one("#search", Input).value = " ".join(words)

    def narrow(self, to: str, prompt: str | None = None) -> None:
        """Filters by the problem or prompt of the selected answer, for all models; called again, restores the filter.
        `prompt`: to that one."""
        answer = self.query_one("#talk-text", TranscriptPane).answer
        if prompt is not None:
            typed = f"@{prompt}"
        elif answer is not None:
            typed = f"#{answer.problem}" if to == "problem" else f"@{answer.genome_id}"
        else:
            return
        if self.filter.words == typed and prompt is None:
            self._filter(self._before or Wanted())
            self._before = None
        else:
            self._before = self._before or self.filter
            split = answer.split if answer and to == "problem" and answer.split in SPLITS else None
            self._filter(Wanted(typed, self.filter.show, None, split))
        self.list.focus()

    def _filter(self, wanted: Wanted) -> None:
        for place, value in (("#agent", wanted.who), ("#wave", wanted.part)):
            select = self.query_one(place, Select)
            select.value = Select.NULL if value is None else value
        self.query_one("#search", Input).value = wanted.words

    def _nudge(self) -> None:
        nudge = getattr(self.screen, "nudge", None)
        if nudge:
            nudge()


def _choices(shows: Mapping[str, str]) -> "list[tuple[str, str]]":
    return [(name, key) for key, name in shows.items()]
