"""Points in a plane, each with its glyph and its name beside it; all of them in a legend where one would cover another."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from tidepool.engine.results.axes import known_points, plane
from tidepool.engine.results.blocks import Figure, Series
from tidepool.engine.results.marks import glyph_of
from tidepool.tui.drawing.field import Field, Run, Shape, columns_beside, even_rows, legend
from tidepool.tui.drawing.plain import one_line

LONGEST_NAME = 14
Cells = Mapping[int, tuple[int, int]]
"""column and row of each point, by its number"""


def draw_points(figure: Figure, shape: Shape, inks: Sequence[str]) -> list[list[Run]]:
    names = [one_line(one.name)[:LONGEST_NAME] for one in figure.series]
    glyphs = [glyph_of(place if one.place is None else one.place) for place, one in enumerate(figure.series)]
    points = {place: found[0] for place, one in enumerate(figure.series) if (found := known_points(one))}
    head = legend((), shape.width, 1, one_line(figure.ylabel), shape.quiet)
    field = _field(figure, shape, len(head))
    cells = {place: (field.column(x), field.row(y)) for place, (x, y) in points.items()}
    sides = label_sides(cells, [cell_len(name) for name in names], field.columns)
    if not all(sides.values()):
        entries = [(glyphs[place], names[place], inks[place]) for place in points]
        head = legend(entries, shape.width, 4, one_line(figure.ylabel), shape.quiet)
        field, sides = _field(figure, shape, len(head)), {}
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
    return [*head, *field.drawn()]


def _field(figure: Figure, shape: Shape, head: int) -> Field:
    rows = max(2, shape.height - head - 2 - bool(figure.xlabel))
    across, up = plane(figure, min(8, shape.width // 12), min(6, max(2, rows // 2)))
    columns = columns_beside(up, shape.width)
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
