"""Intervals, all at 95 %: Wilson's for shares, the bootstrap's for means. numpy loads at the first bootstrap."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tidepool.engine.statistics.distributions import normal_quantile

if TYPE_CHECKING:
    import numpy

Interval = tuple[float, float]

LEVEL = 0.95
RESAMPLES = 2000
_CELLS = 2_000_000
"""numbers drawn at once, to keep memory small"""
_COST_OF_A_COUNT = 10
"""drawing how often a value occurs, in draws of single values"""


@lru_cache(maxsize=65536)
def share_interval(successes: int, trials: int) -> Interval:
    """Wilson's interval of a share; with nothing tried, anything is possible."""
    if trials == 0:
        return 0.0, 1.0
    return wilson(successes / trials, trials, normal_quantile((1 + LEVEL) / 2))


def wilson(share: float, trials: float, reach: float) -> Interval:
    """`reach` is the quantile: how many standard errors to either side."""
    share, squared = min(1.0, max(0.0, share)), reach**2
    whole = 1 + squared / trials
    centre = (share + squared / (2 * trials)) / whole
    half = reach * math.sqrt(share * (1 - share) / trials + squared / (4 * trials**2)) / whole
    return (max(0.0, centre - half) if share > 1e-12 else 0.0), (min(1.0, centre + half) if share < 1 - 1e-12 else 1.0)


def mean_interval(values: Iterable[float], seed: int = 0) -> Interval | None:
    """The bootstrap's interval of a mean (percentiles of seeded resamples); None without values."""
    return mean_interval_of_counts(Counter(values), seed)


def mean_interval_of_counts(counts: Mapping[float, int], seed: int = 0) -> Interval | None:
    """The same from how often each value occurs.

    Scores take few distinct values, and resampling n of them is one multinomial draw of their counts: the
    same distribution as drawing value by value, at a cost that does not grow with n.
    """
    if not counts:
        return None
    if len(counts) == 1:
        (value,) = counts
        return float(value), float(value)
    import numpy

    return middle_of(resampled_means(counts, numpy.random.default_rng(seed)))


def middle_of(drawn: "numpy.ndarray[Any, Any]") -> Interval:
    """Between which the middle 95 % of the draws lie, as numpy.quantile has it; that would load masked arrays, too."""
    ordered = drawn.copy()
    ordered.sort()
    return _between(ordered, (1 - LEVEL) / 2), _between(ordered, (1 + LEVEL) / 2)


def _between(ordered: "numpy.ndarray[Any, Any]", share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (place - below))


def resampled_means(counts: Mapping[float, int], random: "numpy.random.Generator") -> "numpy.ndarray[Any, Any]":
    """Means of `RESAMPLES` samples with replacement: by counts, or one by one where most values differ."""
    import numpy

    values = numpy.array(sorted(counts), dtype=float)
    times = numpy.array([counts[value] for value in values])
    total = int(times.sum())
    by_counts = len(values) * _COST_OF_A_COUNT < total
    single = values if by_counts else numpy.repeat(values, times)

    def sums(size: int) -> Any:
        if by_counts:
            return random.multinomial(total, times / total, size=size) @ values
        return single[random.integers(0, total, size=(size, total))].sum(axis=1)

    at_once = max(1, _CELLS // len(single))
    sizes = [min(at_once, RESAMPLES - done) for done in range(0, RESAMPLES, at_once)]
    means: numpy.ndarray[Any, Any] = numpy.concatenate([sums(size) for size in sizes]) / total
    return means
