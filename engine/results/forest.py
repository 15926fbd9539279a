"""Differences as a picture: each on its interval, held against none. The estimates are those of `compare`, turned so that every
batch is held against the first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.results.blocks import LONELY, Figure, Series

Row = tuple[str, float, tuple[float, float] | None]
"""a label, a difference, its interval"""


def against_the_first(
    differences: Sequence[Mapping[str, Any]], ids: Sequence[str], scale: float = 1.0, unit: str = ""
) -> Iterator[Figure]:
    """Of pairs of batches, one figure for each measure; `scale` makes per cent of shares."""
    rows: dict[str, list[Row]] = {}
    for one in differences:
        first, second = (ids.index(batch) + 1 for batch in one["batches"])
        if first == 1:
            rows.setdefault(one["measure"], []).append((f"#{second} − #1", *turned(one, scale)))
    for measure, told in rows.items():
        yield forest(f"difference from #1: {measure}{unit}", told)


def turned(one: Mapping[str, Any], scale: float) -> tuple[float, tuple[float, float] | None]:
    """The second less the first, where the first less the second is known."""
    bounds = one["difference_ci95"]
    return -scale * one["difference"], (-scale * bounds[1], -scale * bounds[0]) if bounds else None


def forest(title: str, rows: Sequence[Row], xlabel: str = "") -> Figure:
    bounds = tuple(one for _, _, one in rows)
    series = Series("difference", tuple(value for _, value, _ in rows), intervals=bounds)
    caption = LONELY if None in bounds else "With 95 % intervals; the broken line is no difference."
    return Figure(
        "means", title, (series,), tuple(label for label, _, _ in rows), xlabel=xlabel, caption=caption, reference=0.0
    )
