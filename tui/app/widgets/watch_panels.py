"""The panels of Watch: progress, finding, waves and log.

The progress panel shows units × calls as coloured cells. In conversations a column is a wave. In other kinds the waves of a
unit may be far apart (a genome of the seventh generation), so a column is the unit's next call.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tidepool.storage.queries.watching import LogLine, UnitLine, WaveCell, WaveLine
from tidepool.tui.app.kind_screens import screens_of
from tidepool.tui.app.theme import STATES
from tidepool.tui.app.widgets.blocks import Plot
from tidepool.tui.app.widgets.rows import Column, PagedRows, Piece, Rows, TextRows, marked_names, row_of
from tidepool.tui.app.worker import InterimEstimate
from tidepool.tui.drawing.text import ago, count, one_line, span, wrapped

MARGIN = 30
"""rows to read beyond the visible ones, so that scrolling shows them at once"""

WORSE = ("done", "cached", "retried", "running", "failed")
"""states in ascending priority for several calls in one cell"""


@dataclass(frozen=True, slots=True)
class Front:
    """The data of the rows around the visible ones."""

    lines: Mapping[int, UnitLine] = field(default_factory=dict)
    cells: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """states of each unit's columns"""


def front_of(
    kind: str,
    lines: Sequence[UnitLine],
    cells: Sequence[WaveCell],
    under_way: Mapping[int, Collection[int]],
    columns: int,
) -> Front:
    """Arranges calls in columns. `under_way` are the waves of each unit with calls in flight."""
    by_unit: dict[int, list[WaveCell]] = {}
    for cell in cells:
        by_unit.setdefault(cell.sequence_number, []).append(cell)
    arrange = _by_wave if screens_of(kind).by_wave else _by_order
    numbers = {line.sequence_number for line in lines} | set(by_unit) | set(under_way)
    return Front(
        {line.sequence_number: line for line in lines},
        {number: arrange(by_unit.get(number, ()), under_way.get(number, ()), columns) for number in numbers},
    )


def _by_wave(cells: Sequence[WaveCell], waiting: Collection[int], columns: int) -> tuple[str, ...]:
    states = ["waiting"] * max(columns, *(cell.wave for cell in cells), *waiting, 0)
    for cell in cells:
        if cell.wave > 0:
            before = states[cell.wave - 1]
            states[cell.wave - 1] = cell.state if before == "waiting" else max(before, cell.state, key=WORSE.index)
    for wave in waiting:
        if wave > 0 and states[wave - 1] == "waiting":
            states[wave - 1] = "running"
    return tuple(states)


def _by_order(cells: Sequence[WaveCell], waiting: Collection[int], columns: int) -> tuple[str, ...]:
    return tuple([cell.state for cell in cells] + ["running"] * len(waiting))


class Wavefront(PagedRows):
    empty = "no unit has started yet"
    _front = Front()
    _columns = 0
    follow = True
    places: Mapping[str, int] = {}
    """places of the participants, which determine their glyphs and colours"""
    long_labels = False
    """whether the rows are cells of a study, which are labelled by their levels"""

    @property
    def selected(self) -> int:
        """The sequence number under the cursor."""
        return self.cursor + 1

    @property
    def range_to_read(self) -> tuple[int, int]:
        """The sequence numbers to read."""
        first, last = self.rows_in_view
        return max(1, first + 1 - MARGIN), max(1, min(self.count, last + 1 + MARGIN))

    def show(self, count: int, columns: int, front: Front) -> None:
        if (columns, front) != (self._columns, self._front):
            self._columns, self._front = columns, front
            self._measure()
            self.refresh()
        self.set_count(count)

    def clear(self) -> None:
        self.show(0, 0, Front())
        self.cursor = 0

    def action_step(self, by: int) -> None:
        self.follow = False
        super().action_step(by)

    def action_edge(self, last: bool) -> None:
        self.follow = False
        super().action_edge(last)

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    @on(events.MouseDown)
    def _stay_here(self) -> None:
        self.follow = False

    def _label_width(self) -> int:
        if self.long_labels:
            return max(24, min(60, self.view_width - 10 - 2 * self._columns))
        return (24 if self.view_width >= 70 else 18) + 4 * bool(self.places)

    def _cell_width(self) -> int:
        """Returns two characters per cell if they fit."""
        return 2 if self._columns * 2 + self._label_width() + 9 <= max(self.view_width, 40) else 1

    def row_width(self) -> int:
        return 9 + self._label_width() + self._columns * self._cell_width()

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        number = index + 1
        line = self._front.lines.get(number)
        names = line.participants if line else ()
        failed = line is not None and line.status == "failed"
        label = marked_names(names, self.places, self._label_width())
        if failed:
            label = [(text, "failed") for text, _ in label]
        pieces: list[Piece] = [(f"{number:>7,} ", "dim"), *label, (" ", "")]
        states = self._front.cells.get(number) or ("waiting",) * self._columns
        gap = " " * (self._cell_width() - 1)
        for state, group in groupby(states):
            pieces.append(((STATES[state][0] + gap) * len(list(group)), state))
        if failed and line is not None and line.error:
            pieces.append((f"  {one_line(line.error)}", "failed"))
        return pieces


