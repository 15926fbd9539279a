"""Tests by ranks and permutations, two-sided, effect sizes and Holm's correction.

Few values are tested exactly, by every order or rearrangement; many by approximation or by a seeded sample of
rearrangements that counts what was seen.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product
from typing import Any, TypeVar

from tidepool.engine.statistics.distributions import chi_squared_tail, normal_tail, student_tail
from tidepool.engine.statistics.grouped import numpy
from tidepool.engine.statistics.intervals import Interval, middle_of, resampled_means

# -- two samples by ranks (Mann and Whitney) ---------------------------------------------------------------------------


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
    pooled = Counter(first)
    pooled.update(second)
    if len(pooled) < 2:
        return 1.0
    m, n = sum(first.values()), sum(second.values())
    ranks = mean_ranks(pooled)
    wins = math.fsum(ranks[value] * times for value, times in first.items()) - m * (m + 1) / 2
    wins = max(wins, m * n - wins)
    if min(m, n) <= MOST_EXACT_VALUES and max(pooled.values()) == 1:
        return _every_order(m, n, round(wins))
    size = m + n
    deviation = math.sqrt(m * n / 12 * (size + 1 - _ties(pooled) / (size * (size - 1))))
    return min(1.0, 2 * normal_tail((wins - m * n / 2 - 0.5) / deviation))


def _every_order(m: int, n: int, wins: int) -> float:
    """At least so many wins, over all orders: their number is a coefficient of Gauss's binomial polynomial."""
    few, many = sorted((m, n))
    orders = [1, *[0] * (few * many)]
    for rank in range(1, few + 1):
        for total in range(few * many, many + rank - 1, -1):
            orders[total] -= orders[total - many - rank]
        for total in range(rank, few * many + 1):
            orders[total] += orders[total - rank]
    return min(1.0, 2 * sum(orders[wins:]) / math.comb(m + n, few))


def _ties(counts: Mapping[float, int]) -> int:
    return sum(times**3 - times for times in counts.values())


# -- permutations of means ---------------------------------------------------------------------------------------------


RESAMPLES = 9_999
_CELLS = 1_000_000
"""signs drawn at once, to keep memory small"""


def sign_flip_p_value(differences: Sequence[float], seed: int = 0) -> float:
    """Of the mean of paired differences: under no difference, each might as well have had the other sign."""
    values = numpy.array(differences, dtype=float)
    if exact := 2 ** len(values) <= RESAMPLES:
        signs = numpy.array(list(product((True, False), repeat=len(values))))
        means = numpy.where(signs, values, -values).mean(axis=1)
    else:
        random, at_once = numpy.random.default_rng(seed), max(1, _CELLS // len(values))
        sizes = [min(at_once, RESAMPLES - done) for done in range(0, RESAMPLES, at_once)]
        means = numpy.concatenate([_flipped(values, size, random) for size in sizes])
    return _two_sided(means, float(values.mean()), exact)


def _flipped(values: Any, times: int, random: Any) -> Any:
    """So many means of the values with signs drawn anew."""
    either = numpy.tile(numpy.array([True, False]), (times, len(values), 1))
    return numpy.where(random.permuted(either, axis=-1)[..., 0], values, -values).mean(axis=1)


def mean_difference_p_value(first: Sequence[float], second: Sequence[float], seed: int = 0) -> float:
    """Of the difference of two independent means: under none, any value might have come from the other sample."""
    values = numpy.array([*first, *second], dtype=float)
    size, total = len(first), len(values)
    exact = math.comb(total, size) <= RESAMPLES
    if exact:
        chosen = numpy.array(list(combinations(range(total), size)))
    else:
        random = numpy.random.default_rng(seed)
        chosen = numpy.array([random.permutation(total)[:size] for _ in range(RESAMPLES)])
    sums = values[chosen].sum(axis=1)
    gaps = sums / size - (values.sum() - sums) / (total - size)
    return _two_sided(gaps, float(values[:size].mean() - values[size:].mean()), exact)


def _two_sided(possible: Any, observed: float, exact: bool) -> float:
    """Sums of the same numbers in another order differ in their last digits, and count as equal."""
    extra = 0 if exact else 1
    close = 1e-12 * max(1.0, abs(observed))
    below = int((possible <= observed + close).sum()) + extra
    above = int((possible >= observed - close).sum()) + extra
    return min(1.0, 2 * min(below, above) / (len(possible) + extra))


# -- correlation and groups, by ranks ----------------------------------------------------------------------------------


MOST_EXACT = 8
"""pairs whose orders are all tried: 40,320 of them"""


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float] | None:
    """Spearman's correlation and its p-value; None where one of the two does not vary."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    first, second = ranks(xs), ranks(ys)
    correlation = float(numpy.corrcoef(first, second)[0, 1])
    if len(xs) > MOST_EXACT:
        return correlation, _chance_of_correlation(correlation, len(xs))
    centred = first - first.mean()
    return correlation, _share_as_far(abs(second[_orders(len(ys))] @ centred), abs(second @ centred))


def group_difference(samples: Sequence[Sequence[float]]) -> float | None:
    """The p-value of Kruskal and Wallis's test; None where there is one group, or nothing varies."""
    filled = [sample for sample in samples if sample]
    values = [value for sample in filled for value in sample]
    if len(filled) < 2 or len(set(values)) < 2:
        return None
    ranked = ranks(values)
    sizes = numpy.array([len(sample) for sample in filled])
    starts = numpy.concatenate([[0], numpy.cumsum(sizes)[:-1]])

    def spread(orders: Any) -> Any:
        return (numpy.add.reduceat(orders, starts, axis=-1) ** 2 / sizes).sum(axis=-1)

    if len(values) > MOST_EXACT:
        return _chance_of_spread(float(spread(ranked)), values, len(filled))
    return _share_as_far(spread(ranked[_orders(len(values))]), spread(ranked))


