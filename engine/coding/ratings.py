"""A judge's ratings against those of people: how far apart they are, and the mean that follows."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidepool.engine.statistics.distributions import student_quantile
from tidepool.engine.statistics.intervals import LEVEL, Interval
from tidepool.engine.statistics.typed import Statistics


@dataclass(frozen=True)
class RatingDifference(Statistics):
    """Judge − coders, weighted back to the batch."""

    coded: int
    difference: float
    difference_ci95: Interval | None
    mean: float
    """the judge's, of all its ratings"""
    mean_ci95: Interval | None
    corrected_mean: float
    corrected_mean_ci95: Interval | None


@dataclass(frozen=True, slots=True)
class RatedTwice:
    stratum: str
    weight: float
    judge: float
    coders: float
    """their mean"""


def rating_difference(
    coded: Sequence[RatedTwice], strata: Mapping[str, int], judge: float, interval: Interval | None, scale: Interval
) -> RatingDifference | None:
    """None until something of every stratum is coded. `judge` is the mean of all its ratings, with its interval.

    The difference is a stratified mean with Student's interval; where a stratum has one code, the spread is that of all.
    The corrected mean is the judge's less the difference, their limits joined by MOVER.
    """
    by_stratum: defaultdict[str, list[RatedTwice]] = defaultdict(list)
    for one in coded:
        by_stratum[one.stratum].append(one)
    if not coded or not set(strata) <= set(by_stratum):
        return None
    total = sum(strata.values())
    means = {name: _mean(by_stratum[name]) for name in strata}
    difference = sum(strata[name] * means[name] for name in strata) / total
    reach = _reach([(strata[name] / total, means[name], by_stratum[name]) for name in strata])
    own = None if reach is None else (difference - reach, difference + reach)
    together = None
    if reach is not None and interval is not None:
        low = judge - difference - math.hypot(judge - interval[0], reach)
        high = judge - difference + math.hypot(interval[1] - judge, reach)
        together = max(scale[0], low), min(scale[1], high)
    return RatingDifference(len(coded), difference, own, judge, interval, judge - difference, together)


def _mean(coded: Sequence[RatedTwice]) -> float:
    return sum(one.weight * (one.judge - one.coders) for one in coded) / sum(one.weight for one in coded)


def _reach(strata: Sequence[tuple[float, float, Sequence[RatedTwice]]]) -> float | None:
    """None where no stratum has two codes, or where all differ alike: then nothing tells how much they might."""
    squares = [(mean, sum((one.judge - one.coders - mean) ** 2 for one in coded)) for _, mean, coded in strata]
    freedom = sum(len(coded) - 1 for *_, coded in strata)
    pooled = sum(square for _, square in squares) / freedom if freedom else 0.0
    if not pooled:
        return None
    variance = 0.0
    for (share, _, coded), (_, square) in zip(strata, squares, strict=True):
        spread = square / (len(coded) - 1) if len(coded) > 1 else pooled
        unequal = sum(one.weight**2 for one in coded) / sum(one.weight for one in coded) ** 2
        variance += share**2 * spread * unequal
    return student_quantile(freedom, (1 + LEVEL) / 2) * math.sqrt(variance)
