"""What a plot shows, apart from how it is drawn: plain data that crosses to the drawing process as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

ROLES = ("primary", "accent", "done", "failed", "cached", "retried", "quiet")
"""colours are named by what they mean; the app's theme knows them"""

MOST_POINTS = 400


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    ys: tuple[float | None, ...]
    xs: tuple[float, ...] = ()
    colour: str = ""
    """a role; else the next one"""


@dataclass(frozen=True, slots=True)
class Figure:
    form: str
    """lines, bars, points or histogram"""
    title: str
    series: tuple[Series, ...]
    labels: tuple[str, ...] = ()
    """of the groups of bars"""
    xlabel: str = ""
    ylabel: str = ""
    from_zero: bool = True
    square: tuple[float, float] | None = None
    """both axes from … to …"""
    notes: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Figure":
        series = tuple(Series(one["name"], tuple(one["ys"]), tuple(one["xs"]), one["colour"]) for one in data["series"])
        square = data["square"]
        return Figure(
            data["form"],
            data["title"],
            series,
            tuple(data["labels"]),
            data["xlabel"],
            data["ylabel"],
            data["from_zero"],
            tuple(square) if square else None,
            tuple(data["notes"]),
        )


def line(name: str, xs: Sequence[float], ys: Sequence[float | None], colour: str = "") -> Series:
    """A curve, thinned to what a terminal can show; the highest of each stretch stays."""
    step = max(1, len(xs) // MOST_POINTS)
    if step == 1:
        return Series(name, tuple(ys), tuple(xs), colour)
    picked = [max(range(i, min(i + step, len(xs))), key=lambda j: ys[j] or 0.0) for i in range(0, len(xs), step)]
    return Series(name, tuple(ys[i] for i in picked), tuple(xs[i] for i in picked), colour)
