"""Bars with their intervals: upright where their labels have room below them, else each on a line of its own."""

from collections.abc import Sequence

from rich.cells import cell_len

from tidepool.engine.results.axes import Axis, digits_for, upright
from tidepool.engine.results.blocks import Figure, Interval
from tidepool.engine.results.marks import glyph_of
from tidepool.engine.results.wording import more, number
from tidepool.tui.drawing.canvas import (
    Canvas,
    Run,
    Shape,
    axis_column,
    base_line,
    even_rows,
    legend,
    tick_columns,
    tick_labels,
)
from tidepool.tui.drawing.plain import fitted, one_line

FILLS = ("█", "▒", "░", "▓")
"""what tells series apart where colours cannot"""
RISING = " ▁▂▃▄▅▆▇█"
GROWING = " ▏▎▍▌▋▊▉█"
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
    rows = even_rows(up, rows)
    left = 1 + max(map(len, up.labels))
    columns = shape.width - left
    slot = columns / shown
    wide = max(1, int((slot - 1) * 0.8 / len(figure.series)))
    field = Canvas(columns, rows)
    for group in range(shown):
        start = round(slot * (group + 0.5) - wide * len(figure.series) / 2)
        for place, one in enumerate(figure.series):
            value, bounds = one.ys[group], one.bounds[group]
            if value is not None:
                x = start + place * wide
                full = max(1, wide - (wide > 2))
                top = _rise(field, x, full, up, value, fills[place], inks[place])
                if bounds:
                    _whisker(field, x + full // 2, up, bounds)
                elif bare and top > 0:
                    told = number(value, digits_for(figure))
                    field.put(x + (full - len(told)) // 2, top - 1, told, shape.quiet)
    places = [round(slot * (group + 0.5) - 0.5) for group in range(shown)]
    return [
        *(side + row for side, row in zip(axis_column(up, rows, shape.quiet), field.rows(), strict=True)),
        base_line(up, up.labels[0], columns, places, shape.quiet),
        *_below(figure, shape, places, left, slot, staggered=staggered),
    ]


def _rise(field: Canvas, x: int, wide: int, up: Axis, value: float, fill: str, ink: str) -> int:
    """The bar, to an eighth of a row where it is solid; the row of its top."""
    zero, end = (up.share(at) * field.height for at in (0.0, value))
    low, high = sorted((zero, end))
    for row in range(int(low), min(field.height, int(high) + 1)):
        part = min(1.0, high - row)
        char = fill if part >= 0.99 else RISING[round(8 * part)] if fill == "█" else fill if part >= 0.5 else " "
        if char != " ":
            field.put(x, field.height - 1 - row, char * wide, ink)
    return field.height - min(field.height, round(high + 0.49))


def _whisker(field: Canvas, x: int, up: Axis, bounds: Interval) -> None:
    """On top of its bar, so that it also reads without colours."""
    low, high = (field.height - 1 - min(field.height - 1, int(up.share(end) * field.height)) for end in bounds)
    for y in range(high, low + 1):
        field.put(x, y, "│" if high < y < low else "┼" if high == low else "┬" if y == high else "┴")


def _below(
    figure: Figure, shape: Shape, places: Sequence[int], left: int, slot: float, *, staggered: bool
) -> list[list[Run]]:
    """Every label; in two rows by turns where they are long."""
    room = max(1, int(slot * (1 + staggered)) - 1)
    labels = labels_of(figure)
    edges = [2 * min(left + place, shape.width - 1 - left - place) + 1 for place in places]
    told = [fitted(label, min(room, edge, cell_len(label))) for label, edge in zip(labels, edges, strict=False)]
    rows = [
        tick_labels(places[i :: 1 + staggered], told[i :: 1 + staggered], left, shape.width, shape.quiet)
        for i in (0, 1)
    ]
    if len(labels) > len(places):
        rows[1] = [(more(len(labels) - len(places)), shape.quiet)]
        return rows
    return rows[: 1 + staggered]


# -- lying ---------------------------------------------------------------------------------------------------


def _lying(figure: Figure, shape: Shape, rows: int, inks: Sequence[str], fills: Sequence[str]) -> list[list[Run]]:
    labels = labels_of(figure)
    names = min(shape.width // 3, max(map(cell_len, labels)))
    told = [[number(y, digits_for(figure)) for y in one.ys] for one in figure.series]
    figures = max(len(text) for texts in told for text in texts)
    columns = max(8, shape.width - names - figures - 3)
    up = upright(figure, min(8, columns // 10))
    gap = len(figure.series) > 1 and lines_lying(figure) - 1 <= rows
    drawn: list[list[Run]] = []
    for group, label in enumerate(labels):
        if gap and group:
            drawn.append([(" " * names + " │", shape.quiet)])
        for place, one in enumerate(figure.series):
            field = Canvas(columns, 1)
            value, bounds = one.ys[group], one.bounds[group]
            if value is not None:
                _grow(field, up, value, fills[place], inks[place])
            if value is not None and bounds:
                _lying_whisker(field, up, bounds)
            drawn.append(
                [
                    (fitted("" if place else label, names), None),
                    (" │", shape.quiet),
                    *field.rows()[0],
                    (f" {told[place][group]:>{figures}}", None),
                ]
            )
    ticks = tick_columns(up, columns)
    line = "".join("┬" if column in ticks else "─" for column in range(columns))
    drawn.append([(" " * names + " └" + line, shape.quiet)])
    drawn.append(tick_labels(ticks, up.labels, names + 2, shape.width, shape.quiet))
    return drawn


def _grow(field: Canvas, across: Axis, value: float, fill: str, ink: str) -> None:
    zero, end = (across.share(at) * field.width for at in (0.0, value))
    low, high = sorted((zero, end))
    for column in range(int(low), min(field.width, int(high) + 1)):
        part = min(1.0, high - column)
        char = fill if part >= 0.99 else GROWING[round(8 * part)] if fill == "█" else fill if part >= 0.5 else " "
        field.put(column, 0, char, ink)


def _lying_whisker(field: Canvas, across: Axis, bounds: Interval) -> None:
    low, high = (min(field.width - 1, int(across.share(end) * field.width)) for end in bounds)
    field.put(low, 0, "┼" if low == high else "├" + "─" * (high - low - 1) + "┤")
