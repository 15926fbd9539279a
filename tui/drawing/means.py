"""A line for each mean: its name, a mark on its interval, its value; where there is something to hold them against, a line
through all of them."""

from collections.abc import Sequence

from rich.cells import cell_len

from tidepool.engine.results.axes import digits_for, of_means
from tidepool.engine.results.blocks import Figure
from tidepool.engine.results.marks import glyph_of
from tidepool.engine.results.wording import more, number
from tidepool.tui.drawing.bars import labels_of
from tidepool.tui.drawing.canvas import Canvas, Run, Shape, axis_name, tick_columns, tick_labels
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

    def at(value: float) -> int:
        return round(axis.share(value) * (columns - 1))

    drawn: list[list[Run]] = []
    for (label, mean, bounds, place), value in zip(rows, told, strict=True):
        ink = marks[place] if figure.places else inks[0]
        field = Canvas(columns, 1)
        if figure.reference is not None:
            field.put(at(figure.reference), 0, "┊", shape.quiet)
        if bounds:
            field.put(at(bounds[0]), 0, "─" * (at(bounds[1]) - at(bounds[0]) + 1), ink)
            if figure.reference is not None and at(bounds[0]) <= at(figure.reference) <= at(bounds[1]):
                field.put(at(figure.reference), 0, "┼", ink)
        field.put(at(mean), 0, glyph_of(figure.places[place]) if figure.places else "●", ink)
        name: Run = (fitted(label, names), ink if figure.places else None)
        drawn.append([name, (" │", shape.quiet), *field.rows()[0], (f"{value:>{figures}}", None)])
    if len(rows) < len(known):
        drawn.append([(more(len(known) - len(rows)), shape.quiet)])
    ticks = tick_columns(axis, columns)
    line = "".join("┬" if column in ticks else "─" for column in range(columns))
    drawn.append([(" " * names + " └" + line, shape.quiet)])
    drawn.append(tick_labels(ticks, axis.labels, names + 2, shape.width, shape.quiet))
    return [*drawn, *axis_name(figure.xlabel, names + 2, shape)]
