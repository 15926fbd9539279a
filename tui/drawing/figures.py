"""Draws figures with characters, as rows of coloured runs, for the app and the terminal.

plotext draws the field and its two axes; the engine determines their ends and ticks. plotext has one global figure, so
figures are drawn one at a time. Each bar or mean has its own line, between its name and its value. Curves consist of
braille characters with glyphs, in front of their band."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from rich.cells import cell_len, set_cell_size

from tidepool.engine.reports.blocks import INKS, Figure, Interval, Series, as_hex, glyph_of, more
from tidepool.engine.reports.figures import Axis, along, known_points, of_means, stretches, thin_out, upright, value_of
from tidepool.tui.drawing.text import fitted, one_line, wrapped

# -- the field ---------------------------------------------------------------------------------------------------------


Run = tuple[str, str | None]
"""text and its colour as #rrggbb"""
Points = Sequence[tuple[float, float]]
DOTS = 4
"""rows of dots in a braille cell"""


@dataclass(frozen=True, slots=True)
class Shape:
    """The size and style of a figure, including its axes."""

    width: int
    height: int
    quiet: str
    plain: bool


class Field:
    def __init__(self, across: Axis, up: Axis, columns: int, rows: int, quiet: str, *, name: str) -> None:
        """`name` is the label of the horizontal axis."""
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
        plotext.xticks(across.ticks, across.labels)
        plotext.xlabel(fitted(one_line(name), min(columns, len(name))))
        # plotext's limits are the centres of the outermost cells, ours are their edges, so that bars start at the axis.
        # Dots are finer than cells, so they have their own hidden axis.
        for side, cells in (("left", rows), ("right", rows * DOTS)):
            half = (up.high - up.low) / cells / 2 if cells > 1 else 0.0
            plotext.ylim(up.low + half, up.high - half, yside=side)
        plotext.yticks([tick - self.a_row / 2 for tick in up.ticks], up.labels)
        plotext.yticks([], [], yside="right")
        plotext.text("", x=across.low, y=up.low, color="default")  # plotext omits axes without content

    def column(self, value: float) -> int:
        return int(self.across.share(value) * (self.columns - 1) + 0.5)

    def line(self, points: Points, marker: str, ink: str | None) -> None:
        """Draws a line through all points."""
        side = "right" if marker == "braille" else "left"
        self._plotext.plot(*self._clamp(points), marker=marker, color=_rgb(ink), yside=side)

    def marks(self, points: Points, markers: Sequence[str], ink: str | None) -> None:
        self._plotext.scatter(*self._clamp(points), marker=list(markers), color=_rgb(ink))

    def _clamp(self, points: Points) -> tuple[list[float], list[float]]:
        """Limits points to the field. The upper end belongs to the row below it."""
        return [x for x, _ in points], [min(y, self.up.high - self.a_row / 1000) for _, y in points]

    def read_rows(self) -> list[list[Run]]:
        """Reads plotext's cells, which takes half the time of reading its text with escape sequences."""
        monitor = self._plotext.active().monitor
        monitor.build_plot()
        rows: list[list[Run]] = []
        for letters, inks in zip(monitor.matrix.marker, monitor.matrix.fullground, strict=True):
            runs = groupby(zip(letters, inks, strict=True), itemgetter(1))
            texts = [("".join(letter for letter, _ in cells), ink) for ink, cells in runs]
            rows.append([(text, None if ink == "default" else as_hex(ink)) for text, ink in texts])
        return rows[::-1]


def _rgb(ink: str | None) -> tuple[int, ...] | str:
    return tuple(bytes.fromhex(ink[1:])) if ink else "default"


def listed(field: Field, names: Sequence[Run], values: Sequence[str]) -> list[list[Run]]:
    """Returns a field whose lines have a name on the left and a value on the right. All names have the same width."""
    rows = field.read_rows()
    lines = [[name, (" ", None), *row, (value, None)] for name, row, value in zip(names, rows, values, strict=False)]
    left = " " * (cell_len(names[0][0]) + 1)
    return [*lines, *([(left, None), *row] for row in rows[len(names) :])]


def legend(
    entries: Sequence[tuple[str, str, str | None]], width: int, most: int, first: str, ink: str
) -> list[list[Run]]:
    """Returns at most `most` rows with the label of the vertical axis and the (glyph, name, colour) of each series."""
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


# -- bars and means ----------------------------------------------------------------------------------------------------


FILLS = ("█", "▒", "░", "▓")
"""fills that distinguish series without colours"""


def label_texts(names: Sequence[str], places: Sequence[int]) -> list[str]:
    """Returns the names, with glyphs if they are participants."""
    plain: list[str] = [one_line(name) for name in names]
    return [f"{glyph_of(place)} {name}" for place, name in zip(places, plain, strict=True)] if places else plain


