"""Curves in braille, each with a glyph along its way and its band behind it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tidepool.engine.results.axes import along, known_points, stretches, thinned, upright
from tidepool.engine.results.blocks import Figure, Series
from tidepool.engine.results.marks import glyph_of
from tidepool.tui.drawing.field import DOTS, Field, Points, Run, Shape, columns_beside, even_rows, legend
from tidepool.tui.drawing.plain import one_line

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
    columns = columns_beside(up, shape.width)
    across = along(figure, min(8, columns // 10))
    field = Field(across, up, columns, even_rows(up, rows), shape.quiet, name=figure.xlabel)
    for series, ink in zip(figure.series, inks, strict=True):
        _band(field, series, ink)
    curves = [_seen(field, known_points(one)) for one in figure.series]
    for points, ink in zip(curves, inks, strict=True):
        if points:
            field.line(points, "braille", ink)
    for place, (points, ink) in enumerate(zip(curves, inks, strict=True)):
        if entries or len(points) == 1:
            _glyphs(field, points, place, len(figure.series), ink)
    return [*head, *field.drawn()]


def _seen(field: Field, points: Points) -> Points:
    points = thinned(points, field.columns)
    dots = DOTS * sum(abs(after - before) for (_, before), (_, after) in pairwise(points)) / field.a_row
    return points if dots <= MOST_DOTS else thinned(points, int(field.columns * MOST_DOTS / dots))


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
    wanted, shown = BETWEEN_GLYPHS * place // curves, []
    for x, y in points:
        if field.column(x) >= wanted or (x, y) == points[-1]:
            shown.append((x, y))
            wanted = field.column(x) + BETWEEN_GLYPHS
    if shown:
        field.marks(shown, glyph_of(place), ink)
