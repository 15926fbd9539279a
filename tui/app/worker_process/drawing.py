"""Figures drawn by plotext, as rows of coloured runs. plotext keeps a single figure, so one is drawn at a time."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.tui.app.worker_process.figure import ROLES, Figure, Series
from tidepool.tui.drawing.plain import fitted, one_line

Run = tuple[str, str | None]
"""text and its colour as #rrggbb"""
Colours = Mapping[str, Sequence[int]]

_COLOUR = re.compile(r"\x1b\[([0-9;]*)m")
PLAIN_MARKERS = ("braille", "dot", "x", "+")


def draw(figure: Figure, width: int, height: int, colours: Colours, plain: bool = False) -> list[list[Run]]:
    """At most `height` rows of `width` cells."""
    import plotext

    plotext.clear_figure()
    plotext.plotsize(max(20, width), max(4, height - 1))
    plotext.yfrequency(max(2, min(6, height // 3)))
    plotext.xfrequency(max(2, min(7, width // 12)))
    quiet = _rgb(colours, "quiet")
    for paint in (plotext.canvas_color, plotext.axes_color):
        paint("default")
    plotext.ticks_color(quiet)
    plotext.xaxes(True, False)
    plotext.yaxes(True, False)
    if not any(series.ys for series in figure.series):
        return [[(fitted(f"{one_line(figure.title)}: nothing to show yet", width), _hex(quiet))]]
    FORMS[figure.form](plotext, figure, colours, plain, width)
    if figure.xlabel:
        plotext.xlabel(one_line(figure.xlabel))
    if figure.ylabel:
        plotext.ylabel(one_line(figure.ylabel))
    title: list[Run] = [(fitted(one_line(figure.title), width), _hex(_rgb(colours, "primary")))]
    return [title, *(_runs(row) for row in str(plotext.build()).rstrip("\n").split("\n"))][:height]


def _lines(plotext: Any, figure: Figure, colours: Colours, plain: bool, width: int) -> None:
    for number, series in enumerate(figure.series):
        xs, ys = _known(series)
        if not xs:
            continue
        marker = PLAIN_MARKERS[number % 4] if plain else "braille"
        label = one_line(series.name)[:24] if len(figure.series) > 1 else None
        plotext.plot(xs, ys, label=label, marker=marker, color=_colour(series, number, colours))
    top = max((y for series in figure.series for y in series.ys if y is not None), default=1.0)
    low = min((y for series in figure.series for y in series.ys if y is not None), default=0.0)
    if figure.from_zero and low >= 0:
        plotext.ylim(0, top * 1.05 or 1.0)


def _bars(plotext: Any, figure: Figure, colours: Colours, plain: bool, width: int) -> None:
    room = max(3, (width - 10) // max(1, len(figure.labels)) - 1)
    labels = [fitted(one_line(label), min(16, room)).rstrip() for label in figure.labels]
    values: list[list[float]] = [[y or 0.0 for y in series.ys] for series in figure.series]
    names = [one_line(series.name)[:24] for series in figure.series]
    paints = [_colour(series, number, colours) for number, series in enumerate(figure.series)]
    marker = ["█", "▒", "░"] if plain else None
    if len(values) == 1:
        plotext.bar(labels, values[0], color=paints[0], width=0.6, marker=marker[0] if marker else None)
    else:
        plotext.multiple_bar(labels, values, labels=names, color=paints, width=0.6, marker=marker)


def _points(plotext: Any, figure: Figure, colours: Colours, plain: bool, width: int) -> None:
    for number, series in enumerate(figure.series):
        xs, ys = _known(series)
        marker = "abcdefghijklmnopqrstuvwxyz"[number % 26] if plain or number >= len(ROLES) - 1 else "●"
        plotext.scatter(xs, ys, label=one_line(series.name)[:20], marker=marker, color=_colour(series, number, colours))
    if figure.square:
        low, high = figure.square
        plotext.plot([low, high], [low, high], marker="·", color=_rgb(colours, "quiet"))
        plotext.xlim(low, high)
        plotext.ylim(low, high)


def _histogram(plotext: Any, figure: Figure, colours: Colours, plain: bool, width: int) -> None:
    for number, series in enumerate(figure.series):
        values = [y for y in series.ys if y is not None]
        bins = max(4, min(20, len(set(values))))
        plotext.hist(values, bins, label=one_line(series.name)[:24], color=_colour(series, number, colours))


FORMS = {"lines": _lines, "bars": _bars, "points": _points, "histogram": _histogram}


def _known(series: Series) -> tuple[list[float], list[float]]:
    xs = series.xs or tuple(float(i) for i in range(len(series.ys)))
    pairs = [(x, y) for x, y in zip(xs, series.ys, strict=False) if y is not None]
    return [x for x, _ in pairs], [y for _, y in pairs]


def _colour(series: Series, number: int, colours: Colours) -> tuple[int, ...]:
    return _rgb(colours, series.colour or ROLES[number % (len(ROLES) - 1)])


def _rgb(colours: Colours, role: str) -> tuple[int, ...]:
    return tuple(colours.get(role, (128, 128, 128)))


def _hex(colour: Sequence[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)


def _runs(row: str) -> list[Run]:
    """plotext's escape sequences taken apart: only colours of the foreground are used."""
    runs: list[Run] = []
    colour: str | None = None
    at = 0
    for found in _COLOUR.finditer(row):
        if found.start() > at:
            runs.append((row[at : found.start()], colour))
        parts = found.group(1).split(";")
        colour = _hex([int(part) for part in parts[2:5]]) if parts[:2] == ["38", "2"] else None
        at = found.end()
    if at < len(row):
        runs.append((row[at:], colour))
    return runs
