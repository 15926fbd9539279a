"""Common parts of figures for terminals and pages: axes with round numbers, marks of participants, differences."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from tidepool.engine.reports.blocks import (
    LONELY,
    Block,
    Cell,
    Estimate,
    Figure,
    Heat,
    Named,
    Series,
    Table,
    ends_of,
    places_of,
)

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 25.0)


@dataclass(frozen=True, slots=True)
class Axis:
    low: float
    high: float
    ticks: tuple[float, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The ticks as text, with as few digits as possible."""
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else 1.0
        digits = next((count for count in range(9) if abs(round(step, count) - step) < 1e-6 * step), 9)
        return tuple(f"{tick + 0.0:,.{digits}f}" for tick in self.ticks)

    def share(self, value: float) -> float:
        """Returns the position of a value on the axis, from 0 at the low end to 1 at the high end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def _step(low: float, high: float, most: int, least: float) -> float:
    """Returns the distance between ticks: a round number of at least `least` that gives at most `most` ticks."""
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = [max(least, size * times) for times in STEPS]
    whole = [wide for wide in steps if not least or wide == int(wide)]
    return next(wide for wide in whole if (high - low) / wide <= most - 1 + 1e-9)


def rounded_axis(values: Iterable[float], most: int, *, zero: bool = False) -> Axis:
    """Returns an axis that ends at the next round numbers around the values, and includes zero if `zero` is set."""
    present = [*values, *((0.0,) if zero else ())]
    low, high = min(present, default=0.0), max(present, default=1.0)
    if high <= low:
        low, high = (0.0, high or 1.0) if zero or low >= 0 else (low, 0.0)
    most = max(3, most)
    for tried in range(most, 1, -1):  # extending the axis to round numbers may add a tick
        step = _step(low, high, tried, 0.0)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most or tried == 2:
            break
    return Axis(first * step, last * step, tuple(place * step for place in range(first, last + 1)))


def upright(figure: Figure, most: int) -> Axis:
    """Returns the y axis of bars and curves, which includes zero."""
    return rounded_axis(ends(figure.series), most, zero=True)


def along(figure: Figure, most: int) -> Axis:
    """Returns the x axis of curves, which ends exactly at their ends, with whole numbers as ticks if all values are whole."""
    xs = [x for series in figure.series for x in xs_of(series)] or [0.0]
    low, high = min(xs), max(xs)
    if high <= low:
        return Axis(low, low + 1.0, (low,))
    step = _step(low, high, max(2, most), 1.0 if all(x == int(x) for x in xs) else 0.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Axis(low, high, tuple(place * step for place in range(first, last + 1)))


def of_means(figure: Figure, most: int) -> Axis:
    """Returns the axis of means, including the reference value."""
    reference = () if figure.reference is None else (figure.reference,)
    return rounded_axis([*ends(figure.series), *reference], most)


def xs_of(series: Series) -> tuple[float, ...]:
    return series.xs or tuple(float(place) for place in range(len(series.ys)))


def ends(series: Sequence[Series]) -> list[float]:
    """Returns all values and the ends of their intervals."""
    values = [value for item in series for value in item.ys if value is not None]
    values += [end for item in series for bounds in item.intervals if bounds for end in bounds]
    return [value for value in values if math.isfinite(value)]


def stretches(series: Series) -> Iterator[list[tuple[float, float, float]]]:
    """Yields each part of a curve that has intervals, as (x, low, high) of its points."""
    stretch: list[tuple[float, float, float]] = []
    for at, bounds in zip(xs_of(series), series.bounds, strict=False):
        if bounds is not None:
            stretch.append((at, *bounds))
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def known_points(series: Series) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(xs_of(series), series.ys, strict=False) if y is not None and math.isfinite(y + x)]


def thin_out(points: Sequence[tuple[float, float]], most: int) -> Sequence[tuple[float, float]]:
    """Reduces a large number of points to the lowest and the highest of each stretch."""
    step = 2 * len(points) // max(1, most)
    if step < 3:
        return points
    extremes: list[tuple[float, float]] = []
    for start in range(0, len(points), step):
        stretch = points[start : start + step]
        extremes += sorted((min(stretch, key=itemgetter(1)), max(stretch, key=itemgetter(1))))
    return extremes


def value_of(figure: Figure, series: Series, place: int) -> Estimate:
    """Returns a value of the figure, formatted for a table."""
    known = [y for item in figure.series for y in item.ys if y is not None]
    digits = 0 if all(y == int(y) for y in known) else 1 if max(map(abs, known), default=0.0) >= 10 else 2
    return Estimate(series.ys[place], series.bounds[place], digits, signed=figure.reference is not None)


def assign_places(blocks: Iterable[Block], names: Iterable[str]) -> tuple[Block, ...]:
    places = places_of(names)
    return tuple(_assign_places(block, places) for block in blocks) if places else tuple(blocks)


def _assign_places(block: Block, places: Mapping[str, int]) -> Block:
    match block:
        case Table():
            rows = [[_with_place(cell, places) for cell in row] for row in block.rows]
            return replace(block, rows=tuple(map(tuple, rows)))
        case Heat() if block.places:
            return replace(block, places=_all(block.rows, block.places, places))
        case Figure():
            return replace(block, places=_all(block.labels, block.places, places))
    return block


def _with_place(cell: Cell, places: Mapping[str, int]) -> Cell:
    return replace(cell, place=places.get(cell.name, cell.place)) if isinstance(cell, Named) else cell


def _all(names: tuple[str, ...], before: tuple[int, ...], places: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(places.get(name, place) for name, place in zip(names, before, strict=False))


Row = tuple[str, float, tuple[float, float] | None]
"""a label, a difference, its interval"""


def difference_of(row: Mapping[str, Any], scale: float, digits: int) -> Estimate:
    """Returns a difference with its interval. A scale of 100 turns shares into percentage points."""
    interval, unit = ends_of(row["difference_ci95"], scale), " points" if scale == 100 else ""
    return Estimate(scale * row["difference"], interval, digits, unit, signed=True)


def forest(title: str, rows: Sequence[Row], xlabel: str = "", caption: str | None = None) -> Figure:
    """Returns a figure of differences, with a reference line at zero."""
    bounds = tuple(interval for _, _, interval in rows)
    series = Series("difference", tuple(value for _, value, _ in rows), intervals=bounds)
    if caption is None:
        caption = LONELY if None in bounds else "With 95 % intervals. The dashed line marks no difference."
    return Figure(
        "means", title, (series,), tuple(label for label, _, _ in rows), xlabel=xlabel, caption=caption, reference=0.0
    )
