"""Conversations × turns as coloured cells, up to any number of rows: only those in view are read and drawn.

In conversations a column is a wave. Elsewhere a unit's waves may lie far apart (a genome of the seventh
generation), so there a column is simply the unit's next call.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from textual.message import Message

from tidepool.storage.queries.watching import UnitLine, WaveCell
from tidepool.tui.app.kind_screens import screens_of
from tidepool.tui.app.theme import STATES
from tidepool.tui.app.widgets.marked_names import marked_names
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.plain import one_line

MARGIN = 30
"""rows read beyond those in view, so that scrolling finds them drawn"""

WORSE = ("done", "cached", "retried", "running", "failed")
"""where several calls share a cell, the last of these shows"""


@dataclass(frozen=True, slots=True)
class Front:
    """What the wavefront knows of the rows around the view."""

    lines: Mapping[int, UnitLine] = field(default_factory=dict)
    cells: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """for each unit its columns' states"""


def front_of(
    kind: str,
    lines: Sequence[UnitLine],
    cells: Sequence[WaveCell],
    under_way: Mapping[int, Collection[int]],
    columns: int,
) -> Front:
    """`under_way`: the waves of each unit that wait for an answer."""
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


class Wavefront(Rows):
    class Scrolled(Message):
        """Other rows are in view."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Wavefront.Scrolled)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._front = Front()
        self._columns = 0
        self.follow = True
        self.places: Mapping[str, int] = {}
        """of those who take part, by which each has a mark"""
        self.long_labels = False
        """the rows are cells of a study, told by their levels"""

    @property
    def selected(self) -> int:
        """The sequence number under the cursor."""
        return self.cursor + 1

    @property
    def wanted(self) -> tuple[int, int]:
        """The sequence numbers to read."""
        first, last = self.rows_in_view
        return max(1, first + 1 - MARGIN), max(1, min(self.count, last + 1 + MARGIN))

    def show(self, count: int, columns: int, front: Front) -> None:
        before, self._front = self._front, front
        if columns != self._columns:
            self._columns = columns
            self._measure()
            self.touch_all()
        self.set_count(count)
        numbers = front.cells.keys() | front.lines.keys() | before.cells.keys()
        self.touch(
            number - 1
            for number in numbers
            if before.cells.get(number) != front.cells.get(number)
            or before.lines.get(number) != front.lines.get(number)
        )

    def clear(self) -> None:
        self._front = Front()
        self._columns = 0
        self.set_count(0)
        self.touch_all()
        self.cursor = 0

    def watch_scroll_y(self, before: float, after: float) -> None:
        super().watch_scroll_y(before, after)
        if round(before) != round(after):
            self.post_message(self.Scrolled())

    def action_step(self, by: int) -> None:
        self.follow = False
        super().action_step(by)

    def action_edge(self, last: bool) -> None:
        self.follow = False
        super().action_edge(last)

    def on_mouse_scroll_up(self) -> None:
        self.follow = False

    def on_mouse_scroll_down(self) -> None:
        self.follow = False

    def on_mouse_down(self) -> None:
        self.follow = False

    def empty_text(self) -> str:
        return "no unit has begun yet"

    def _label_width(self) -> int:
        if self.long_labels:
            return max(24, min(60, self.view_width - 10 - 2 * self._columns))
        return (24 if self.view_width >= 70 else 18) + 4 * bool(self.places)

    def _cell_width(self) -> int:
        """Two characters a cell where there is room."""
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
            pieces.append(((STATES[state].glyph + gap) * len(list(group)), state))
        if failed and line is not None and line.error:
            pieces.append((f"  {one_line(line.error)}", "failed"))
        return pieces
