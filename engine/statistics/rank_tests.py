"""The test of two samples by ranks (Mann and Whitney's), two-sided.

Exact where there are few values, else by the normal approximation with ties.
"""

import math
from collections import Counter
from collections.abc import Mapping

from tidepool.engine.statistics.distributions import normal_tail

MOST_EXACT_VALUES = 8
"""values in the smaller sample up to which all orders are counted, if no two values are equal"""


def mean_ranks(counts: Mapping[float, int]) -> dict[float, float]:
    """The rank of each value, from how often it occurs: from 1, and equal values share the mean of their places."""
    ranks, before = {}, 0
    for value in sorted(counts):
        ranks[value] = before + (counts[value] + 1) / 2
        before += counts[value]
    return ranks


def rank_sum_p_value(first: Mapping[float, int], second: Mapping[float, int]) -> float:
    """Mann and Whitney's test, from how often each value occurred in either sample."""
    together = Counter(first)
    together.update(second)
    if len(together) < 2:
        return 1.0
    one, other = sum(first.values()), sum(second.values())
    ranks = mean_ranks(together)
    wins = math.fsum(ranks[value] * times for value, times in first.items()) - one * (one + 1) / 2
    wins = max(wins, one * other - wins)
    if min(one, other) <= MOST_EXACT_VALUES and max(together.values()) == 1:
        return _every_order(one, other, round(wins))
    size = one + other
    deviation = math.sqrt(one * other / 12 * (size + 1 - _ties(together) / (size * (size - 1))))
    return min(1.0, 2 * normal_tail((wins - one * other / 2 - 0.5) / deviation))


def _every_order(one: int, other: int, wins: int) -> float:
    """At least so many wins, over all orders: their number is a coefficient of Gauss's binomial polynomial."""
    few, many = sorted((one, other))
    orders = [1, *[0] * (few * many)]
    for place in range(1, few + 1):
        for total in range(few * many, many + place - 1, -1):
            orders[total] -= orders[total - many - place]
        for total in range(place, few * many + 1):
            orders[total] += orders[total - place]
    return min(1.0, 2 * sum(orders[wins:]) / math.comb(one + other, few))


def _ties(counts: Mapping[float, int]) -> int:
    return sum(times**3 - times for times in counts.values())
