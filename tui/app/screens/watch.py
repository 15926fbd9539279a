"""The Watch screen: a running batch, whichever process runs it. Reads the file a few times a second."""

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from textual import on, work
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from tidepool.engine.reports.blocks import places_of
from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries import lists, watching
from tidepool.storage.queries.lists import Transcript, everybody, read_batch_or_study, readable
from tidepool.storage.queries.units import last_unit
from tidepool.storage.queries.watching import BatchLine, LogLine, WaveLine
from tidepool.tui.app.background import while_open
from tidepool.tui.app.findings import EstimateReader
from tidepool.tui.app.kind_screens import screens_of
from tidepool.tui.app.screens.base import BATCH_BINDINGS, BatchActions
from tidepool.tui.app.widgets.frame import Panel, PanelStrip
from tidepool.tui.app.widgets.gauges import Expected, Gauges, Throughput
from tidepool.tui.app.widgets.transcript import TranscriptPane
from tidepool.tui.app.widgets.watch_panels import FindingPane, Front, LogLines, Wavefront, WavesTable, front_of
from tidepool.tui.app.worker import InterimEstimate, expected_calls


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """The parameters of one read of the file."""

    batch_number: int
    rows: tuple[int, int]
    waves: tuple[int, int]
    selected: int
    log_after: int
    columns: int
    """planned number of waves, if known"""


@dataclass(frozen=True, slots=True)
class WatchData:
    batch: BatchLine
    units: int
    front: Front
    wave_count: int
    waves: list[WaveLine]
    talk: Transcript | None
    log: list[LogLine]

    @property
    def columns(self) -> int:
        return max((len(states) for states in self.front.cells.values()), default=self.wave_count)


def read_watch_data(connection: sqlite3.Connection, path: Path, query: WatchQuery) -> WatchData | None:
    """Reads the file once. The cost depends only on the visible rows."""
    batch = read_batch_or_study(connection, path, query.batch_number)
    if batch is None:
        return None
    number = batch.number
    if batch.cells:  # each row is a batch of the study, each column one of its waves
        cells = lists.study_cells(connection, number)
        units, rows = len(cells), lists.cell_lines(cells, *query.rows)
        answered = lists.cell_waves(connection, cells, *query.rows)
        waiting: dict[int, set[int]] = {}
        numbers, talk = [cell.batch["number"] for cell in cells], None
    else:
        units = max(batch.units_total, last_unit(connection, number))
        rows = watching.unit_lines(connection, number, *query.rows)
        answered = watching.cells(connection, number, *query.rows)
        waiting = _waves_in_flight(batch, query.rows)
        numbers, talk = [number], readable(connection, number, query.selected)
    wave_count, waves = watching.wave_lines(connection, numbers, *query.waves)
    log = watching.log_lines(connection, numbers, query.log_after)
    front = front_of(batch.kind, rows, answered, waiting, max(wave_count, query.columns))
    return WatchData(batch, units, front, wave_count, waves, talk, log)


def _waves_in_flight(batch: BatchLine, rows: tuple[int, int]) -> dict[int, set[int]]:
    """Returns the waves of the live calls in flight for the visible rows, from the heartbeat."""
    if not batch.running:
        return {}
    waves: dict[int, set[int]] = {}
    for number, wave in json.loads(batch.in_flight):
        if rows[0] <= number <= rows[1]:
            waves.setdefault(number, set()).add(wave)
    return waves


