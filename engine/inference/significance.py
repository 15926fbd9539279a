"""Two-sided rank tests, with approximations for ten values or more, and Holm's correction."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, TypeVar

from tidepool.engine.inference.contrasts import SIGNIFICANT, reversible_in_words
from tidepool.engine.inference.distributions import chi_squared_tail, student_tail
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import student_interval


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float] | None:
    """Spearman's correlation and its p-value; None below three pairs, or if one of the two does not vary."""
    if len(xs) < 3 or len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    first, second = ranks(xs), ranks(ys)
    correlation = float(numpy.corrcoef(first, second)[0, 1])
    return correlation, correlation_test(correlation, len(xs))


def correlation_test(correlation: float, number: int) -> float:
    """The p-value of a correlation of `number` pairs, by Student's distribution."""
    freedom = number - 2
    t = abs(correlation) * math.sqrt(freedom / max(1 - correlation**2, 1e-300))
    return 2 * student_tail(freedom, t)


def group_difference(samples: Sequence[Sequence[float]]) -> float | None:
    """The p-value of the Kruskal–Wallis test; None if there is one group or the values do not vary."""
    filled = [sample for sample in samples if sample]
    values = [value for sample in filled for value in sample]
    if len(filled) < 2 or len(set(values)) < 2:
        return None
    ranked = ranks(values)
    sizes = numpy.array([len(sample) for sample in filled])
    starts = numpy.concatenate([[0], numpy.cumsum(sizes)[:-1]])
    size = len(values)
    ties = sum(times**3 - times for times in Counter(values).values()) / (size**3 - size)
    spread = float((numpy.add.reduceat(ranked, starts) ** 2 / sizes).sum())
    return chi_squared_tail(len(filled) - 1, (12 / (size * (size + 1)) * spread - 3 * (size + 1)) / (1 - ties))


def ranks(values: Sequence[float]) -> Any:
    """Returns the ranks, starting at 1. Equal values share their mean rank."""
    _, places, times = numpy.unique(numpy.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    last = numpy.cumsum(times)
    return (last - (times - 1) / 2)[places]


FEWEST_FOR_DRIFT = 40
QUARTERS = 4


def over_the_run(values: Any, bounds: tuple[float, float], scale: float = 1.0) -> dict[str, Any] | None:
    """Returns the means of independent values by quarters of the planned order, and the correlation with their position, or
    None for too few values. This is a simple check for models that change during the run."""
    number = len(values)
    if number < FEWEST_FOR_DRIFT:
        return None
    means = [(part.mean(), part.var(ddof=1) / len(part), len(part)) for part in numpy.array_split(values, QUARTERS)]
    intervals = [student_interval(float(mean), float(error), size - 1, bounds) for mean, error, size in means]
    correlation = float(numpy.corrcoef(numpy.arange(number), values)[0, 1]) if values.std() else 0.0
    return {
        "quarters": [
            {"units": size, "mean": scale * float(mean), "ci95": [scale * low, scale * high]}
            for (mean, _, size), (low, high) in zip(means, intervals, strict=True)
        ],
        "correlation": correlation,
        "p_value": correlation_test(correlation, number),
    }


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
    """Applies `holm` to the p-values that are not None."""
    adjusted = iter(holm([value for value in p_values if value is not None]))
    return [None if value is None else next(adjusted) for value in p_values]


def pairwise(
    ids: Sequence[str], samples: Sequence[T], compare: Callable[[T, T], dict[str, Any] | None], measure: str
) -> list[dict[str, Any]]:
    """Compares every two batches where possible, with Holm's correction over all comparisons."""
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


def withhold_reversible(rows: Sequence[dict[str, Any]]) -> None:
    """Removes the p-values from differences, as given by `BoundedContrast`, that unclear replies could reverse."""
    for row, bounded in zip(rows, corrected([row.pop("p_value_bounded") for row in rows]), strict=True):
        if bounded is not None and row["p_value_holm"] <= SIGNIFICANT < bounded:
            verdict = reversible_in_words(row["difference_bounds"])
            row |= {"p_value": None, "p_value_holm": None, "verdict": verdict}
