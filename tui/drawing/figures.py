"""Figures in characters, as rows of coloured runs, for the app and for the terminal.

plotext draws the field between an axis on the left and one below; where axes end and which numbers they show is decided by
the engine. plotext keeps a single figure, so one is drawn at a time. Bars stand upright where their labels have room below
them, else each lies on a line of its own; curves are braille with a glyph along their way and their band behind; points have
their name beside them, or all of them in a legend where one would cover another; means are a mark on their interval."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from rich.cells import cell_len, set_cell_size

from tidepool.engine.results.blocks import INKS, Figure, Interval, Series, as_hex, glyph_of, more, number
from tidepool.engine.results.figures import (
    Axis,
    along,
    digits_for,
    known_points,
    of_means,
    plane,
    stretches,
    thin_out,
    upright,
)
from tidepool.tui.drawing.text import fitted, one_line, wrapped

# -- the field ---------------------------------------------------------------------------------------------------------


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


def plot_columns(up: Axis, width: int) -> int:
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
        self._plotext.plot(*self._clamp(points), marker=marker, color=_rgb(ink), fillx=fill, yside=side)

    def marks(self, points: Points, markers: Sequence[str], ink: str | None) -> None:
        self._plotext.scatter(*self._clamp(points), marker=list(markers), color=_rgb(ink))

    def text(self, text: str, x: float, y: float, ink: str, alignment: str = "left") -> None:
        _, (y,) = self._clamp([(x, y)])
        self._plotext.text(_in_cells(text), x=x, y=y, color=_rgb(ink), alignment=alignment)

    def _clamp(self, points: Points) -> tuple[list[float], list[float]]:
        """The upper end belongs to the row below it."""
        return [x for x, _ in points], [min(y, self.up.high - self.a_row / 1000) for _, y in points]

    def read_rows(self) -> list[list[Run]]:
        """Read from plotext's own cells: its text with escape sequences takes twice the time."""
        monitor = self._plotext.active().monitor
        monitor.build_plot()
        rows: list[list[Run]] = []
        for letters, inks in zip(monitor.matrix.marker, monitor.matrix.fullground, strict=True):
            runs = groupby(zip(letters, inks, strict=True), itemgetter(1))
            texts = [("".join(letter for letter, _ in cells).replace(_SECOND_HALF, ""), ink) for ink, cells in runs]
            rows.append([(text, None if ink == "default" else as_hex(ink)) for text, ink in texts])
        return rows[::-1]


def _rgb(ink: str | None) -> tuple[int, ...] | str:
    return tuple(bytes.fromhex(ink[1:])) if ink else "default"


def _in_cells(text: str) -> str:
    """A letter for each cell."""
    return "".join(letter + _SECOND_HALF * (cell_len(letter) - 1) for letter in text if cell_len(letter))


def listed(field: Field, names: Sequence[Run], values: Sequence[str]) -> list[list[Run]]:
    """A field of lines, each with a name before it and a value behind it; names are all of one width."""
    rows = field.read_rows()
    lines = [[name, (" ", None), *row, (value, None)] for name, row, value in zip(names, rows, values, strict=False)]
    left = " " * (cell_len(names[0][0]) + 1)
    return [*lines, *([(left, None), *row] for row in rows[len(names) :])]


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
        entry = f"{glyph} {one_line(name)}"
        entry = entry if cell_len(entry) <= width else fitted(entry, width)
        if not rows or used + 3 + cell_len(entry) > width:
            rows.append([])
            used = 0
        rows[-1].append(("   " * bool(used) + entry, colour))
        used += 3 * bool(used) + cell_len(entry)
    return rows[:most]


# -- bars --------------------------------------------------------------------------------------------------------------


FILLS = ("█", "▒", "░", "▓")
"""what tells series apart where colours cannot"""
RISING = " ▁▂▃▄▅▆▇█"
AXIS_WIDTH = 8
"""columns that the upright axis may take"""


def lies(figure: Figure, width: int) -> bool:
    """Whether the labels have no room side by side."""
    slot = (width - AXIS_WIDTH) // max(1, len(figure.labels))
    return slot < len(figure.series) + 1 or any(cell_len(label) >= slot for label in labels_of(figure))


def lines_lying(figure: Figure) -> int:
    """With the axis below them, a legend above, and a gap between groups."""
    several = len(figure.series) > 1
    return len(figure.labels) * (len(figure.series) + several) - several + 2 + several


def labels_of(figure: Figure) -> list[str]:
    return label_texts(figure.labels, figure.places)


