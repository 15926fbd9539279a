"""The field of a figure, drawn by plotext between an axis on the left and one below, and what stands around it.

Where axes end and which numbers they show is said by `axes`; plotext keeps a single figure, so one is drawn at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.cells import cell_len

from tidepool.engine.results.axes import Axis
from tidepool.engine.results.marks import written
from tidepool.tui.drawing.plain import fitted, one_line

Run = tuple[str, str | None]
"""text and its colour as #rrggbb"""
Points = Sequence[tuple[float, float]]
DOTS = 4
"""of a braille cell, one above the other"""
_SECOND_HALF = "\0"
"""of a wide letter: plotext counts letters and not cells"""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a figure's field is drawn with, and how large it may be, axes included."""

    width: int
    height: int
    quiet: str
    plain: bool


def columns_beside(up: Axis, width: int) -> int:
    """What the upright axis and its numbers leave."""
    return max(4, width - 1 - max(map(len, up.labels), default=0))


def even_rows(axis: Axis, rows: int) -> int:
    """A few rows less, where every number of the axis then names the edge of a row."""
    spaces = max(1, len(axis.ticks) - 1)
    return rows - rows % spaces if rows % spaces <= rows // 5 else rows


class Field:
    def __init__(
        self, across: Axis, up: Axis, columns: int, rows: int, quiet: str, *, name: str = "", numbers: bool = True
    ) -> None:
        """`name` is that of the axis below; without `numbers` the row below it is left empty."""
        import plotext

        self.across, self.up, self.columns, self.rows = across, up, columns, rows
        self.a_row = (up.high - up.low) / rows
        self._plotext: Any = plotext
        plotext.clear_figure()
        plotext.limit_size(False, False)
        wide = max(map(len, up.labels), default=0)
        plotext.plotsize(wide + 1 + columns, rows + 1 + bool(across.ticks) + bool(name))
        for paint in (plotext.canvas_color, plotext.axes_color):
            paint("default")
        plotext.ticks_color(_rgb(quiet))
        plotext.xaxes(True, False)
        plotext.yaxes(True, False)
        plotext.xlim(across.low, across.high)
        plotext.xticks(across.ticks, across.labels if numbers else [""] * len(across.ticks))
        plotext.xlabel(_in_cells(fitted(one_line(name), min(columns, cell_len(name)))))
        # plotext's limits are the middles of the outermost cells, ours their edges: lengths begin at the line below.
        # Dots are finer than cells, so they are measured along an axis of their own, which is not shown.
        for side, cells in (("left", rows), ("right", rows * DOTS)):
            half = (up.high - up.low) / cells / 2 if cells > 1 else 0.0
            plotext.ylim(up.low + half, up.high - half, yside=side)
        plotext.yticks([tick - self.a_row / 2 for tick in up.ticks], up.labels)
        plotext.yticks([], [], yside="right")
        plotext.text("", x=across.low, y=up.low, color="default")  # an axis without anything along it is left out

    def column(self, value: float) -> int:
        return int(self.across.share(value) * (self.columns - 1) + 0.5)

    def row(self, value: float) -> int:
        """From the top."""
        return self.rows - 1 - min(self.rows - 1, int(self.up.share(value) * self.rows))

    def line(self, points: Points, marker: str, ink: str | None, *, fill: bool = False) -> None:
        """Through all points; filled down or up to zero."""
        side = "right" if marker == "braille" else "left"
        self._plotext.plot(*self._held(points), marker=marker, color=_rgb(ink), fillx=fill, yside=side)

    def marks(self, points: Points, markers: Sequence[str], ink: str | None) -> None:
        self._plotext.scatter(*self._held(points), marker=list(markers), color=_rgb(ink))

    def text(self, text: str, x: float, y: float, ink: str, alignment: str = "left") -> None:
        _, (y,) = self._held([(x, y)])
        self._plotext.text(_in_cells(text), x=x, y=y, color=_rgb(ink), alignment=alignment)

    def _held(self, points: Points) -> tuple[list[float], list[float]]:
        """The upper end belongs to the row below it."""
        return [x for x, _ in points], [min(y, self.up.high - self.a_row / 1000) for _, y in points]

    def drawn(self) -> list[list[Run]]:
        """Read from plotext's own cells: its text with escape sequences takes twice the time."""
        monitor = self._plotext.active().monitor
        monitor.build_plot()
        cells = zip(monitor.matrix.marker, monitor.matrix.fullground, strict=True)
        return [list(_runs(letters, inks)) for letters, inks in cells][::-1]


def _runs(letters: Sequence[str], inks: Sequence[Any]) -> Iterator[Run]:
    for ink, cells in groupby(zip(letters, inks, strict=True), itemgetter(1)):
        yield (
            "".join(letter for letter, _ in cells).replace(_SECOND_HALF, ""),
            None if ink == "default" else written(ink),
        )


def _rgb(ink: str | None) -> tuple[int, ...] | str:
    return tuple(bytes.fromhex(ink[1:])) if ink else "default"


def _in_cells(text: str) -> str:
    """A letter for each cell."""
    return "".join(letter + _SECOND_HALF * (cell_len(letter) - 1) for letter in text if cell_len(letter))


def listed(field: Field, names: Sequence[Run], values: Sequence[str]) -> list[list[Run]]:
    """A field of lines, each with a name before it and a value behind it; names are all of one width."""
    drawn = field.drawn()
    lines = [[name, (" ", None), *row, (value, None)] for name, row, value in zip(names, drawn, values, strict=False)]
    left = " " * (cell_len(names[0][0]) + 1)
    return [*lines, *([(left, None), *row] for row in drawn[len(names) :])]


def line_field(across: Axis, columns: int, lines: int, quiet: str, *, name: str = "") -> Field:
    """For what is told line by line: the first is at 0, the next at -1."""
    return Field(across, Axis(0.5 - lines, 0.5, ()), columns, lines, quiet, name=name)


def beneath(places: Sequence[int], labels: Sequence[str], width: int, ink: str) -> list[Run]:
    """Each label in the middle below its column; one that would run into the one before is left out."""
    line = ""
    for place, label in zip(places, labels, strict=True):
        start = min(width - cell_len(label), max(0, place - cell_len(label) // 2))
        if start > cell_len(line) - (not line):
            line += " " * (start - cell_len(line)) + label
    return [(line, ink)]


def legend(
    entries: Sequence[tuple[str, str, str | None]], width: int, most: int, first: str, ink: str
) -> list[list[Run]]:
    """(glyph, name, colour) of each, behind the name of the upright axis; in as many rows as it takes, and `most` at most."""
    first = fitted(first, min(width, cell_len(first)))
    rows: list[list[Run]] = [[(first, ink)]] if first else []
    used = cell_len(first)
    for glyph, name, colour in entries:
        told = f"{glyph} {one_line(name)}"
        told = told if cell_len(told) <= width else fitted(told, width)
        if not rows or used + 3 + cell_len(told) > width:
            rows.append([])
            used = 0
        rows[-1].append(("   " * bool(used) + told, colour))
        used += 3 * bool(used) + cell_len(told)
    return rows[:most]
