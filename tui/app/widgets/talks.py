"""Reading what was said: a list of conversations with filters and full-text search, and the one under the cursor."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Select, Static

from tidepool.storage.errors import TidepoolError
from tidepool.storage.reading import search
from tidepool.storage.reading.conversation_heads import readable, speakers, talk_heads
from tidepool.storage.reading.watching import Watched, wave_count
from tidepool.tui.app.shutdown import while_open
from tidepool.tui.app.widgets.talk import TranscriptPane
from tidepool.tui.app.widgets.talk_list import ConversationList
from tidepool.tui.app.widgets.wavefront import Wavefront
from tidepool.tui.drawing.plain import one_line
from tidepool.tui.drawing.words import count

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

SHOWN = {"all": "all talks", "revealed": "revealed", "kept": "all kept", "failed": "failed"}
TYPING_SECONDS = 0.15
MOST_WAVES = 200


class ConversationsPane(Vertical):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._batch: Watched | None = None
        self._ids: tuple[int, int] = (0, -1)
        self._turn: int | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="talk-filters"):
            yield Input(placeholder='search: words, begin*, "a phrase"', id="search", compact=True)
            yield Select(
                [(name, key) for key, name in SHOWN.items()], value="all", allow_blank=False, id="show", compact=True
            )
            yield Select([], prompt="anyone", id="agent", compact=True)
            yield Select([], prompt="any wave", id="wave", compact=True)
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
    def filter(self) -> search.Filter:
        agent, wave = self.query_one("#agent", Select).value, self.query_one("#wave", Select).value
        return search.Filter(
            self.query_one("#search", Input).value,
            str(self.query_one("#show", Select).value),
            agent if isinstance(agent, str) else None,
            wave if isinstance(wave, int) and not isinstance(wave, bool) else None,
        )

    # -- the batch ---------------------------------------------------------------------------------------

    async def open(self, batch: Watched) -> None:
        self._batch = batch
        names = await self._app.file.look(speakers, batch.number)
        waves = await self._app.file.look(wave_count, batch.number)
        self.query_one("#agent", Select).set_options([(Content(one_line(name)), name) for name in names])
        self.query_one("#wave", Select).set_options(
            [(f"wave {wave}", wave) for wave in range(1, min(waves, MOST_WAVES) + 1)]
        )
        self.query_one("#search", Input).value = ""
        self._ids = await self._app.file.dig(search.id_range, batch.number)
        self._find()

    async def look(self) -> None:
        """The heads of the rows in view, and the conversation under the cursor."""
        if self._batch is None:
            return
        if wanted := self.list.wanted:
            self.list.show_heads(await self._app.file.look(talk_heads, self._batch.number, wanted))
        number = self.list.selected
        text = self.query_one("#talk-text", TranscriptPane)
        if number is None:
            text.show(None)
            return
        found = await self._app.file.look(readable, self._batch.number, number)
        turn, self._turn = self._turn, None
        text.show(found, self.list.words, turn)

    # -- finding -----------------------------------------------------------------------------------------

    @on(Input.Changed, "#search")
    @on(Select.Changed)
    def _changed(self) -> None:
        self._find()

    @work(exclusive=True, group="find")
    async def _find(self) -> None:
        if self._batch is None:
            return
        await asyncio.sleep(TYPING_SECONDS)
        wanted = self.filter
        with while_open(self.app):
            try:
                await (self._search if search.match_of(wanted.words) else self._list)(self._batch, wanted)
            except TidepoolError as error:
                self._say(str(error))

    async def _list(self, batch: Watched, wanted: search.Filter) -> None:
        numbers = await self._app.file.dig(search.matching_units, batch.number, wanted)
        self.list.show_all(numbers)
        self._say(f"{count(len(numbers))} of {count(batch.units_total)} conversations")

    async def _search(self, batch: Watched, wanted: search.Filter) -> None:
        """What is indexed is shown at once; the rest is indexed in small steps meanwhile."""
        file = self._app.file
        if batch.running or self._ids[1] < self._ids[0]:
            self._ids = await file.dig(search.range_now, batch.number, self._ids)
        await self._show_hits(batch.number, wanted)
        state = await file.dig(search.filled)
        if state.complete:
            return
        while not state.complete:
            state = await file.do(search.fill_some, self._app.path)
            self._say(f"reading everything once, to find fast: {100 * state.share:.0f} %")
            await asyncio.sleep(0.02)
        await self._show_hits(batch.number, wanted)

    async def _show_hits(self, number: int, wanted: search.Filter) -> None:
        hits = await self._app.file.dig(search.find, number, wanted, self._ids)
        self.list.show_hits(hits, search.search_words(wanted.words))
        total = await self._app.file.dig(search.count_hits, wanted, self._ids)
        narrowed = wanted.show != "all" or wanted.agent or wanted.wave
        noun = "message" if total == 1 else "messages"
        more = "+" if total >= 10_000 else ""
        self._say(f"{count(total)}{more} {noun}{' before the filters' if narrowed else ''}")

    @work(exclusive=True, group="more")
    async def _more(self) -> None:
        """The next page, when the end of the list is near."""
        if self._batch is None or self.list.hit is None or self.list.rows_in_view[1] < self.list.count - 10:
            return
        hits = await self._app.file.dig(search.find, self._batch.number, self.filter, self._ids, self.list.last_hit)
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

    def back_to_list(self) -> None:
        self.remove_class("-reading")
        self.list.focus()

    def step(self, by: int) -> None:
        """To the next or previous hit, or conversation."""
        self.list.go_to(self.list.cursor + by)

    def start_search(self) -> None:
        self.remove_class("-reading")
        self.screen.set_focus(self.query_one("#search", Input))  # at once: letters may be right behind

    def show_only(self, words: Iterable[str]) -> None:
        self.query_one("#search", Input).value = " ".join(words)

    def _nudge(self) -> None:
        nudge = getattr(self.screen, "nudge", None)
        if nudge:
            nudge()
