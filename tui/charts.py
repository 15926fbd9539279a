"""Terminal plots by plotext, as strings. Figures are built one at a time: plotext keeps a single one."""

import os
import re
from collections.abc import Mapping, Sequence

_ANSI = re.compile(r"\x1b\[[0-9;]*m")

Series = Mapping[str, Sequence[float]]


def _clean(text: str, width: int = 20) -> str:
    """Foreign text as a label: printable and short."""
    kept = "".join(character if character.isprintable() else " " for character in text)
    return kept if len(kept) <= width else kept[: width - 1] + "…"


def _built(width: int, height: int, colour: bool | None) -> str:
    import plotext as plt

    plt.plotsize(width, height)
    plt.theme("clear")
    text = str(plt.build())
    show_colour = "NO_COLOR" not in os.environ if colour is None else colour
    return text if show_colour else _ANSI.sub("", text)


def bars(
    title: str, labels: Sequence[str], series: Series, width: int = 76, height: int = 14, colour: bool | None = None
) -> str:
    """Grouped vertical bars: one group for each label."""
    import plotext as plt

    plt.clear_figure()
    names = [_clean(name) for name in labels]
    plt.multiple_bar(names, [list(values) for values in series.values()], labels=list(series), width=0.6)
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
    for name, values in series.items():
        plt.plot(list(xs)[: len(values)], list(values), label=_clean(name), marker="braille")
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
    taken: list[tuple[float, float]] = []
    for name, (x, y) in points.items():
        plt.scatter([x], [y], marker="●")
        near = any(abs(x - a) < 14 * (high - low) / 60 and abs(y - b) < 1.5 * (high - low) / height for a, b in taken)
        taken.append((x, y))
        if near:
            continue
        leftwards = x > (low + high) / 2
        beside = x + (-1.5 if leftwards else 1.5) * (high - low) / width
        plt.text(_clean(name, 14), x=beside, y=y, alignment="right" if leftwards else "left")
    plt.title(title)
    plt.xlabel(xlabel)
    plt.ylabel(ylabel)
    return _built(width, height, colour)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 1, high + 1)