def label_texts(names: Sequence[str], places: Sequence[int]) -> list[str]:
    """Each behind its glyph, where it has a place among those who take part."""
    plain: list[str] = [one_line(name) for name in names]
    return [f"{glyph_of(place)} {name}" for place, name in zip(places, plain, strict=True)] if places else plain


def draw_bars(figure: Figure, shape: Shape, inks: Sequence[str]) -> list[list[Run]]:
    several = len(figure.series) > 1
    fills = [FILLS[place % len(FILLS)] if shape.plain else "█" for place in range(len(figure.series))]
    entries = [(fills[place], one.name, inks[place]) for place, one in enumerate(figure.series)] if several else []
    head = legend(entries, shape.width, 2, one_line(figure.ylabel), shape.quiet)
    rows = max(3, shape.height - len(head))
    if lies(figure, shape.width) and lines_lying(figure) - several <= rows:
        return [*head, *_lying(figure, shape, rows, inks, fills)]
    return [*head, *_standing(figure, shape, rows, inks, fills)]


# -- upright -------------------------------------------------------------------------------------------------


def _standing(figure: Figure, shape: Shape, rows: int, inks: Sequence[str], fills: Sequence[str]) -> list[list[Run]]:
    columns = max(4, shape.width - AXIS_WIDTH)
    groups_shown = min(len(figure.labels), max(1, columns // (len(figure.series) + 1)))
    staggered = any(cell_len(label) >= columns // groups_shown for label in labels_of(figure)[:groups_shown])
    rows = max(2, rows - 2 - staggered)
    bare = len(figure.series) == 1 and not any(figure.series[0].intervals)
    up = upright(figure, min(6, rows // 2), 1 / rows if bare else 0.0)
    columns = plot_columns(up, shape.width)
    slot = columns / groups_shown
    wide = max(1, int((slot - 1) * 0.8 / len(figure.series)))
    full = max(1, wide - (wide > 2))
    places = [round(slot * (group + 0.5) - 0.5) for group in range(groups_shown)]
    across = Axis(0, columns - 1, tuple(places))
    field = Field(across, up, columns, even_rows(up, rows), shape.quiet, numbers=False)
    for group in range(groups_shown):
        start = round(slot * (group + 0.5) - wide * len(figure.series) / 2)
        for place, series in enumerate(figure.series):
            value, bounds = series.ys[group], series.bounds[group]
            if value is not None:
                x = start + place * wide
                top = _rise(field, (x, x + full - 1), value, fills[place], inks[place])
                if bounds:
                    _whisker(field, x + full // 2, bounds)
                elif bare:
                    field.text(number(value, digits_for(figure)), x + full // 2, top, shape.quiet, "center")
    return [*field.read_rows()[:-1], *_below(figure, shape, places, slot, columns, staggered=staggered)]


def _rise(field: Field, span: tuple[int, int], value: float, fill: str, ink: str) -> float:
    """The bar, to an eighth of a row where it is solid; where what is written above it stands."""
    rows, eighths = divmod(round(8 * value / field.a_row), 8) if value > 0 else (math.floor(value / field.a_row), 0)
    end = rows * field.a_row
    if rows:
        field.line([(x, end - math.copysign(field.a_row / 2, value)) for x in span], fill, ink, fill=True)
    block = RISING[eighths] if fill == "█" else fill if eighths >= 4 else " "
    if block != " ":
        field.line([(x, end + field.a_row / 2) for x in span], block, ink)
        end += field.a_row
    return max(0.0, end) + field.a_row / 2


def _whisker(field: Field, x: float, bounds: Interval) -> None:
    """On top of its bar, so that it also reads without colours."""
    ends = [(x, end) for end in bounds]
    field.line(ends, "│", None)
    field.marks(ends, "┼┼" if field.row(bounds[0]) == field.row(bounds[1]) else "┴┬", None)


def _below(
    figure: Figure, shape: Shape, places: Sequence[int], slot: float, columns: int, *, staggered: bool
) -> list[list[Run]]:
    """Every label; in two rows by turns where they are long."""
    left = shape.width - columns
    label_width = max(1, int(slot * (1 + staggered)) - 1)
    labels = labels_of(figure)
    edges = [2 * min(left + place, shape.width - 1 - left - place) + 1 for place in places]
    texts = [fitted(label, min(label_width, edge, cell_len(label))) for label, edge in zip(labels, edges, strict=False)]
    middles = [left + place for place in places]
    turns = 1 + staggered
    rows = [beneath(middles[turn::turns], texts[turn::turns], shape.width, shape.quiet) for turn in range(turns)]
    if len(labels) > len(places):
        return [rows[0], [(more(len(labels) - len(places)), shape.quiet)]]
    return rows


# -- lying ---------------------------------------------------------------------------------------------------


def _lying(figure: Figure, shape: Shape, rows: int, inks: Sequence[str], fills: Sequence[str]) -> list[list[Run]]:
    labels = labels_of(figure)
    names = min(shape.width // 3, max(map(cell_len, labels)))
    value_texts = [[number(y, digits_for(figure)) for y in series.ys] for series in figure.series]
    figures = 1 + max(len(text) for texts in value_texts for text in texts)
    columns = max(8, shape.width - names - figures - 2)
    gap = len(figure.series) > 1 and lines_lying(figure) - 1 <= rows
    apart = len(figure.series) + gap
    lines = len(labels) * apart - gap
    field = line_field(upright(figure, min(8, columns // 10)), columns, lines, shape.quiet)
    before: list[Run] = [(" " * names, None)] * lines
    behind = [""] * lines
    for group, label in enumerate(labels):
        before[group * apart] = (fitted(label, names), None)
        for place, series in enumerate(figure.series):
            line, value, bounds = group * apart + place, series.ys[group], series.bounds[group]
            behind[line] = f"{value_texts[place][group]:>{figures}}"
            if value:
                field.line([(0.0, -line), (value, -line)], fills[place], inks[place])
            if value is not None and bounds:
                ends = [(end, -line) for end in bounds]
                field.line(ends, "─", None)
                one_cell = field.column(bounds[0]) == field.column(bounds[1])
                field.marks(ends, "┼┼" if one_cell else "├┤", None)
    return listed(field, before, behind)


# -- curves ------------------------------------------------------------------------------------------------------------


BETWEEN_GLYPHS = 12
"""columns along a curve"""
BAND = "░"
MOST_DOTS = 4_000
"""of a curve, some hundredths of a second; one that goes up and down further is thinned"""


def draw_curves(figure: Figure, shape: Shape, inks: Sequence[str]) -> list[list[Run]]:
    several = [one.name for one in figure.series if one.name][1:]
    entries = [(glyph_of(place), one.name, inks[place]) for place, one in enumerate(figure.series)] if several else []
    head = legend(entries, shape.width, 2, one_line(figure.ylabel), shape.quiet)
    rows = max(2, shape.height - len(head) - 2 - bool(figure.xlabel))
    up = upright(figure, min(6, rows // 2))
    columns = plot_columns(up, shape.width)
    across = along(figure, min(8, columns // 10))
    field = Field(across, up, columns, even_rows(up, rows), shape.quiet, name=figure.xlabel)
    for series, ink in zip(figure.series, inks, strict=True):
        _band(field, series, ink)
    curves = [_visible_points(field, known_points(one)) for one in figure.series]
    for points, ink in zip(curves, inks, strict=True):
        if points:
            field.line(points, "braille", ink)
    for place, (points, ink) in enumerate(zip(curves, inks, strict=True)):
        if entries or len(points) == 1:
            _glyphs(field, points, place, len(figure.series), ink)
    return [*head, *field.read_rows()]


def _visible_points(field: Field, points: Points) -> Points:
    points = thin_out(points, field.columns)
    dots = DOTS * sum(abs(after - before) for (_, before), (_, after) in pairwise(points)) / field.a_row
    return points if dots <= MOST_DOTS else thin_out(points, int(field.columns * MOST_DOTS / dots))


def _band(field: Field, series: Series, ink: str) -> None:
    """Up and down in every column, in a softer colour."""
    for stretch in stretches(series):
        hatched = [
            (x, end)
            for place, (x, low, high) in enumerate(_every_column(stretch, field))
            for end in ((high, low) if place % 2 else (low, high))
        ]
        field.line(hatched, BAND, _softer(ink))


def _softer(ink: str) -> str:
    """Half way to grey."""
    return "#" + "".join(f"{(int(ink[at : at + 2], 16) + 128) // 2:02x}" for at in (1, 3, 5))


def _every_column(stretch: Sequence[tuple[float, float, float]], field: Field) -> Iterator[tuple[float, float, float]]:
    """The ends of the interval at each column, also between two points."""
    yield stretch[0]
    for before, after in pairwise(stretch):
        steps = field.column(after[0]) - field.column(before[0])
        for step in range(1, steps + 1):
            x, low, high = (a + (b - a) * step / steps for a, b in zip(before, after, strict=True))
            yield x, low, high


def _glyphs(field: Field, points: Points, place: int, curves: int, ink: str) -> None:
    """At points of the curve, some way apart, and elsewhere for each curve: two that run together are still two."""
    next_column, marked = BETWEEN_GLYPHS * place // curves, []
    for x, y in points:
        if field.column(x) >= next_column or (x, y) == points[-1]:
            marked.append((x, y))
            next_column = field.column(x) + BETWEEN_GLYPHS
    if marked:
        field.marks(marked, glyph_of(place), ink)


# -- points ------------------------------------------------------------------------------------------------------------


LONGEST_NAME = 14
Cells = Mapping[int, tuple[int, int]]
"""column and row of each point, by its number"""


def draw_points(figure: Figure, shape: Shape, inks: Sequence[str]) -> list[list[Run]]:
    names = [one_line(series.name)[:LONGEST_NAME] for series in figure.series]
    glyphs = [glyph_of(place if series.place is None else series.place) for place, series in enumerate(figure.series)]
    points = {place: known[0] for place, series in enumerate(figure.series) if (known := known_points(series))}
    head = legend((), shape.width, 1, one_line(figure.ylabel), shape.quiet)
    field = _plane_field(figure, shape, len(head))
    cells = {place: (field.column(x), field.row(y)) for place, (x, y) in points.items()}
    sides = label_sides(cells, [cell_len(name) for name in names], field.columns)
    if not all(sides.values()):
        entries = [(glyphs[place], names[place], inks[place]) for place in points]
        head = legend(entries, shape.width, 4, one_line(figure.ylabel), shape.quiet)
        field, sides = _plane_field(figure, shape, len(head)), {}
    if figure.square:
        field.line([(end, end) for end in figure.square], "·", shape.quiet)  # where both are equal
    for place, point in points.items():
        _cross(field, figure.series[place], point, inks[place])
    a_column = (field.across.high - field.across.low) / (field.columns - 1)
    for place, (x, y) in points.items():
        field.marks([(x, y)], glyphs[place], inks[place])
        if side := sides.get(place, 0):
            alignment = "left" if side > 0 else "right"
            field.text(names[place], x + 2 * side * a_column, y, inks[place], alignment)
    return [*head, *field.read_rows()]


def _plane_field(figure: Figure, shape: Shape, head: int) -> Field:
    rows = max(2, shape.height - head - 2 - bool(figure.xlabel))
    across, up = plane(figure, min(8, shape.width // 12), min(6, max(2, rows // 2)))
    columns = plot_columns(up, shape.width)
    return Field(across, up, columns, even_rows(up, rows), shape.quiet, name=figure.xlabel)


def _cross(field: Field, point: Series, at: tuple[float, float], ink: str) -> None:
    """The intervals of a point, across and upright."""
    x, y = at
    for bounds in filter(None, point.across[:1]):
        field.line([(end, y) for end in bounds], "─", ink)
    for bounds in filter(None, point.intervals[:1]):
        field.line([(x, end) for end in bounds], "│", ink)


def label_sides(cells: Cells, lengths: Sequence[int], width: int) -> dict[int, int]:
    """Where the name of each point goes: 1 right of it, -1 left, 0 nowhere, as it would cover another."""
    occupied = [(column, column, row) for column, row in cells.values()]
    sides = dict.fromkeys(cells, 0)
    for place, (column, row) in cells.items():
        for side in (1, -1) if column <= width / 2 else (-1, 1):
            first, last = sorted((column + 2 * side, column + (1 + lengths[place]) * side))
            free = all(row != other_row or last < left - 1 or right + 1 < first for left, right, other_row in occupied)
            if free and first >= 0 and last < width:
                sides[place] = side
                occupied.append((first, last, row))
                break
    return sides


# -- means -------------------------------------------------------------------------------------------------------------


def draw_means(figure: Figure, shape: Shape, inks: Sequence[str], marks: Sequence[str]) -> list[list[Run]]:
    """`marks` are the colours of the labels, where they have places."""
    (series,) = figure.series
    known = [
        (label, mean, bounds, place)
        for place, (label, mean, bounds) in enumerate(zip(labels_of(figure), series.ys, series.bounds, strict=True))
        if mean is not None
    ]
    available = max(1, shape.height - 2 - bool(figure.xlabel))
    rows = known if len(known) <= available else known[: max(1, available - 1)]
    signed = figure.reference is not None
    texts = [number(mean, max(1, digits_for(figure)), signed=signed) for _, mean, _, _ in rows]
    figures = max(map(len, texts)) + 1
    names = min(max(6, shape.width // 3), max(cell_len(label) for label, _, _, _ in rows))
    columns = max(10, shape.width - names - 2 - figures)
    axis = of_means(figure, min(8, columns // 9))
    field = line_field(axis, columns, len(rows), shape.quiet, name=figure.xlabel)
    if (reference := figure.reference) is not None:
        field.line([(reference, 0), (reference, 1 - len(rows))], "┊", shape.quiet)
    before: list[Run] = []
    for line, (label, mean, bounds, place) in enumerate(rows):
        ink = marks[place] if figure.places else inks[0]
        if bounds:
            field.line([(end, -line) for end in bounds], "─", ink)
            if reference is not None and bounds[0] <= reference <= bounds[1]:
                field.marks([(reference, -line)], "┼", ink)
        field.marks([(mean, -line)], glyph_of(figure.places[place]) if figure.places else "●", ink)
        before.append((fitted(label, names), ink if figure.places else None))
    lines = listed(field, before, [f"{value:>{figures}}" for value in texts])
    if len(rows) < len(known):
        lines.insert(len(rows), [(more(len(known) - len(rows)), shape.quiet)])
    return lines


# -- any figure --------------------------------------------------------------------------------------------------------


Colours = Mapping[str, Sequence[int]]
"""of roles, and of marks as mark-0, mark-1, …"""

LEAST_HEIGHT = 7
"""rows of a figure beneath which its note is left out"""
HEIGHTS = {"lines": 16, "bars": 16, "points": 22}


def draw(figure: Figure, width: int, height: int, colours: Colours, plain: bool = False) -> list[list[Run]]:
    """At most `height` rows of `width` cells."""
    quiet = _hex(colours.get("quiet", GREY))
    if not any(y is not None for series in figure.series for y in series.ys):
        return [[(fitted(f"{one_line(figure.title)}: nothing to show yet", width), quiet)]]
    title: list[Run] = [(fitted(one_line(figure.title), width), _hex(colours.get("primary", GREY)))]
    note: list[list[Run]] = [[(line, quiet)] for line in note_lines(figure, width, height)]
    shape = Shape(max(20, width), max(4, height - len(note) - 1), quiet, plain)
    lines = [title, *(_within(row, width) for row in _field(figure, shape, colours))]
    return lines[:height] if len(lines) + len(note) > height else [*lines, *note]


def _within(row: list[Run], width: int) -> list[Run]:
    """Where there is hardly any room, what is too wide ends at the edge."""
    if sum(cell_len(text) for text, _ in row) <= width:
        return row
    runs: list[Run] = []
    for text, ink in row:
        runs.append((set_cell_size(text, min(width, cell_len(text))), ink))
        width -= cell_len(runs[-1][0])
    return runs


def _field(figure: Figure, shape: Shape, colours: Colours) -> list[list[Run]]:
    inks = [_ink(figure, series, place, colours) for place, series in enumerate(figure.series)]
    if figure.form == "means":
        return draw_means(figure, shape, inks, [mark_ink(place, colours) for place in figure.places])
    return {"lines": draw_curves, "bars": draw_bars, "points": draw_points}[figure.form](figure, shape, inks)


def preferred_height(figure: Figure, width: int) -> int:
    """Where there is room without end below: as many lines as it reads well in, its note included."""
    note = len(note_lines(figure, width))
    if figure.form == "means":
        lines = 1 + sum(y is not None for y in figure.series[0].ys) + 2 + bool(figure.xlabel)
        return max(lines, LEAST_HEIGHT - 3) + note
    if figure.form == "bars" and lies(figure, width):
        return 1 + lines_lying(figure) + bool(figure.ylabel) + note
    return HEIGHTS[figure.form] + note


def note_lines(figure: Figure, width: int, height: int = 1000) -> list[str]:
    """What the intervals are, below the figure; where there is little room the figure itself needs it."""
    text = one_line(figure.note)
    lines = [text[start:end] for start, end in wrapped(text, width)] if text else []
    least = 4 if figure.form == "means" else LEAST_HEIGHT
    return lines if height - len(lines) >= least else []


GREY = (128, 128, 128)


def _ink(figure: Figure, series: Series, place: int, colours: Colours) -> str:
    """That of whom it tells, of its role, or the next one."""
    if series.place is not None or (len(figure.series) > 1 and not series.colour):
        return mark_ink(place if series.place is None else series.place, colours)
    return _hex(colours.get(series.colour or "primary", GREY))


def mark_ink(place: int, colours: Colours) -> str:
    number = place % len(INKS)
    return _hex(colours.get(f"mark-{number}", INKS[number]))


def _hex(colour: Sequence[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)
