"""Terminal plots by plotext, as strings. Figures are built one at a time: plotext keeps a single one."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import cycle, islice

_ANSI = re.compile(r"\x1b\[[0-9;]*m")

Series = Mapping[str, Sequence[float]]

BAR_MARKERS = ("█", "░", "▓", "▒")
LINE_MARKERS = ("braille", "dot", "x", "+")
"""what tells series apart where colours cannot"""


def _clean(text: str, width: int = 20) -> str:
    """Foreign text as a label: printable and short."""
    kept = "".join(character if character.isprintable() else " " for character in text)
    return kept if len(kept) <= width else kept[: width - 1] + "…"


def _built(width: int, height: int, colour: bool | None) -> str:
    import plotext as plt

    plt.plotsize(width, height)
    plt.theme("clear")
    text = str(plt.build())
    return text if _coloured(colour) else _ANSI.sub("", text)


def _coloured(colour: bool | None) -> bool:
    """Unless told: colours go to a terminal, not into a file or a pipe."""
    return ("NO_COLOR" not in os.environ and sys.stdout.isatty()) if colour is None else colour


def _markers(markers: Sequence[str], series: Series, colour: bool | None) -> list[str]:
    """Series in colour share the first marker."""
    return list(islice(cycle(markers[:1] if _coloured(colour) else markers), len(series)))


def bars(
    title: str, labels: Sequence[str], series: Series, width: int = 76, height: int = 14, colour: bool | None = None
) -> str:
    """Grouped vertical bars: one group for each label."""
    import plotext as plt

    plt.clear_figure()
    names = [_clean(name) for name in labels]
    heights = [list(values) for values in series.values()]
    markers = _markers(BAR_MARKERS, series, colour)
    plt.multiple_bar(names, heights, labels=list(series), width=0.6, marker=markers)
    plt.title(title)
    return _built(width, height, colour)


def lines(
    title: str,
    xs: Sequence[float],
    series: Series,
    width: int = 76,
    height: int = 16,
    xlabel: str = "",
    ylabel: str = "",
    colour: bool | None = None,
) -> str:
    import plotext as plt

    plt.clear_figure()
    for (name, values), marker in zip(series.items(), _markers(LINE_MARKERS, series, colour), strict=True):
        plt.plot(list(xs)[: len(values)], list(values), label=_clean(name), marker=marker)
    if ticks := whole_ticks(xs):
        plt.xticks(ticks)
    plt.title(title)
    plt.xlabel(xlabel)
    plt.ylabel(ylabel)
    return _built(width, height, colour)


def whole_ticks(xs: Sequence[float], most: int = 8) -> list[int]:
    """Generations and updates are counted: their axis has whole numbers, evenly spaced. Empty for other values."""
    if not xs or any(value != int(value) for value in xs):
        return []
    low, high = int(min(xs)), int(max(xs))
    step = max(1, -(-(high - low) // most))
    return list(range(low, high + 1, step))


def scatter(
    title: str,
    points: Mapping[str, tuple[float, float]],
    width: int = 76,
    height: int = 20,
    xlabel: str = "",
    ylabel: str = "",
    limits: tuple[float, float] | None = None,
    colour: bool | None = None,
) -> str:
    """One named point for each key, its name beside it unless it would cover another."""
    import plotext as plt

    plt.clear_figure()
    low, high = limits or _limits([value for point in points.values() for value in point])
    margin = 0.04 * (high - low)
    plt.xlim(low - margin, high + margin)
    plt.ylim(low - margin, high + margin)
    ticks = [low + share * (high - low) / 4 for share in range(5)]
    plt.xticks(ticks)
    plt.yticks(ticks)
    for x, y in points.values():
        plt.scatter([x], [y], marker="●")
    cell = (high - low) / width
    cells = {
        _clean(name, 14): (round((x - low) / cell), (y - low) / (high - low) * height)
        for name, (x, y) in points.items()
    }
    sides = label_sides(cells, width)
    for name, (x, y) in zip(cells, points.values(), strict=True):
        if side := sides[name]:
            plt.text(name, x=x + 1.5 * side * cell, y=y, alignment="left" if side > 0 else "right")
    plt.title(title)
    plt.xlabel(xlabel)
    plt.ylabel(ylabel)
    return _built(width, height, colour)


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