NOTHING = "No result yet: conversations finish together in the last wave."


WORKING = "Calculating…"


class FindingPane(Vertical, can_focus=True):
    def compose(self) -> ComposeResult:
        yield Static(Content(WORKING), id="finding-words")
        yield Plot(id="finding-plot")

    def show(self, finding: InterimEstimate | None, *, running: bool = False) -> None:
        """Shows an interim result; None while it is calculated."""
        headline, figure = (finding.headline, finding.figure) if finding else (None, None)
        text, plot = self.query_one("#finding-words", Static), self.query_one(Plot)
        text.display = headline is not None or figure is None
        if headline is not None:
            text.update(Content.styled(one_line(headline.text), "bold"))
        elif text.display:
            note = WORKING if finding is None else NOTHING if running else "no result"
            text.update(Content.styled(note, "$quiet"))
        plot.display = figure is not None
        if figure is not None:
            plot.show(figure)


def format_orders(wave: WaveLine, now: float) -> str:
    """Describes the state of a wave's provider batches, and for how long."""
    open_orders = [order for order in wave.orders if order.open]
    if open_orders:
        oldest = min(order.created_at for order in open_orders)
        state = one_line(open_orders[0].remote_state or open_orders[0].state)
        return f"{len(open_orders)} × {open_orders[0].provider} {state} {ago(oldest, now)}"
    if wave.orders:
        lasted = max((order.finished_at or order.created_at) - order.created_at for order in wave.orders)
        return f"{len(wave.orders)} × {wave.orders[0].provider} {wave.orders[0].state} in {span(lasted)}"
    return ""


class WavesTable(Rows):
    empty = "no replies yet"
    _waves: Mapping[int, WaveLine] = {}

    @property
    def range_to_read(self) -> tuple[int, int]:
        """The number of waves to skip, and the number to read."""
        first, last = self.rows_in_view
        return max(0, first - 5), max(20, last - first + 10)

    def show(self, count: int, skip: int, waves: Sequence[WaveLine]) -> None:
        self._waves = {skip + position: wave for position, wave in enumerate(waves)}
        self.set_count(count)
        self.refresh()

    def _columns(self) -> list[Column]:
        """Returns the columns. Omits empty ones for failed and cached calls."""
        rare = [name for name in ("failed", "cached") if any(getattr(wave, name) for wave in self._waves.values())]
        return [
            Column("wave", 7, "strong", right=True),
            Column("calls", 9, right=True),
            *(Column(name, 7, name, right=True) for name in rare),
            Column("time", 12, right=True),
            Column("per call", 10, right=True),
            Column("transport", 12, "dim"),
            Column("provider batches", style="dim"),
        ]

    def draw_header(self, width: int) -> Sequence[Piece]:
        columns = self._columns()
        return row_of(columns, [(one.title, "") for one in columns], width)

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        wave = self._waves.get(index)
        if wave is None:
            return [("      …", "dim")]
        orders = format_orders(wave, time.time())
        cells: dict[str, str | Piece] = {
            "wave": f"{wave.wave:,}",
            "calls": count(wave.calls),
            "failed": count(wave.failed),
            "cached": count(wave.cached),
            "time": span(wave.seconds),
            "per call": span(wave.seconds / wave.calls) if wave.calls else "–",
            "transport": wave.transport.replace("+", " + "),
            "provider batches": (orders, "running") if any(order.open for order in wave.orders) else orders,
        }
        columns = self._columns()
        return row_of(columns, [cells[one.title] for one in columns], width)


COLOURS = {"error": "failed", "warning": "running"}
MOST = 10_000
LONGEST = 2_000
MOMENT = len(" 12:34:56 ")


class LogLines(TextRows):
    empty = "no log entries yet"
    _log: Sequence[LogLine] = ()

    @property
    def last_id(self) -> int:
        return self._log[-1].id if self._log else 0

    def add(self, lines: Sequence[LogLine]) -> None:
        """Adds lines. Lays out only new lines, until the log is full."""
        log = [*self._log, *lines]
        self._log = log[-MOST:]
        if len(log) > MOST:
            self.lay_out()
        else:
            self.lines = [*self.lines, *(row for line in lines for row in self._broken(line))]
            self.set_count(len(self.lines))

    def clear(self) -> None:
        self._log = ()
        self.lay_out()

    def laid_out(self, width: int) -> list[Sequence[Piece]]:
        return [row for line in self._log for row in self._broken(line)]

    def _broken(self, line: LogLine) -> list[Sequence[Piece]]:
        colour = COLOURS.get(line.level, "")
        text: str = one_line(line.message, LONGEST)
        if line.level != "info":
            text = f"{one_line(line.level, 20)}: {text}"
        moment = time.strftime(" %H:%M:%S ", time.localtime(line.at))
        places = wrapped(text, (self.view_width or 80) - MOMENT - 1)
        return [
            ((" " * MOMENT if place else moment, "dim"), (text[start:end], colour))
            for place, (start, end) in enumerate(places)
        ]
