"""Tests by ranks, two-sided, and Holm's correction. Few values are tested exactly, by every order; many by approximation."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any, TypeVar

from tidepool.engine.inference.distributions import chi_squared_tail, student_tail
from tidepool.engine.inference.grouped import numpy

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
        freedom = len(xs) - 2
        t = abs(correlation) * math.sqrt(freedom / max(1 - correlation**2, 1e-300))
        return correlation, 2 * student_tail(freedom, t)
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
        size = len(values)
        ties = sum(times**3 - times for times in Counter(values).values()) / (size**3 - size)
        statistic = (12 / (size * (size + 1)) * float(spread(ranked)) - 3 * (size + 1)) / (1 - ties)
        return chi_squared_tail(len(filled) - 1, statistic)
    return _share_as_far(spread(ranked[_orders(len(values))]), spread(ranked))


def ranks(values: Sequence[float]) -> Any:
    """From 1; equal values share the mean of their places."""
    _, places, times = numpy.unique(numpy.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    last = numpy.cumsum(times)
    return (last - (times - 1) / 2)[places]


def _share_as_far(possible: Any, observed: Any) -> float:
    return float((possible >= observed - 1e-9).mean())


@lru_cache(maxsize=MOST_EXACT)
def _orders(size: int) -> Any:
    return numpy.array(list(permutations(range(size))), dtype=numpy.int8)


# -- comparisons and corrections ---------------------------------------------------------------------------------------


T = TypeVar("T")


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given."""
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """The same over those that were tested; None for the others."""
    adjusted = iter(holm([value for value in p_values if value is not None]))
    return [None if value is None else next(adjusted) for value in p_values]


def pairwise(
    ids: Sequence[str], samples: Sequence[T], compare: Callable[[T, T], dict[str, Any] | None], measure: str
) -> list[dict[str, Any]]:
    """Every two batches that can be compared, with Holm's correction over all of them."""
    pairs = [
        ([ids[first], ids[second]], result)
        for first, second in combinations(range(len(ids)), 2)
        if (result := compare(samples[first], samples[second]))
    ]
    adjusted = corrected([result["p_value"] for _, result in pairs])
    return [
        {"batches": batches, "measure": measure, **result, "p_value_holm": p_value}
        for (batches, result), p_value in zip(pairs, adjusted, strict=True)
    ]
