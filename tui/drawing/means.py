"""A line for each mean: its name, a mark on its interval, its value; where there is something to hold them against, a line
through all of them."""

from collections.abc import Sequence

from rich.cells import cell_len

from tidepool.engine.results.axes import digits_for, of_means
from tidepool.engine.results.blocks import Figure
from tidepool.engine.results.marks import glyph_of
from tidepool.engine.results.wording import more, number
from tidepool.tui.drawing.bars import labels_of
from tidepool.tui.drawing.field import Run, Shape, line_field, listed
from tidepool.tui.drawing.plain import fitted


def draw_means(figure: Figure, shape: Shape, inks: Sequence[str], marks: Sequence[str]) -> list[list[Run]]:
    """`marks` are the colours of the labels, where they have places."""
    (series,) = figure.series
    known = [
        (label, mean, bounds, place)
        for place, (label, mean, bounds) in enumerate(zip(labels_of(figure), series.ys, series.bounds, strict=True))
        if mean is not None
    ]
    room = max(1, shape.height - 2 - bool(figure.xlabel))
    rows = known if len(known) <= room else known[: max(1, room - 1)]
    signed = figure.reference is not None
    told = [number(mean, max(1, digits_for(figure)), signed=signed) for _, mean, _, _ in rows]
    figures = max(map(len, told)) + 1
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
    drawn = listed(field, before, [f"{value:>{figures}}" for value in told])
    if len(rows) < len(known):
        drawn.insert(len(rows), [(more(len(known) - len(rows)), shape.quiet)])
    return drawn