class WatchScreen(BatchActions):
    MODE = "watch"
    HELP = """This screen shows a running batch. Each row is a conversation (or another unit), and each cell is a call. Choose
    a row to read it on the right. Press f to scroll to active rows automatically. Pause, stop and new limits reach the batch
    within a second, wherever it runs. Closing the app does not stop the batch."""
    BINDINGS = [
        *BATCH_BINDINGS,
        Binding("f", "follow", "Auto-scroll", tooltip="scroll to active rows"),
        Binding("tab", "next_panel", "Next tab", show=False),
        Binding("enter", "read", "Read", show=False, tooltip="open the conversation under the cursor"),
    ]
    AUTO_FOCUS = "Wavefront"

    def __init__(self) -> None:
        super().__init__()
        self._pulse: Throughput | None = None
        self._expected = Expected()
        self._finding = InterimEstimate()
        self._findings = EstimateReader(self.tidepool)

    def compose_body(self) -> Iterable[Widget]:
        yield Gauges("", id="gauges")
        yield PanelStrip()
        with Vertical(id="watch-panels"):
            with Horizontal(id="watch-top"):
                yield Panel("Progress", Wavefront(id="wavefront"), id="panel-wavefront")
                yield Panel("Finding", FindingPane(id="finding"), id="panel-finding")
                yield Panel("Conversation", TranscriptPane(id="talk", empty="no messages yet"), id="panel-talk")
            with Horizontal(id="watch-bottom"):
                yield Panel("Waves", WavesTable(id="waves"), id="panel-waves")
                yield Panel("Log", LogLines(id="log"), id="panel-log")

    async def look(self) -> None:
        if (batch := await self._current_batch()) is None:
            self.query_one(Gauges).show(None)
            return
        front, waves, log = self.query_one(Wavefront), self.query_one(WavesTable), self.query_one(LogLines)
        columns = self._expected.columns
        query = WatchQuery(batch.number, front.range_to_read, waves.range_to_read, front.selected, log.last_id, columns)
        data = await self.tidepool.file.look(read_watch_data, self.tidepool.path, query)
        if data is not None and query.batch_number == self.tidepool.current:
            self._show(data, query)

    async def _current_batch(self) -> BatchLine | None:
        """Returns the current batch. Clears the screen if it has changed."""
        if self._batch is not None and self._batch.number == self.tidepool.current:
            return self._batch
        self._batch = await self.tidepool.current_batch()
        self._expected = Expected()
        self._set_finding(None)
        self.query_one(Wavefront).clear()
        self.query_one(LogLines).clear()
        self.query_one(TranscriptPane).show(None)
        self.refresh_bindings()
        if self._batch is not None:
            self._pulse = Throughput(self._batch)
            names = await self.tidepool.file.look(everybody, self._batch.number)
            self.query_one(TranscriptPane).places = self.query_one(Wavefront).places = places_of(names)
            self._expect(self._batch)
        return self._batch

    @work(group="expect", exclusive=True)
    async def _expect(self, batch: BatchLine) -> None:
        with suppress(TidepoolError):
            calls, exact, waves = await self.tidepool.counting.ask(expected_calls, self.tidepool.path, batch.id)
            if self._batch is not None and self._batch.number == batch.number:
                self._expected = Expected(calls, exact, waves if screens_of(batch.kind).by_wave else 0)
                self.nudge()

    @work(group="find")
    async def _find(self, batch: BatchLine) -> None:
        finding = await self._findings.read(batch)
        if finding is not None and self._batch is not None and self._batch.number == batch.number:
            with while_open(self.app):
                self._set_finding(finding)

    def _set_finding(self, finding: InterimEstimate | None) -> None:
        self._finding = finding or InterimEstimate()
        running = self._batch is not None and self._batch.running
        self.query_one(FindingPane).show(finding, running=running)

    def _show(self, data: WatchData, query: WatchQuery) -> None:
        changed = self._batch is None or self._batch.status != data.batch.status
        self._batch = data.batch
        front = self.query_one(Wavefront)
        front.long_labels = bool(data.batch.cells)
        if self._pulse is not None:
            self._pulse.update_from(data.batch, time.time())
        self.query_one(Gauges).show(data.batch, self._pulse, self._expected, self._finding.headline)
        if self._findings.due(data.batch):
            self._find(data.batch)
        front.show(data.units, data.columns, data.front)
        self.query_one(WavesTable).show(data.wave_count, query.waves[0], data.waves)
        if front.selected == query.selected:
            talk = self.query_one(TranscriptPane)
            talk.empty = "press enter to open the batch" if data.batch.cells else "no messages yet"
            talk.show(data.talk)
        self.query_one(LogLines).add(data.log)
        if front.follow and data.batch.running:
            self._follow(data.batch)
        if changed:
            self.refresh_bindings()

    def _follow(self, batch: BatchLine) -> None:
        flying = [number for number, _ in json.loads(batch.in_flight)]
        if flying:
            front = self.query_one(Wavefront)
            first, last = front.rows_in_view
            lowest = min(flying) - 1
            if not first <= lowest <= last:
                front.scroll_to(y=max(0, lowest - 3), animate=False)

    @on(Wavefront.Highlighted)
    @on(Wavefront.Scrolled)
    def _look_now(self) -> None:
        self.nudge()

    def action_follow(self) -> None:
        front = self.query_one(Wavefront)
        front.follow = not front.follow
        self.notify("Auto-scroll on." if front.follow else "Auto-scroll off.", timeout=2)

    def action_next_panel(self) -> None:
        self.query_one(PanelStrip).choose_next()

    @on(Wavefront.Opened)
    async def action_read(self) -> None:
        if self._batch is not None and self._batch.cells:
            cells = await self.tidepool.file.look(lists.study_cells, self._batch.number)
            chosen = self.query_one(Wavefront).selected
            if 0 < chosen <= len(cells):
                self.tidepool.current = int(cells[chosen - 1].batch["number"])
                self.nudge()
            return
        self.query_one(PanelStrip).choose("panel-talk")
