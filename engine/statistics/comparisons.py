"""Two contenders under the same conditions: paired tests, effect sizes, Holm's correction for many tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev
from typing import Any, TypeVar

from tidepool.engine.statistics.distributions import student_quantile, student_tail
from tidepool.engine.statistics.intervals import Interval, middle_of, resampled_means
from tidepool.engine.statistics.rank_tests import rank_sum_p_value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Comparison:
    pairs: int
    """0: the values were not paired"""
    difference: float
    """mean of first minus second"""
    interval: Interval
    p_value: float
    effect_size: float | None
    """Cohen's d, of the differences where values are paired; None where nothing varies"""


def compare_means(differences: Sequence[float]) -> Comparison | None:
    """Student's interval and test of the mean of paired differences; None with fewer than two."""
    if len(differences) < 2:
        return None
    mean, error = fmean(differences), stdev(differences) / len(differences) ** 0.5
    reach = student_quantile(len(differences) - 1, 0.975) * error
    return Comparison(
        pairs=len(differences),
        difference=mean,
        interval=(mean - reach, mean + reach),
        p_value=2 * student_tail(len(differences) - 1, abs(mean) / error) if error else float(not mean),
        effect_size=_effect_size(differences),
    )


def _effect_size(differences: Sequence[float]) -> float | None:
    if min(differences) == max(differences):
        return None
    return fmean(differences) / stdev(differences)


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
        pairs=0,
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