def line_places(figure: Figure) -> list[tuple[int, int]]:
    """Returns the label and the series of each line. Unknown means have no line."""
    known = [[figure.form == "bars" or y is not None for y in series.ys] for series in figure.series]
    return [
        (group, place)
        for group in range(len(figure.labels))
        for place in range(len(figure.series))
        if known[place][group]
    ]


def draw_lines(figure: Figure, shape: Shape, inks: Sequence[str], marks: Sequence[str]) -> list[list[Run]]:
    """Draws bars from zero, or means on their intervals. `marks` are the colours of labels that are participants."""
    bars, labels = figure.form == "bars", label_texts(figure.labels, figure.places)
    fills = [FILLS[place % len(FILLS)] if shape.plain else "█" for place in range(len(figure.series))]
    entries = [(fills[place], one.name, inks[place]) for place, one in enumerate(figure.series)]
    title = one_line(figure.ylabel) if bars else ""
    head = legend(entries if entries[1:] else (), shape.width, 2, title, shape.quiet)
    available, lines = max(1, shape.height - len(head) - 2 - bool(figure.xlabel)), line_places(figure)
    shown = lines if len(lines) <= available else lines[: max(1, available - 1)]
    values = [figure.series[place].ys[group] for group, place in shown]
    texts = [f" {value_of(figure, figure.series[place], group).value_text}" for group, place in shown]
    figures = max(map(len, texts))
    names = min(max(6, shape.width // 3), max(cell_len(labels[group]) for group, _ in shown))
    columns = max(8, shape.width - names - 2 - figures)
    axis = (upright if bars else of_means)(figure, min(8, columns // 9))
    up = Axis(0.5 - len(shown), 0.5, ())  # the first line is at 0, the next at -1
    field = Field(axis, up, columns, len(shown), shape.quiet, name=figure.xlabel)
    if figure.reference is not None:
        field.line([(figure.reference, 0), (figure.reference, 1 - len(shown))], "┊", shape.quiet)
    before: list[Run] = []
    for line, ((group, place), value) in enumerate(zip(shown, values, strict=True)):
        own = bool(marks) and not bars
        ink, bounds = marks[group] if own else inks[place], figure.series[place].bounds[group]
        if bars:
            _bar(field, line, value, bounds, fills[place], ink)
        elif value is not None:
            _mean(field, line, value, bounds, glyph_of(figure.places[group]) if own else "●", ink, figure.reference)
        before.append((fitted("" if place else labels[group], names), ink if own else None))
    rows = listed(field, before, [f"{text:>{figures}}" for text in texts])
    if len(shown) < len(lines):
        rows.insert(len(shown), [(more(len(lines) - len(shown)), shape.quiet)])
    return [*head, *rows]


def _bar(field: Field, line: int, value: float | None, bounds: Interval | None, fill: str, ink: str) -> None:
    """Draws a bar with its interval on top, which is readable without colours."""
    if value:
        field.line([(0.0, -line), (value, -line)], fill, ink)
    if value is not None and bounds:
        ends = [(end, -line) for end in bounds]
        field.line(ends, "─", None)
        field.marks(ends, "┼┼" if field.column(bounds[0]) == field.column(bounds[1]) else "├┤", None)


def _mean(
    field: Field, line: int, mean: float, bounds: Interval | None, glyph: str, ink: str, reference: float | None
) -> None:
    if bounds:
        field.line([(end, -line) for end in bounds], "─", ink)
        if reference is not None and bounds[0] <= reference <= bounds[1]:
            field.marks([(reference, -line)], "┼", ink)
    field.marks([(mean, -line)], glyph, ink)


# -- curves ------------------------------------------------------------------------------------------------------------


BETWEEN_GLYPHS = 12
"""number of columns between two glyphs of a curve"""
BAND = "░"


def draw_curves(figure: Figure, shape: Shape, inks: Sequence[str]) -> list[list[Run]]:
    several = [one.name for one in figure.series if one.name][1:]
    entries = [(glyph_of(place), one.name, inks[place]) for place, one in enumerate(figure.series)] if several else []
    head = legend(entries, shape.width, 2, one_line(figure.ylabel), shape.quiet)
    rows = max(2, shape.height - len(head) - 2 - bool(figure.xlabel))
    up = upright(figure, min(6, rows // 2))
    columns = max(4, shape.width - 1 - max(map(len, up.labels), default=0))
    across = along(figure, min(8, columns // 10))
    field = Field(across, up, columns, rows, shape.quiet, name=figure.xlabel)
    for series, ink in zip(figure.series, inks, strict=True):
        _band(field, series, ink)
    curves = [thin_out(known_points(one), columns) for one in figure.series]
    for points, ink in zip(curves, inks, strict=True):
        if points:
            field.line(points, "braille", ink)
    for place, (points, ink) in enumerate(zip(curves, inks, strict=True)):
        if entries or len(points) == 1:
            _glyphs(field, points, place, len(figure.series), ink)
    return [*head, *field.read_rows()]


def _band(field: Field, series: Series, ink: str) -> None:
    """Draws a band as a zigzag through every column, in a softer colour."""
    for stretch in stretches(series):
        hatched = [
            (x, end)
            for place, (x, low, high) in enumerate(_every_column(stretch, field))
            for end in ((high, low) if place % 2 else (low, high))
        ]
        field.line(hatched, BAND, _softer(ink))


def _softer(ink: str) -> str:
    """Mixes the colour with grey."""
    return "#" + "".join(f"{(int(ink[at : at + 2], 16) + 128) // 2:02x}" for at in (1, 3, 5))


def _every_column(stretch: Sequence[tuple[float, float, float]], field: Field) -> Iterator[tuple[float, float, float]]:
    """Yields the ends of the interval at each column, interpolated between points."""
    yield stretch[0]
    for before, after in pairwise(stretch):
        steps = field.column(after[0]) - field.column(before[0])
        for step in range(1, steps + 1):
            x, low, high = (a + (b - a) * step / steps for a, b in zip(before, after, strict=True))
            yield x, low, high


def _glyphs(field: Field, points: Points, place: int, curves: int, ink: str) -> None:
    """Marks points of the curve at a distance, in other columns for each curve, so that overlapping curves are visible."""
    next_column, marked = BETWEEN_GLYPHS * place // curves, []
    for x, y in points:
        if field.column(x) >= next_column or (x, y) == points[-1]:
            marked.append((x, y))
            next_column = field.column(x) + BETWEEN_GLYPHS
    if marked:
        field.marks(marked, glyph_of(place), ink)


# -- any figure --------------------------------------------------------------------------------------------------------


Colours = Mapping[str, Sequence[int]]
"""by role, and by mark: mark-0, mark-1, …"""

LEAST_HEIGHT = 7
"""height of a figure below which its note is left out"""
CURVES_HEIGHT = 12


def draw(
    figure: Figure, width: int, height: int, colours: Colours, plain: bool = False, *, notes: bool = True
) -> list[list[Run]]:
    """Draws a figure in at most `height` rows of `width` cells."""
    quiet = _hex(colours.get("quiet", GREY))
    if not any(y is not None for series in figure.series for y in series.ys):
        return [[(fitted(f"{one_line(figure.title)}: nothing to show yet", width), quiet)]]
    title: list[Run] = [(fitted(one_line(figure.title), width), _hex(colours.get("primary", GREY)))]
    note: list[list[Run]] = [[(line, quiet)] for line in note_lines(figure, width, height)] if notes else []
    shape = Shape(max(20, width), max(4, height - len(note) - 1), quiet, plain)
    inks = [_ink(figure, series, place, colours) for place, series in enumerate(figure.series)]
    if figure.form == "lines":
        rows = draw_curves(figure, shape, inks)
    else:
        rows = draw_lines(figure, shape, inks, [mark_ink(place, colours) for place in figure.places])
    lines = [title, *(_within(row, width) for row in rows)]
    return lines[:height] if len(lines) + len(note) > height else [*lines, *note]


def _within(row: list[Run], width: int) -> list[Run]:
    """Cuts a row at `width` cells."""
    if sum(cell_len(text) for text, _ in row) <= width:
        return row
    runs: list[Run] = []
    for text, ink in row:
        runs.append((set_cell_size(text, min(width, cell_len(text))), ink))
        width -= cell_len(runs[-1][0])
    return runs


def preferred_height(figure: Figure, width: int) -> int:
    """Returns a readable height of the figure, including its note, for output of unlimited height."""
    note = len(note_lines(figure, width))
    if figure.form == "lines":
        return CURVES_HEIGHT + note
    several = figure.form == "bars" and bool(figure.ylabel or figure.series[1:])
    return max(1 + len(line_places(figure)) + 2 + bool(figure.xlabel) + several, LEAST_HEIGHT - 3) + note


def note_lines(figure: Figure, width: int, height: int = 1000) -> list[str]:
    """Returns the lines of the note on the intervals, or none if the figure needs the room."""
    text = one_line(figure.note)
    lines = [text[start:end] for start, end in wrapped(text, width)] if text else []
    least = LEAST_HEIGHT if figure.form == "lines" else 4
    return lines if height - len(lines) >= least else []


GREY = (128, 128, 128)


def _ink(figure: Figure, series: Series, place: int, colours: Colours) -> str:
    """Returns the colour of the role of a series, or the next unused colour."""
    if len(figure.series) > 1 and not series.colour:
        return mark_ink(place, colours)
    return _hex(colours.get(series.colour or "primary", GREY))


def mark_ink(place: int, colours: Colours) -> str:
    number = place % len(INKS)
    return _hex(colours.get(f"mark-{number}", INKS[number]))


def _hex(colour: Sequence[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)
