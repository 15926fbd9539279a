"""Figures in characters, as rows of coloured runs, for the app and for the terminal. plotext keeps a single figure, so
one is drawn at a time."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from tidepool.engine.results.blocks import ROLES, Figure, Interval, Series
from tidepool.engine.results.wording import number, round_top
from tidepool.tui.drawing.plain import fitted, one_line
from tidepool.tui.drawing.wrapping import wrapped

Run = tuple[str, str | None]
"""text and its colour as #rrggbb"""
Colours = Mapping[str, Sequence[int]]

_COLOUR = re.compile(r"\x1b\[([0-9;]*)m")
LINE_MARKERS = ("braille", "dot", "x", "+")
BAR_MARKERS = ("█", "░", "▓", "▒")
"""what tells series apart where colours cannot"""
LONGEST_NAME = 14
"""of a point, and of a mean in a small plot"""


def draw(figure: Figure, width: int, height: int, colours: Colours, plain: bool = False) -> list[list[Run]]:
    """At most `height` rows of `width` cells."""
    quiet = _rgb(colours, "quiet")
    if not any(y is not None for series in figure.series for y in series.ys):
        return [[(fitted(f"{one_line(figure.title)}: nothing to show yet", width), _hex(quiet))]]
    title: list[Run] = [(fitted(one_line(figure.title), width), _hex(_rgb(colours, "primary")))]
    note: list[list[Run]] = [[(line, _hex(quiet))] for line in note_lines(figure, width, height)]
    height -= len(note)
    if figure.form == "means":
        return [*[title, *_means(figure, width, height - 1, colours)][:height], *note]
    import plotext

    plotext.clear_figure()
    plotext.plotsize(max(20, width), max(4, height - 1))
    plotext.yfrequency(max(2, min(6, height // 3)))
    plotext.xfrequency(max(2, min(7, width // 12)))
    for paint in (plotext.canvas_color, plotext.axes_color):
        paint("default")
    plotext.ticks_color(quiet)
    plotext.xaxes(True, False)
    plotext.yaxes(True, False)
    FORMS[figure.form](plotext, figure, colours, plain, (width, height))
    if figure.xlabel:
        plotext.xlabel(one_line(figure.xlabel))
    if figure.ylabel:
        plotext.ylabel(one_line(figure.ylabel))
    drawn = [_runs(row) for row in str(plotext.build()).rstrip("\n").split("\n")]
    return [*[title, *drawn][:height], *note]


def note_lines(figure: Figure, width: int, height: int = 1000) -> list[str]:
    """What the intervals are, below the figure; where there is little room the figure itself needs it."""
    text = one_line(figure.note)
    lines = [text[start:end] for start, end in wrapped(text, width)] if text else []
    return lines if height - len(lines) >= LEAST_HEIGHT else []


LEAST_HEIGHT = 7
"""rows of a figure beneath which its note is left out"""
Shape = tuple[int, int]


def _lines(plotext: Any, figure: Figure, colours: Colours, plain: bool, shape: Shape) -> None:
    for place, series in enumerate(figure.series):
        _band(plotext, series, _colour(series, place, colours))
    for place, series in enumerate(figure.series):
        xs, ys = _known(series)
        if not xs:
            continue
        marker = LINE_MARKERS[place % 4] if plain else "braille"
        label = one_line(series.name)[:24] if len(figure.series) > 1 else None
        plotext.plot(xs, ys, label=label, marker=marker, color=_colour(series, place, colours))
    across = [x for series in figure.series for x in _known(series)[0]]
    counted = all(x == int(x) for x in across)  # generations, updates: nothing is between two of them
    _round(plotext.xticks, min(across), max(across), shape[0] // 12, least=1.0 if counted else 0.0)
    known = [y for series in figure.series for y in series.ys if y is not None]
    known += [bound for series in figure.series for bounds in filter(None, series.intervals) for bound in bounds]
    low, high = min(known), max(known)
    if low >= 0:
        low, high = 0.0, high * 1.05 or 1.0
        plotext.ylim(low, high)
    _round(plotext.yticks, low, high, shape[1] // 3)


def _band(plotext: Any, series: Series, colour: tuple[int, ...]) -> None:
    """Its two edges, dotted."""
    held = [(x, bounds) for x, bounds in zip(series.xs, series.bounds, strict=False) if bounds is not None]
    for edge in (0, 1) if held else ():
        plotext.plot([x for x, _ in held], [bounds[edge] for _, bounds in held], marker="·", color=colour)


Put = Callable[[Sequence[float], Sequence[str]], object]


def _round(put: Put, low: float, high: float, most: int, least: float = 0.0) -> None:
    """Ticks at round numbers, with labels that say no more digits than they need."""
    ticks = round_ticks(low, high, max(2, min(8, most)), least)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    put(ticks, [f"{tick:,.{digits}f}" for tick in ticks])


def round_ticks(low: float, high: float, most: int, least: float = 0.0) -> list[float]:
    """At most so many numbers within the ends, one, two or five times a power of ten apart, and `least` at least."""
    if high <= low:
        return [low]
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = (max(least, size * times) for times in (1, 2, 5, 10, 20))
    step = next(wide for wide in steps if (high - low) / wide <= most - 1 + 1e-9)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def _bars(plotext: Any, figure: Figure, colours: Colours, plain: bool, shape: Shape) -> None:
    room = max(3, (shape[0] - 10) // max(1, len(figure.labels)) - 1)
    labels = [fitted(one_line(label), min(16, room)).rstrip() for label in figure.labels]
    values: list[list[float]] = [[y or 0.0 for y in series.ys] for series in figure.series]
    names = [one_line(series.name)[:24] for series in figure.series]
    paints = [_colour(series, place, colours) for place, series in enumerate(figure.series)]
    marker = list(islice(cycle(BAR_MARKERS), len(values))) if plain else None
    if len(values) == 1:
        plotext.bar(labels, values[0], color=paints[0], width=0.6, marker=marker[0] if marker else None)
    else:
        plotext.multiple_bar(labels, values, labels=names, color=paints, width=0.6, marker=marker)
    _upright_axis(plotext, figure, shape[1])
    for place, series in enumerate(figure.series):
        shift = (place + 0.5) / len(figure.series) - 0.5
        for group, (y, bounds) in enumerate(zip(series.ys, series.bounds, strict=True), 1):
            if y is not None and bounds is not None:
                _error_bar(plotext, group + shift, bounds)


def _upright_axis(plotext: Any, figure: Figure, rows: int) -> None:
    """Round numbers, and room above the bars and their intervals for a legend: it would cover the first of them."""
    ends = [end for one in figure.series for bounds in filter(None, one.intervals) for end in bounds]
    values = [value for one in figure.series for value in one.ys if value is not None] + ends
    if min(values) < 0 or (highest := max(values)) == 0:
        return
    legend = len(figure.series) + 0.5 if len(figure.series) > 1 and rows > 3 * len(figure.series) else 0.0
    end = highest * (1 + legend / max(1.0, rows - legend - 3))
    parts, top = (4 if rows > 10 else 2), round_top([highest])
    ticks = [tick for place in range(parts + 1) if (tick := top * place / parts) <= end]
    plotext.ylim(0, end)
    plotext.yticks(ticks, [f"{tick:g}" for tick in ticks])


def _error_bar(plotext: Any, x: float, bounds: Interval) -> None:
    """On top of its bar, so that it also reads without colours."""
    plotext.plot([x, x], list(bounds), marker="│", color="default")
    for end, marker in zip(bounds, "┴┬", strict=True):
        plotext.scatter([x], [end], marker=marker, color="default")


def _points(plotext: Any, figure: Figure, colours: Colours, plain: bool, shape: Shape) -> None:
    """Each point with its name beside it; all of them in a legend where one would cover another."""
    across = figure.square or _limits([end for one in figure.series for end in _ends(one.xs, one.across)])
    up = figure.square or _limits([end for one in figure.series for end in _ends(_known(one)[1], one.intervals)])
    cells = _cells(figure.series, (across, up), shape)
    sides = label_sides(cells, shape[0])
    beside = len(cells) == len(figure.series) and all(sides.values())
    if figure.square:
        plotext.plot(list(across), list(up), marker="·", color=_rgb(colours, "quiet"))
    for place, series in enumerate(figure.series):
        _cross(plotext, series, _colour(series, place, colours))
    for place, series in enumerate(figure.series):
        xs, ys = _known(series)
        paint, name = _colour(series, place, colours), one_line(series.name)[:LONGEST_NAME]
        letter = not beside and (plain or place >= len(ROLES) - 1)
        marker = "abcdefghijklmnopqrstuvwxyz"[place % 26] if letter else "●"
        plotext.scatter(xs, ys, label=None if beside else name, marker=marker, color=paint)
        if beside:
            shift = 2.0 * sides[name] * (across[1] - across[0]) / shape[0]
            alignment = "left" if sides[name] > 0 else "right"
            plotext.text(name, x=xs[0] + shift, y=ys[0], alignment=alignment, color=paint)
    plotext.xlim(*across)
    plotext.ylim(*up)
    _round(plotext.xticks, *across, shape[0] // 12)
    _round(plotext.yticks, *up, shape[1] // 3)


def _ends(values: Sequence[float], bounds: Sequence[Interval | None]) -> list[float]:
    return [*values, *(end for pair in bounds if pair for end in pair)]


def _cross(plotext: Any, point: Series, colour: tuple[int, ...]) -> None:
    """The intervals of a point, across and upright."""
    for x, y in zip(*_known(point), strict=True):
        for bounds in filter(None, point.across):
            plotext.plot(list(bounds), [y, y], marker="─", color=colour)
        for bounds in filter(None, point.intervals):
            plotext.plot([x, x], list(bounds), marker="│", color=colour)


def _cells(points: Sequence[Series], limits: tuple[Interval, Interval], shape: Shape) -> dict[str, tuple[int, float]]:
    (left, right), (low, high) = limits
    return {
        one_line(series.name)[:LONGEST_NAME]: (
            round((xs[0] - left) / (right - left) * shape[0]),
            (ys[0] - low) / (high - low) * shape[1],
        )
        for series in points
        for xs, ys in [_known(series)]
        if xs
    }


def label_sides(cells: Mapping[str, tuple[int, float]], width: int) -> dict[str, int]:
    """Where the name of each point (column, row) goes: 1 right of it, -1 left, 0 nowhere, as it would cover another."""
    taken = [(column, column, row) for column, row in cells.values()]
    sides = dict.fromkeys(cells, 0)
    for name, (column, row) in cells.items():
        for side in (1, -1) if column <= width / 2 else (-1, 1):
            first, last = sorted((column + 2 * side, column + (2 + len(name)) * side))
            free = all(abs(row - other) >= 1.5 or last < left or right < first for left, right, other in taken)
            if free and first >= 0 and last <= width:
                sides[name] = side
                taken.append((first, last, row))
                break
    return sides


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 1, high + 1)


def _means(figure: Figure, width: int, height: int, colours: Colours) -> list[list[Run]]:
    """A line for each mean: its name, a dot on its interval, its value."""
    (series,) = figure.series
    rows = [
        (one_line(label), mean, bounds)
        for label, mean, bounds in zip(figure.labels, series.ys, series.intervals, strict=True)
        if mean is not None
    ][: max(1, height - 1)]
    low, high = _limits([bound for _, mean, bounds in rows for bound in (mean, *(bounds or ()))])
    names = min(max(LONGEST_NAME, width // 3), max(len(name) for name, _, _ in rows))
    room = max(10, width - names - 10)

    def at(value: float) -> int:
        return round((value - low) / (high - low) * (room - 1))

    drawn: list[list[Run]] = []
    paint, quiet = _hex(_colour(series, 0, colours)), _hex(_rgb(colours, "quiet"))
    for name, mean, bounds in rows:
        first, last = (at(bound) for bound in bounds or (mean, mean))
        cells = [" "] * first + ["─"] * (last - first + 1) + [" "] * (room - 1 - last)
        if low < 0 < high and cells[at(0.0)] == " ":
            cells[at(0.0)] = "┊"
        cells[at(mean)] = "●"
        drawn.append([(fitted(name, names) + " ", None), ("".join(cells), paint), (f"{number(mean, 2):>8}", None)])
    ends = number(low, 2), number(high, 2)
    drawn.append([(" " * (names + 1) + ends[0] + ends[1].rjust(room - len(ends[0])), quiet)])
    return drawn


FORMS = {"lines": _lines, "bars": _bars, "points": _points}


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
