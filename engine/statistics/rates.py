"""The interval of a rate, or of a mean on a bounded scale, whose values come in clusters.

Wilson's interval with the number of independent values that the clusters amount to, and Student's quantile at their
degrees of freedom. Where nothing varied the clusters themselves are that number; one cluster has no interval, since it
says nothing about others. Tests are the same interval turned round: the p-value is where it just touches.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tidepool.engine.statistics.distributions import fewest_expected, normal_quantile, root, student_quantile
from tidepool.engine.statistics.grouped import Spread
from tidepool.engine.statistics.intervals import LEVEL, Interval, wilson

UNIT = (0.0, 1.0)
_CLOSE = 1e-12
_SMALLEST_P = 1e-12
_SURER = 10
"""values of strata that hardly vary say more than independent ones, but not without end"""
FEW_EVENTS = 3.5
FEW_CLUSTERS = 10
"""fewer clusters that hold any value off the commonest hide how much clusters differ"""


@dataclass(frozen=True, slots=True)
class Rate:
    mean: float
    effective: float
    """so many independent values would say as much"""
    freedom: float
    """0: one cluster, which has no interval; infinite: as if its spread were known"""
    count: int
    bounds: Interval = UNIT

    @property
    def share(self) -> float:
        """Where the mean lies between the bounds."""
        low, high = self.bounds
        return (self.mean - low) / (high - low)

    def interval(self, level: float = LEVEL) -> Interval | None:
        low, high = self.bounds
        if not self.freedom or high <= low:
            return None
        ends = _for_few(wilson(self.share, self.effective, quantile(self.freedom, level)), self, level)
        return low + (high - low) * ends[0], low + (high - low) * ends[1]


def _for_few(ends: Interval, rate: Rate, level: float) -> Interval:
    """With one to three events Wilson's nearer end reaches too little towards none: there it is Poisson's."""
    low, high = ends
    for events in (rate.share * rate.effective, (1 - rate.share) * rate.effective):
        if _CLOSE < events <= FEW_EVENTS:
            limit = fewest_expected(events, 1 - level) / rate.effective
            low, high = (
                (min(low, limit), high) if events == rate.share * rate.effective else (low, max(high, 1 - limit))
            )
    return low, high


def rates_of(spread: Spread, bounds: Interval = UNIT, few: int = 0, likeness: float = 0.0) -> list[Rate | None]:
    """By group, None where it is empty.

    Groups of fewer than `few` clusters say too little about their own spread: they take that of independent clusters,
    within which values are as alike (`likeness`, from 0 to 1) as in all groups together.
    """
    width = (bounds[1] - bounds[0]) or 1.0
    columns = (spread.mean, spread.variance, spread.freedom, spread.clusters, spread.varied, spread.count)
    found: list[Rate | None] = []
    for mean, variance, freedom, clusters, varied, count in zip(*(column.tolist() for column in columns), strict=True):
        if not count:
            found.append(None)
        elif clusters < few:
            alike = count / (1 + (count / clusters - 1) * max(0.0, likeness))
            found.append(Rate(mean, alike, math.inf, count, bounds))
        else:
            effective = effective_number((mean - bounds[0]) / width, variance / width**2, clusters, count)
            if varied < min(FEW_CLUSTERS, clusters):
                effective = min(effective, clusters * max(1, varied))
            found.append(Rate(mean, effective, freedom, count, bounds))
    return found


def effective_number(share: float, variance: float, clusters: int, count: int) -> float:
    """How many independent values would say as much."""
    if min(share, 1 - share) < _CLOSE:
        return clusters
    most = _SURER * count
    return min(most, share * (1 - share) / variance) if variance > _CLOSE**2 else count


def quantile(freedom: float, level: float) -> float:
    share = (1 + level) / 2
    return normal_quantile(share) if math.isinf(freedom) else student_quantile(freedom, share)


def gap_interval(first: Rate, second: Rate, level: float = LEVEL) -> Interval | None:
    """Of the difference of two independent rates: each end takes over how far their own ends are away (MOVER)."""
    one, other = first.interval(level), second.interval(level)
    if one is None or other is None:
        return None
    gap = first.mean - second.mean
    below = math.hypot(first.mean - one[0], other[1] - second.mean)
    above = math.hypot(one[1] - first.mean, second.mean - other[0])
    return gap - below, gap + above


def p_value_of(interval: Callable[[float], Interval | None]) -> float:
    """Two-sided, of no difference: one less the level at which the interval just touches zero."""
    point = interval(0.0)
    if point is None or not point[0] + point[1]:
        return 1.0
    above = point[0] + point[1] > 0

    def beyond(chance: float) -> float:
        low, high = interval(1 - math.exp(chance)) or (0.0, 0.0)
        return low if above else -high

    return math.exp(root(beyond, math.log(_SMALLEST_P), 0.0))
