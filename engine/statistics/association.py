"""Whether two things go together, by ranks. Few pairs are tested exactly, by all their orders; many by approximation.

With four pairs in perfect order the usual approximation says p = 0, while one order in twelve is as good.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any

MOST_EXACT = 8
"""pairs whose orders are all tried: 40,320 of them"""


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float] | None:
    """Spearman's correlation and its p-value; None where one of the two does not vary."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    from scipy.stats import spearmanr

    result = spearmanr(xs, ys)
    correlation = float(result.statistic)
    if len(xs) > MOST_EXACT:
        return correlation, float(result.pvalue)
    first, second = _ranks(xs), _ranks(ys)
    centred = first - first.mean()
    return correlation, _share_as_far(abs(second[_orders(len(ys))] @ centred), abs(second @ centred))


def group_difference(samples: Sequence[Sequence[float]]) -> float | None:
    """The p-value of Kruskal and Wallis's test; None where there is one group, or nothing varies."""
    filled = [sample for sample in samples if sample]
    values = [value for sample in filled for value in sample]
    if len(filled) < 2 or len(set(values)) < 2:
        return None
    if len(values) > MOST_EXACT:
        from scipy.stats import kruskal

        return float(kruskal(*filled).pvalue)
    import numpy

    ranks = _ranks(values)
    sizes = numpy.array([len(sample) for sample in filled])
    starts = numpy.concatenate([[0], numpy.cumsum(sizes)[:-1]])

    def spread(orders: Any) -> Any:
        return (numpy.add.reduceat(orders, starts, axis=-1) ** 2 / sizes).sum(axis=-1)

    return _share_as_far(spread(ranks[_orders(len(values))]), spread(ranks))


def _share_as_far(possible: Any, observed: Any) -> float:
    return float((possible >= observed - 1e-9).mean())


def _ranks(values: Sequence[float]) -> Any:
    from scipy.stats import rankdata

    return rankdata(values)


@lru_cache(maxsize=MOST_EXACT)
def _orders(size: int) -> Any:
    import numpy

    return numpy.array(list(permutations(range(size))), dtype=numpy.int8)
