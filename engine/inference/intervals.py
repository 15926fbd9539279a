"""Intervals at 95 %: Wilson's for shares and rates, the jackknife's for means.

The interval of a clustered rate, or of a clustered mean on a bounded scale, is Wilson's. It uses the effective number of
independent values and Student's quantile at the clusters' degrees of freedom. If the values do not vary, the number of
clusters is the effective number. A single cluster has no interval. A p-value inverts the same interval.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat, starmap

from tidepool.engine.inference.distributions import fewest_expected, normal_quantile, root, student_quantile
from tidepool.engine.inference.grouped import Array, Spread, numpy

Interval = tuple[float, float]

LEVEL = 0.95
REACH = normal_quantile((1 + LEVEL) / 2)
"""standard errors to either side of an estimate"""


def scaled(interval: Interval | None, scale: float = 1.0) -> list[float] | None:
    """Converts an interval to JSON, multiplied by `scale`."""
    return interval and [scale * end for end in interval]


@lru_cache(maxsize=65536)
def share_interval(successes: int, trials: int) -> Interval:
    """Wilson's interval of a share."""
    return wilson(successes / max(1, trials), trials)


def wilson(share: float, trials: float, reach: float = REACH) -> Interval:
    """Wilson's interval; `trials` may be an effective number. Without trials it covers the whole range.

    `reach` is the quantile: how many standard errors to either side.
    """
    if trials <= 0:
        return 0.0, 1.0
    share, squared = min(1.0, max(0.0, share)), reach**2
    scale = 1 + squared / trials
    centre = (share + squared / (2 * trials)) / scale
    half = reach * math.sqrt(share * (1 - share) / trials + squared / (4 * trials**2)) / scale
    return (max(0.0, centre - half) if share > 1e-12 else 0.0), (min(1.0, centre + half) if share < 1 - 1e-12 else 1.0)


UNIT = (0.0, 1.0)
_CLOSE = 1e-12
_SMALLEST_P = 1e-12
_SURER = 10
"""values of strata that hardly vary carry more information than independent ones, but only up to this factor"""
FEW_EVENTS = 3.5
FEW_CLUSTERS = 10
"""if fewer clusters hold a value other than the commonest, the differences between clusters are hidden"""


@dataclass(frozen=True, slots=True)
class Rate:
    mean: float
    effective: float
    """the number of independent values with the same information"""
    freedom: float
    """0: one cluster, which has no interval; infinite: as if its spread were known"""
    count: int
    bounds: Interval = UNIT

    @property
    def share(self) -> float:
        """The position of the mean between the bounds, from 0 to 1."""
        low, high = self.bounds
        return (self.mean - low) / (high - low)

    def interval(self, level: float = LEVEL) -> Interval | None:
        low, high = self.bounds
        if not self.freedom or high <= low:
            return None
        ends = wilson(self.share, self.effective, quantile(self.freedom, level))
        nearer = self._end_of_few(self.share, level), 1 - self._end_of_few(1 - self.share, level)
        return low + (high - low) * min(ends[0], nearer[0]), low + (high - low) * max(ends[1], nearer[1])

    def _end_of_few(self, share: float, level: float) -> float:
        """Returns Poisson's end for one to three events, since Wilson's is too far from zero (Brown, Cai, DasGupta)."""
        events = share * self.effective
        return fewest_expected(events, 1 - level) / self.effective if _CLOSE < events <= FEW_EVENTS else 1.0


def rates_of(spread: Spread, bounds: Interval = UNIT, few: int = 0, likeness: float = 0.0) -> list[Rate | None]:
    """Returns the rate of each group, None for an empty group.

    Groups of fewer than `few` clusters cannot estimate their own spread. They use that of independent clusters, with the
    correlation of values within clusters (`likeness`, from 0 to 1) of all groups together.
    """
    width = (bounds[1] - bounds[0]) or 1.0
    columns = (spread.mean, spread.variance, spread.freedom, spread.clusters, spread.varied, spread.count)
    rates: list[Rate | None] = []
    for mean, variance, freedom, clusters, varied, count in zip(*(column.tolist() for column in columns), strict=True):
        if not count:
            rates.append(None)
        elif clusters < few:
            alike = count / (1 + (count / clusters - 1) * max(0.0, likeness))
            rates.append(Rate(mean, alike, math.inf, count, bounds))
        else:
            effective = effective_number((mean - bounds[0]) / width, variance / width**2, clusters, count)
            if varied < min(FEW_CLUSTERS, clusters):
                effective = min(effective, clusters * max(1, varied))
            rates.append(Rate(mean, effective, freedom, count, bounds))
    return rates


