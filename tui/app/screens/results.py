"""The Results screen: statistics, plots, transcripts and comparisons of batches."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from textual import work
from textual.binding import Binding
from textual.containers import Vertical
from textual.widget import Widget

from tidepool.engine.reports.blocks import Block, Cell, Headline, Level, Report, Words, table
from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.lists import read_batch_or_study
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app import worker
from tidepool.tui.app.background import while_open
from tidepool.tui.app.findings import EstimateReader
from tidepool.tui.app.kind_screens import screens_of
from tidepool.tui.app.screens.base import BATCH_BINDINGS, BatchActions
from tidepool.tui.app.widgets.blocks import BlockList, split_plots
from tidepool.tui.app.widgets.conversations import ConversationsPane
from tidepool.tui.app.widgets.frame import Panel, PanelStrip
from tidepool.tui.app.widgets.gauges import Gauges
from tidepool.tui.drawing.text import count, dollars, one_line, requests


class ResultsScreen(BatchActions):
    MODE = "results"
    HELP = """This screen shows the results of a batch: statistics with 95 % intervals, plots, and all conversations. Press /
    to search all messages, and n and N to go to the next or previous hit. Filters narrow the list, for example to
    conversations in which a secret was revealed, to failed ones, to one agent or to one wave. An evolution lists answers,
    the champion's wrong ones first. A mutation study lists episodes. Enter opens the row under the cursor, and escape
    returns. Tab goes to the next tab."""
    BINDINGS = [
        *BATCH_BINDINGS,
        Binding("slash", "search", "Search", key_display="/", tooltip="search all messages", priority=True),
        Binding("n", "step(1)", "Next", show=False, tooltip="next hit or conversation"),
        Binding("N,shift+n", "step(-1)", "Previous", key_display="N", show=False),
        Binding("r", "reload", "Refresh", show=False, tooltip="recalculate the statistics"),
        Binding("tab", "next_panel", "Next tab"),
        Binding("escape", "back", "Back to list", show=False),
    ]
    AUTO_FOCUS = "#overview"

    def __init__(self) -> None:
        super().__init__()
        self._counted: tuple[int, str, bool] | None = None
        self._whole = False
        """whether full statistics of a running batch were requested"""
        self._findings = EstimateReader(self.tidepool)
        self._shown_of: Headline | None = None
        """the result when the family tree was last shown"""
        self._compared: list[int] = []

    def compose_body(self) -> Iterable[Widget]:
        yield Gauges("", id="gauges", classes="-one-line")
        yield PanelStrip()
        with Vertical(id="result-panels"):
            yield _page("Overview", BlockList(id="overview", empty="Calculating…"))
            yield _page("Statistics", BlockList(id="statistics", empty="Calculating…"))
            yield _page("Plots", BlockList(id="plots", empty="Calculating…"))
            yield _page("Conversations", ConversationsPane(id="talks"))
            yield _page("Family tree", BlockList(id="family", empty="Calculating…"), offered=False)
            yield _page("Compare", BlockList(id="compare"), offered=False)

    async def look(self) -> None:
        gauges, talks = self.query_one(Gauges), self.query_one(ConversationsPane)
        if self._batch is None or self._batch.number != self.tidepool.current:
            self._batch, self._whole = await self.tidepool.current_batch(), False
            if self._batch is None:
                gauges.show(None)
                await self._show_text("No batch yet. Press 2 to compose a study.", "quiet")
                return
            strip = self.query_one(PanelStrip)
            strip.offer("panel-talks", not self._batch.cells)
            if not self._batch.cells:
                await talks.open(self._batch)
                strip.rename("panel-talks", talks.source.title)
        else:
            self._batch = await self.tidepool.file.look(read_batch_or_study, self.tidepool.path, self._batch.number)
            if self._batch is None:
                return
        gauges.show(self._batch)
        state = (self._batch.number, self._batch.status, self._whole)
        if state != self._counted:
            self._counted = state
            self.refresh_bindings()
            if not self._live:
                self._count(self._batch)
        if self._live and self._findings.due(self._batch):
            self._find(self._batch)
        if self._compared != self.tidepool.compared:
            self._compared = list(self.tidepool.compared)
            self._compare(self._compared)
        if not self._batch.cells:
            await talks.look(self._batch)

    @property
    def _live(self) -> bool:
        """Whether the screen shows interim results of a running batch."""
        return self._batch is not None and self._batch.running and not self._whole

    @work(group="find")
    async def _find(self, batch: BatchLine) -> None:
        finding = await self._findings.read(batch)
        if finding is None or not self._live or self._batch is None or self._batch.number != batch.number:
            return
        plots, texts = split_plots(finding.blocks)
        headline = [finding.headline] if finding.headline else []
        with while_open(self.app):
            overview = [*so_far(batch, finding), *plots[:1]]
            await self._show_pages(overview, [*headline, *texts, Words(LATER, "quiet")], plots)
            if finding.headline != self._shown_of:
                self._shown_of = finding.headline
                await self._show_family(batch)

    @work(exclusive=True, group="count")
    async def _count(self, batch: BatchLine) -> None:
        try:
            report = await self.tidepool.counting.ask(
                worker.report, self.tidepool.path, batch.id, of_study=bool(batch.cells)
            )
        except TidepoolError as error:
            await self._show_text(f"The statistics of this batch cannot be calculated: {error}", "warning")
            return
        plots, texts = split_plots(report.findings)
        with while_open(self.app):
            overview = _overview(report, plots, of_study=bool(batch.cells))
            await self._show_pages(overview, [*texts, *report.methods_on_screen], plots)
            await self._show_family(batch)

    async def _show_pages(self, overview: Sequence[Block], statistics: Sequence[Block], plots: Sequence[Block]) -> None:
        await self.query_one("#overview", BlockList).show(overview)
        await self.query_one("#statistics", BlockList).show(statistics)
        await self.query_one("#plots", BlockList).show(plots or [Words("no plots yet", "quiet")])

    async def _show_family(self, batch: BatchLine) -> None:
        """Shows the champion of an evolution and its ancestors."""
        has_one = screens_of(batch.kind).family and not batch.cells
        self.query_one(PanelStrip).offer("panel-family", has_one)
        if has_one:
            tree = await self.tidepool.counting.ask(worker.family_tree, self.tidepool.path, batch.id)
            await self.query_one("#family", BlockList).show([Words(tree, "tree")])

    async def _show_text(self, words: str, level: Level) -> None:
        """Shows a text instead of the statistics. There is no dialog, because the conversations stay readable."""
        with while_open(self.app):
            blocks = [Words(words, level)]
            await self._show_pages(blocks, blocks, blocks)

    @work(exclusive=True, group="compare")
    async def _compare(self, numbers: list[int]) -> None:
        strip = self.query_one(PanelStrip)
        strip.offer("panel-compare", len(numbers) > 1)
        if len(numbers) < 2:
            return
        batches = [await self.tidepool.file.look(read_batch_or_study, self.tidepool.path, number) for number in numbers]
        present = [batch for batch in batches if batch is not None]
        try:
            one_kind = len({batch.kind for batch in present}) == 1 < len(present)
            ids = [item.id for item in present]
            blocks = await self.tidepool.counting.ask(worker.comparison, self.tidepool.path, ids, one_kind=one_kind)
        except TidepoolError as error:
            blocks = [Words(f"These batches cannot be compared: {error}", "warning")]
        with while_open(self.app):
            await self.query_one("#compare", BlockList).show(blocks)
            strip.choose("panel-compare")

    def action_reload(self) -> None:
        """Recalculates the statistics. For a running batch, switches between full and interim statistics."""
        if self._batch is not None and self._batch.running:
            self._whole = not self._whole
        self._counted = None
        self.nudge()

    def recount(self) -> None:
        self.action_reload()

    def action_next_panel(self) -> None:
        self.query_one(PanelStrip).choose_next()

    def action_search(self) -> None:
        if self._batch is None or self._batch.cells:
            return
        self.query_one(PanelStrip).choose("panel-talks", focus=False)
        self.query_one(ConversationsPane).start_search()

    def action_step(self, by: int) -> None:
        if self._batch is None or self._batch.cells:
            return
        self.query_one(PanelStrip).choose("panel-talks")
        self.query_one(ConversationsPane).step(by)

    def action_back(self) -> None:
        self.query_one(ConversationsPane).back_to_list()


def _page(title: str, inner: Widget, *, offered: bool = True) -> Panel:
    return Panel(title, inner, id=f"panel-{inner.id}", offered=offered, framed=False)


def _overview(report: Report, plots: Sequence[Block], *, of_study: bool) -> list[Block]:
    """The findings first, then state and cost, and the first plot."""
    brief = report.brief
    intro = list(takewhile(lambda block: isinstance(block, Words), report.overview))
    warnings = [block for block in brief.warnings if block not in intro] if of_study else []
    cells = [brief.table] if of_study and brief.table else []
    facts = report.overview[len(intro) :]
    return [Words(report.title, "strong"), *intro, *brief.findings, *warnings, *cells, *facts, *plots[:1]]


def so_far(batch: BatchLine, finding: worker.InterimEstimate) -> list[Block]:
    """Returns the overview of a running batch."""
    progress = f"{count(batch.units_done)} of {count(batch.units_total)}"
    facts: list[tuple[Cell, ...]] = [
        ("ended", progress + (f", {count(batch.units_failed)} of them failed" if batch.units_failed else "")),
        ("requests", requests(batch.calls, batch.bought, batch.cached, batch.failed)),
        ("spent", "nothing" if batch.free else dollars(batch.cost_usd)),
    ]
    if batch.simulated:
        facts.append(("replies", "partly simulated" if batch.partly_simulated else "simulated"))
    headline = finding.headline or Words("no result yet", "quiet")
    return [Words(one_line(batch.name), "strong"), headline, table("", ("", ""), facts, left=2), Words(LATER, "quiet")]


LATER = "The batch is running and this page updates. Press r for full statistics now. They also appear when it ends."
