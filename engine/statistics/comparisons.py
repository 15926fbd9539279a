"""Two samples against each other, effect sizes, Holm's correction for many tests. Pairs stand in `paired`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from tidepool.engine.statistics.intervals import Interval, middle_of, resampled_means
from tidepool.engine.statistics.rank_tests import rank_sum_p_value

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
    import numpy

    random = numpy.random.default_rng(seed)
    drawn = resampled_means(first, random) - resampled_means(second, random)
    one, other = (numpy.repeat(list(counts), list(counts.values())) for counts in (first, second))
    spread = float(numpy.sqrt((one.var() + other.var()) / 2))
    difference = float(one.mean() - other.mean())
    return Comparison(
        difference=difference,
        interval=middle_of(drawn),
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
    ids: Sequence[str], found: Sequence[T], compared: Callable[[T, T], dict[str, Any] | None], measure: str
) -> list[dict[str, Any]]:
    """Every two batches that can be compared, with Holm's correction over all of them."""
    pairs = [
        ([ids[first], ids[second]], one)
        for first, second in combinations(range(len(ids)), 2)
        if (one := compared(found[first], found[second]))
    ]
    adjusted = iter(holm([one["p_value"] for _, one in pairs if one["p_value"] is not None]))
    return [
        {
            "batches": batches,
            "measure": measure,
            **one,
            "p_value_holm": None if one["p_value"] is None else next(adjusted),
        }
        for batches, one in pairs
    ]