def ranks(values: Sequence[float]) -> Any:
    """From 1; equal values share the mean of their places."""
    _, places, times = numpy.unique(numpy.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    last = numpy.cumsum(times)
    return (last - (times - 1) / 2)[places]


def _chance_of_correlation(correlation: float, pairs: int) -> float:
    """Twice the tail of Student's distribution."""
    unexplained = max(1 - correlation**2, 1e-300)
    return 2 * student_tail(pairs - 2, abs(correlation) * ((pairs - 2) / unexplained) ** 0.5)


def _chance_of_spread(spread: float, values: Sequence[float], groups: int) -> float:
    """The tail of the chi-squared distribution, corrected for ties."""
    size = len(values)
    ties = _ties(Counter(values)) / (size**3 - size)
    statistic = (12 / (size * (size + 1)) * spread - 3 * (size + 1)) / (1 - ties)
    return chi_squared_tail(groups - 1, statistic)


def _share_as_far(possible: Any, observed: Any) -> float:
    return float((possible >= observed - 1e-9).mean())


@lru_cache(maxsize=MOST_EXACT)
def _orders(size: int) -> Any:
    return numpy.array(list(permutations(range(size))), dtype=numpy.int8)


# -- comparisons and corrections ---------------------------------------------------------------------------------------


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Comparison:
    difference: float
    """mean of first minus second"""
    interval: Interval
    p_value: float
    effect_size: float | None
    """Cohen's d; None where nothing varies"""


def compare_samples(first: Mapping[float, int], second: Mapping[float, int], seed: int = 0) -> Comparison | None:
    """Mann–Whitney's test of two independent samples, given as how often each value occurred; None without any."""
    if not first or not second:
        return None
    random = numpy.random.default_rng(seed)
    gaps = resampled_means(first, random) - resampled_means(second, random)
    xs, ys = (numpy.repeat(list(counts), list(counts.values())) for counts in (first, second))
    spread = float(numpy.sqrt((xs.var() + ys.var()) / 2))
    difference = float(xs.mean() - ys.mean())
    return Comparison(
        difference=difference,
        interval=middle_of(gaps),
        p_value=rank_sum_p_value(first, second),
        effect_size=difference / spread if spread else None,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given."""
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def pairwise(
    ids: Sequence[str], samples: Sequence[T], compare: Callable[[T, T], dict[str, Any] | None], measure: str
) -> list[dict[str, Any]]:
    """Every two batches that can be compared, with Holm's correction over all of them."""
    pairs = [
        ([ids[first], ids[second]], result)
        for first, second in combinations(range(len(ids)), 2)
        if (result := compare(samples[first], samples[second]))
    ]
    adjusted = iter(holm([result["p_value"] for _, result in pairs if result["p_value"] is not None]))
    return [
        {
            "batches": batches,
            "measure": measure,
            **result,
            "p_value_holm": None if result["p_value"] is None else next(adjusted),
        }
        for batches, result in pairs
    ]
