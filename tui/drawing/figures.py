"""Figures in characters, as rows of coloured runs, for the app and for the terminal."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size

from tidepool.engine.results.blocks import Figure, Series
from tidepool.engine.results.marks import INKS
from tidepool.tui.drawing.bars import draw_bars, lies, lines_lying
from tidepool.tui.drawing.curves import draw_curves
from tidepool.tui.drawing.field import Run, Shape
from tidepool.tui.drawing.means import draw_means
from tidepool.tui.drawing.plain import fitted, one_line
from tidepool.tui.drawing.points import draw_points
from tidepool.tui.drawing.wrapping import wrapped

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
    drawn = [title, *(_within(row, width) for row in _field(figure, shape, colours))]
    return drawn[:height] if len(drawn) + len(note) > height else [*drawn, *note]


def _within(row: list[Run], width: int) -> list[Run]:
    """Where there is hardly any room, what is too wide ends at the edge."""
    if sum(cell_len(text) for text, _ in row) <= width:
        return row
    kept: list[Run] = []
    for text, ink in row:
        kept.append((set_cell_size(text, min(width, cell_len(text))), ink))
        width -= cell_len(kept[-1][0])
    return kept


def _field(figure: Figure, shape: Shape, colours: Colours) -> list[list[Run]]:
    inks = [_ink(figure, series, place, colours) for place, series in enumerate(figure.series)]
    if figure.form == "means":
        return draw_means(figure, shape, inks, [mark_ink(place, colours) for place in figure.places])
    return {"lines": draw_curves, "bars": draw_bars, "points": draw_points}[figure.form](figure, shape, inks)


def wanted_height(figure: Figure, width: int) -> int:
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
