"""Means of values that come in clusters, such as many talks of one entity.

Talks of one entity resemble each other, so what generalises is the number of entities, not of talks. The interval
is Student's over clusters: with few of them, where the bootstrap promises too much, it is as wide as it should be.
One cluster says nothing about others, and has no interval.
"""

import math
from collections.abc import Sequence

from tidepool.engine.statistics.distributions import student_quantile
from tidepool.engine.statistics.intervals import LEVEL, Interval


def clustered_mean(sums: Sequence[float], counts: Sequence[int]) -> float | None:
    return sum(sums) / sum(counts) if sum(counts) else None


def clustered_interval(
    sums: Sequence[float], counts: Sequence[int], bounds: Interval = (-math.inf, math.inf)
) -> Interval | None:
    """The interval of `clustered_mean`, by each cluster's sum and number of values; None below two clusters.

    `bounds` are the ends of the scale, where there is one: no mean lies outside.
    """
    clusters = [(total, count) for total, count in zip(sums, counts, strict=True) if count]
    if len(clusters) < 2:
        return None
    size = sum(count for _, count in clusters)
    mean = sum(total for total, _ in clusters) / size
    spread = math.fsum((total - mean * count) ** 2 for total, count in clusters)
    error = math.sqrt(spread * len(clusters) / (len(clusters) - 1)) / size
    reach = student_quantile(len(clusters) - 1, (1 + LEVEL) / 2) * error
    return max(mean - reach, bounds[0]), min(mean + reach, bounds[1])
