"""Bars with their intervals: upright where their labels have room below them, else each on a line of its own."""

import math
from collections.abc import Sequence

from rich.cells import cell_len

from tidepool.engine.results.axes import Axis, digits_for, upright
from tidepool.engine.results.blocks import Figure, Interval
from tidepool.engine.results.marks import glyph_of
from tidepool.engine.results.wording import more, number
from tidepool.tui.drawing.field import (
    Field,
    Run,
    Shape,
    beneath,
    columns_beside,
    even_rows,
    legend,
    line_field,
    listed,
)
from tidepool.tui.drawing.plain import fitted, one_line

FILLS = ("█", "▒", "░", "▓")
"""what tells series apart where colours cannot"""
RISING = " ▁▂▃▄▅▆▇█"
AXIS_ROOM = 8
"""columns that the upright axis may take"""


def lies(figure: Figure, width: int) -> bool:
    """Whether the labels have no room side by side."""
    slot = (width - AXIS_ROOM) // max(1, len(figure.labels))
    return slot < len(figure.series) + 1 or any(cell_len(label) >= slot for label in labels_of(figure))


def lines_lying(figure: Figure) -> int:
    """With the axis below them, a legend above, and a gap between groups."""
    several = len(figure.series) > 1
    return len(figure.labels) * (len(figure.series) + several) - several + 2 + several


def labels_of(figure: Figure) -> list[str]:
    return named(figure.labels, figure.places)


def named(names: Sequence[str], places: Sequence[int]) -> list[str]:
    """Each behind its glyph, where it has a place among those who take part."""
    plain: list[str] = [one_line(name) for name in names]
    return [f"{glyph_of(place)} {name}" for place, name in zip(places, plain, strict=True)] if places else plain


def draw_bars(figure: Figure, shape: Shape, inks: Sequence[str]) -> list[list[Run]]:
    several = len(figure.series) > 1
    fills = [FILLS[place % len(FILLS)] if shape.plain else "█" for place in range(len(figure.series))]
    named = [(fills[place], one.name, inks[place]) for place, one in enumerate(figure.series)] if several else []
    head = legend(named, shape.width, 2, one_line(figure.ylabel), shape.quiet)
    rows = max(3, shape.height - len(head))
    if lies(figure, shape.width) and lines_lying(figure) - several <= rows:
        return [*head, *_lying(figure, shape, rows, inks, fills)]
    return [*head, *_standing(figure, shape, rows, inks, fills)]


# -- upright -------------------------------------------------------------------------------------------------


def _standing(figure: Figure, shape: Shape, rows: int, inks: Sequence[str], fills: Sequence[str]) -> list[list[Run]]:
    columns = max(4, shape.width - AXIS_ROOM)
    shown = min(len(figure.labels), max(1, columns // (len(figure.series) + 1)))
    staggered = any(cell_len(label) >= columns // shown for label in labels_of(figure)[:shown])
    rows = max(2, rows - 2 - staggered)
    bare = len(figure.series) == 1 and not any(figure.series[0].intervals)
    up = upright(figure, min(6, rows // 2), 1 / rows if bare else 0.0)
    columns = columns_beside(up, shape.width)
    slot = columns / shown
    wide = max(1, int((slot - 1) * 0.8 / len(figure.series)))
    full = max(1, wide - (wide > 2))
    places = [round(slot * (group + 0.5) - 0.5) for group in range(shown)]
    across = Axis(0, columns - 1, tuple(places))
    field = Field(across, up, columns, even_rows(up, rows), shape.quiet, numbers=False)
    for group in range(shown):
        start = round(slot * (group + 0.5) - wide * len(figure.series) / 2)
        for place, one in enumerate(figure.series):
            value, bounds = one.ys[group], one.bounds[group]
            if value is not None:
                x = start + place * wide
                top = _rise(field, (x, x + full - 1), value, fills[place], inks[place])
                if bounds:
                    _whisker(field, x + full // 2, bounds)
                elif bare:
                    field.text(number(value, digits_for(figure)), x + full // 2, top, shape.quiet, "center")
    return [*field.drawn()[:-1], *_below(figure, shape, places, slot, columns, staggered=staggered)]


def _rise(field: Field, span: tuple[int, int], value: float, fill: str, ink: str) -> float:
    """The bar, to an eighth of a row where it is solid; where what is written above it stands."""
    rows, eighths = divmod(round(8 * value / field.a_row), 8) if value > 0 else (math.floor(value / field.a_row), 0)
    end = rows * field.a_row
    if rows:
        field.line([(x, end - math.copysign(field.a_row / 2, value)) for x in span], fill, ink, fill=True)
    part = RISING[eighths] if fill == "█" else fill if eighths >= 4 else " "
    if part != " ":
        field.line([(x, end + field.a_row / 2) for x in span], part, ink)
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
    room = max(1, int(slot * (1 + staggered)) - 1)
    labels = labels_of(figure)
    edges = [2 * min(left + place, shape.width - 1 - left - place) + 1 for place in places]
    told = [fitted(label, min(room, edge, cell_len(label))) for label, edge in zip(labels, edges, strict=False)]
    middles = [left + place for place in places]
    turns = 1 + staggered
    rows = [beneath(middles[turn::turns], told[turn::turns], shape.width, shape.quiet) for turn in range(turns)]
    if len(labels) > len(places):
        return [rows[0], [(more(len(labels) - len(places)), shape.quiet)]]
    return rows


# -- lying ---------------------------------------------------------------------------------------------------


def _lying(figure: Figure, shape: Shape, rows: int, inks: Sequence[str], fills: Sequence[str]) -> list[list[Run]]:
    labels = labels_of(figure)
    names = min(shape.width // 3, max(map(cell_len, labels)))
    told = [[number(y, digits_for(figure)) for y in one.ys] for one in figure.series]
    figures = 1 + max(len(text) for texts in told for text in texts)
    columns = max(8, shape.width - names - figures - 2)
    gap = len(figure.series) > 1 and lines_lying(figure) - 1 <= rows
    apart = len(figure.series) + gap
    lines = len(labels) * apart - gap
    field = line_field(upright(figure, min(8, columns // 10)), columns, lines, shape.quiet)
    before: list[Run] = [(" " * names, None)] * lines
    behind = [""] * lines
    for group, label in enumerate(labels):
        before[group * apart] = (fitted(label, names), None)
        for place, one in enumerate(figure.series):
            line, value, bounds = group * apart + place, one.ys[group], one.bounds[group]
            behind[line] = f"{told[place][group]:>{figures}}"
            if value:
                field.line([(0.0, -line), (value, -line)], fills[place], inks[place])
            if value is not None and bounds:
                ends = [(end, -line) for end in bounds]
                field.line(ends, "─", None)
                one_cell = field.column(bounds[0]) == field.column(bounds[1])
                field.marks(ends, "┼┼" if one_cell else "├┤", None)
    return listed(field, before, behind)