def effective_number(share: float, variance: float, clusters: int, count: int) -> float:
    """The number of independent values with the same information."""
    if min(share, 1 - share) < _CLOSE:
        return clusters
    most = _SURER * count
    return min(most, share * (1 - share) / variance) if variance > _CLOSE**2 else count


def quantile(freedom: float, level: float) -> float:
    share = (1 + level) / 2
    return normal_quantile(share) if math.isinf(freedom) else student_quantile(freedom, share)


def gap_interval(first: Rate, second: Rate, level: float = LEVEL) -> Interval | None:
    """The interval of the difference of two independent rates, from the distances of their own limits (MOVER)."""
    first_ends, second_ends = first.interval(level), second.interval(level)
    if first_ends is None or second_ends is None:
        return None
    gap = first.mean - second.mean
    below = math.hypot(first.mean - first_ends[0], second_ends[1] - second.mean)
    above = math.hypot(first_ends[1] - first.mean, second.mean - second_ends[0])
    return gap - below, gap + above


def p_value_of(interval: Callable[[float], Interval | None]) -> float:
    """Two-sided p-value of no difference: one minus the level at which the interval just touches zero."""
    point = interval(0.0)
    if point is None or not point[0] + point[1]:
        return 1.0
    above = point[0] + point[1] > 0

    def beyond(chance: float) -> float:
        low, high = interval(1 - math.exp(chance)) or (0.0, 0.0)
        return low if above else -high

    return math.exp(root(beyond, math.log(_SMALLEST_P), 0.0))


Total = tuple[float, int]
"""a sum, and the number of its values"""


def jackknife_variance(without: Iterable[float]) -> float:
    """Returns the jackknife's variance from the estimates without each unit."""
    counts = Counter(without)
    number = counts.total()
    middle = math.fsum(counts.elements()) / number
    squares = [((estimate - middle) ** 2, units) for estimate, units in counts.items()]
    return (number - 1) / number * math.fsum(chain.from_iterable(starmap(repeat, squares)))


def parts_of(values: Array, members: Array) -> list[Total]:
    """For each member, the sum and the number of the values that include it. `members`: numbers by value; -1 is an empty place."""
    rows, _ = numpy.nonzero(members >= 0)
    who = members[members >= 0]
    sums, times = numpy.bincount(who, values[rows]), numpy.bincount(who)
    return [(total, count) for total, count in zip(sums.tolist(), times.tolist(), strict=True) if count]


def interval_over(sums: Total, parts: Iterable[Total], bounds: Interval) -> Interval | None:
    """The interval of the overall mean, from the part of the total that includes each unit.

    Parts may be given with how often each occurs. On a scale with two ends it is Wilson's; else Student's. None if there are
    fewer than two units, or if one unit is part of everything.
    """
    total, count = sums
    counts: Counter[float] = Counter()
    for (part, times), units in Counter(parts).items():
        if times == count:
            return None
        if times:
            counts[(total - part) / (count - times)] += units
    if (number := counts.total()) < 2:
        return None
    mean, freedom = total / count, number - 1
    variance = jackknife_variance(counts)
    low, high = bounds
    if math.isfinite(low) and math.isfinite(high) and low < high:
        share, spread = (mean - low) / (high - low), variance / (high - low) ** 2
        return Rate(mean, effective_number(share, spread, number, count), freedom, count, bounds).interval()
    return student_interval(mean, variance, freedom, bounds)


def student_interval(mean: float, variance: float, freedom: float, bounds: Interval) -> Interval:
    """Student's interval, limited to the bounds of the scale."""
    reach = quantile(freedom, LEVEL) * math.sqrt(variance)
    return max(bounds[0], mean - reach), min(bounds[1], mean + reach)
