"""Curves in braille, each with a glyph along its way and its band behind it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tidepool.engine.results.axes import Axis, along, known_points, stretches, thinned, upright
from tidepool.engine.results.blocks import Figure, Series
from tidepool.engine.results.marks import glyph_of
from tidepool.tui.drawing.canvas import (
    ACROSS,
    UP,
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

BETWEEN_GLYPHS = 12
"""columns along a curve"""


def draw_curves(figure: Figure, shape: Shape, inks: Sequence[str]) -> list[list[Run]]:
    several = [one.name for one in figure.series if one.name][1:]
    entries = [(glyph_of(place), one.name, inks[place]) for place, one in enumerate(figure.series)] if several else []
    head = legend(entries, shape.width, 2, one_line(figure.ylabel), shape.quiet)
    rows = max(2, shape.height - len(head) - 2 - bool(figure.xlabel))
    up = upright(figure, min(6, rows // 2))
    rows = even_rows(up, rows)
    left = 1 + max(map(len, up.labels))
    columns = max(4, shape.width - left)
    across = along(figure, min(8, columns // 10))
    field = Canvas(columns, rows)
    places = _Places(across, up, columns * ACROSS, rows * UP)
    for series, ink in zip(figure.series, inks, strict=True):
        _band(field, series, places, ink)
    dots = [[places.of(x, y) for x, y in thinned(known_points(one), columns * ACROSS * 2)] for one in figure.series]
    for held, ink in zip(dots, inks, strict=True):
        _curve(field, held, ink)
    for place, (held, ink) in enumerate(zip(dots, inks, strict=True)):
        if entries or len(held) == 1:
            _glyphs(field, held, place, len(figure.series), ink)
    ticks = tick_columns(across, columns)
    return [
        *head,
        *(side + row for side, row in zip(axis_column(up, rows, shape.quiet), field.rows(), strict=True)),
        base_line(up, up.labels[0], columns, ticks, shape.quiet),
        tick_labels(ticks, across.labels, left, shape.width, shape.quiet),
        *axis_name(figure.xlabel, left, shape),
    ]


class _Places:
    """From values to dots."""

    def __init__(self, across: Axis, up: Axis, columns: int, rows: int) -> None:
        self._across, self._up = across, up
        self.columns, self.rows = columns, rows

    def of(self, x: float, y: float) -> tuple[int, int]:
        return round(self._across.share(x) * (self.columns - 1)), min(self.rows - 1, int(self._up.share(y) * self.rows))


def _curve(field: Canvas, dots: Iterable[tuple[int, int]], ink: str) -> None:
    """Of many points in one column of dots only the lowest and the highest are seen."""
    columns: dict[int, list[int]] = {}
    for x, y in dots:
        held = columns.setdefault(x, [y, y, y, y])  # first, lowest, highest, last
        held[1], held[2], held[3] = min(held[1], y), max(held[2], y), y
    for x, (_, low, high, _) in columns.items():
        for y in range(low, high + 1):
            field.dot(x, y, ink)
    for (x0, before), (x1, after) in pairwise(sorted(columns.items())):
        _line(field, x0, before[3], x1, after[0], ink)


def _line(field: Canvas, x0: int, y0: int, x1: int, y1: int, ink: str) -> None:
    steps = max(x1 - x0, abs(y1 - y0), 1)
    for step in range(steps + 1):
        field.dot(round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps), ink)


def _band(field: Canvas, series: Series, places: _Places, ink: str) -> None:
    """One dot of four, in a softer colour, so that the curve stands out of it."""
    soft = _softer(ink)
    for stretch in stretches(series):
        edges = [(*places.of(x, low), places.of(x, high)[1]) for x, low, high in stretch]
        for x, low, high in _filled(edges):
            for y in range(low, high + 1):
                if x % ACROSS == 0 and (y + x // ACROSS) % 2 == 0:
                    field.dot(x, y, soft)


def _softer(ink: str) -> str:
    """Half way to grey."""
    return "#" + "".join(f"{(int(ink[at : at + 2], 16) + 128) // 2:02x}" for at in (1, 3, 5))


def _filled(edges: Sequence[tuple[int, int, int]]) -> Iterable[tuple[int, int, int]]:
    """Low and high in every column of dots between the first and the last."""
    if len(edges) == 1:
        yield (edges[0][0] & ~1, *edges[0][1:])
    for (x0, low0, high0), (x1, low1, high1) in pairwise(edges):
        for x in range(x0, x1 + 1):
            share = (x - x0) / max(1, x1 - x0)
            yield x, round(low0 + (low1 - low0) * share), round(high0 + (high1 - high0) * share)


def _glyphs(field: Canvas, dots: Sequence[tuple[int, int]], place: int, curves: int, ink: str) -> None:
    """At points of the curve, some way apart, and elsewhere for each curve: two that run together are still two."""
    wanted = BETWEEN_GLYPHS * place // curves
    for x, y in dots:
        column, row = x // ACROSS, field.height - 1 - y // UP
        if column >= wanted or (x, y) == dots[-1]:
            field.put(column, row, glyph_of(place), ink)
            wanted = column + BETWEEN_GLYPHS
