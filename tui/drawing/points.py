"""Points in a plane, each with its glyph and its name beside it; all of them in a legend where one would cover another."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from tidepool.engine.results.axes import known_points, plane
from tidepool.engine.results.blocks import Figure, Series
from tidepool.engine.results.marks import glyph_of
from tidepool.tui.drawing.canvas import (
    Canvas,
    Run,
    Shape,
    axis_column,
    axis_name,
    base_line,
    even_rows,
    legend,
    tick_columns,
    tick_labels,
)
from tidepool.tui.drawing.plain import one_line

LONGEST_NAME = 14
Cells = Mapping[int, tuple[int, int]]
"""column and row of each point, by its number"""


def draw_points(figure: Figure, shape: Shape, inks: Sequence[str]) -> list[list[Run]]:
    names = [one_line(one.name)[:LONGEST_NAME] for one in figure.series]
    glyphs = [glyph_of(place if one.place is None else one.place) for place, one in enumerate(figure.series)]
    head = legend((), shape.width, 1, one_line(figure.ylabel), shape.quiet)
    layout = _Layout(figure, shape, len(head))
    sides = label_sides(layout.cells, [cell_len(name) for name in names], layout.columns)
    if not all(sides.get(place) for place in layout.cells):
        entries = [(glyphs[place], names[place], inks[place]) for place in layout.cells]
        head = legend(entries, shape.width, 4, one_line(figure.ylabel), shape.quiet)
        layout, sides = _Layout(figure, shape, len(head)), {}
    field = Canvas(layout.columns, layout.rows)
    if figure.square:
        _diagonal(field, shape.quiet)
    for place, (column, row) in layout.cells.items():
        _cross(field, figure.series[place], layout, (column, row), inks[place])
    for place, (column, row) in layout.cells.items():
        field.put(column, row, glyphs[place], inks[place])
        if side := sides.get(place, 0):
            name = names[place]
            field.put(column + 2 if side > 0 else column - 1 - cell_len(name), row, name, inks[place])
    ticks = tick_columns(layout.across, layout.columns)
    return [
        *head,
        *(a + b for a, b in zip(axis_column(layout.up, layout.rows, shape.quiet), field.rows(), strict=True)),
        base_line(layout.up, layout.up.labels[0], layout.columns, ticks, shape.quiet),
        tick_labels(ticks, layout.across.labels, layout.left, shape.width, shape.quiet),
        *axis_name(figure.xlabel, layout.left, shape),
    ]


class _Layout:
    def __init__(self, figure: Figure, shape: Shape, head: int) -> None:
        self.rows = max(2, shape.height - head - 2 - bool(figure.xlabel))
        self.across, self.up = plane(figure, min(8, shape.width // 12), min(6, max(2, self.rows // 2)))
        self.rows = even_rows(self.up, self.rows)
        self.left = 1 + max(map(len, self.up.labels))
        self.columns = max(4, shape.width - self.left)
        self.cells = {
            place: (self.column(x), self.row(y))
            for place, one in enumerate(figure.series)
            for x, y in known_points(one)[:1]
        }

    def column(self, value: float) -> int:
        return round(self.across.share(value) * (self.columns - 1))

    def row(self, value: float) -> int:
        return self.rows - 1 - min(self.rows - 1, int(self.up.share(value) * self.rows))


def _diagonal(field: Canvas, ink: str) -> None:
    """Where both are equal."""
    for column in range(field.width):
        field.put(column, field.height - 1 - int(column * field.height / field.width), "·", ink)


def _cross(field: Canvas, point: Series, layout: _Layout, at: tuple[int, int], ink: str) -> None:
    """The intervals of a point, across and upright."""
    column, row = at
    for bounds in filter(None, point.across[:1]):
        first, last = layout.column(bounds[0]), layout.column(bounds[1])
        field.put(first, row, "─" * (last - first + 1), ink)
    for bounds in filter(None, point.intervals[:1]):
        for y in range(layout.row(bounds[1]), layout.row(bounds[0]) + 1):
            field.put(column, y, "│", ink)


def label_sides(cells: Cells, lengths: Sequence[int], width: int) -> dict[int, int]:
    """Where the name of each point goes: 1 right of it, -1 left, 0 nowhere, as it would cover another."""
    taken = [(column, column, row) for column, row in cells.values()]
    sides = dict.fromkeys(cells, 0)
    for place, (column, row) in cells.items():
        for side in (1, -1) if column <= width / 2 else (-1, 1):
            first, last = sorted((column + 2 * side, column + (1 + lengths[place]) * side))
            free = all(row != other or last < left - 1 or right + 1 < first for left, right, other in taken)
            if free and first >= 0 and last < width:
                sides[place] = side
                taken.append((first, last, row))
                break
    return sides
