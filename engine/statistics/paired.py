"""Differences taken pair by pair: the same query, the same seed. Student's interval, and the test of sign flips.

A learner, or a strategy, is as good as its seeds make it: whether one beats another is asked of whole runs, paired by
seed, and answered only where there are enough of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import fmean, stdev

from tidepool.engine.statistics.contrasts import of_mean
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.permutations import sign_flip_p_value

SEEDS_FOR_A_VERDICT = 8
"""with five, sign flips cannot go below 0.0625"""
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Paired:
    pairs: int
    difference: float
    """mean of first less second"""
    interval: Interval | None
    """None where nothing varies"""
    p_value: float
    """of sign flips: all of them up to 13 pairs, else a seeded sample"""
    effect_size: float | None
    """Cohen's d of the differences; None where nothing varies"""


def paired(differences: Sequence[float], seed: int = 0) -> Paired | None:
    """None with fewer than two."""
    if (found := of_mean(differences)) is None:
        return None
    varied = found.interval is not None
    return Paired(
        pairs=len(differences),
        difference=found.difference,
        interval=found.interval,
        p_value=sign_flip_p_value(differences, seed),
        effect_size=found.difference / stdev(differences) if varied else None,
    )


@dataclass(frozen=True, slots=True)
class SeedContrast:
    """What whole runs say, one value a seed."""

    seeds: tuple[int, ...]
    """those that both have"""
    gaps: tuple[float, ...]
    """first less second, seed by seed"""
    difference: float
    interval: Interval | None
    p_value: float | None
    """of sign flips; None with too few seeds for a verdict"""
    missing: int
    """seeds that a verdict still lacks"""


def seeds_needed(comparisons: int = 1) -> int:
    """For a verdict, where so many are asked for at once: with fewer, the smallest p-value there is, corrected, is too large."""
    return next(n for n in count(SEEDS_FOR_A_VERDICT) if comparisons * 2 / 2**n < SIGNIFICANT)


def paired_by_seed(
    first: Mapping[int, float], second: Mapping[int, float], comparisons: int = 1
) -> SeedContrast | None:
    """None where they share no seed. With enough of them there is a test; with fewer, an interval and no verdict."""
    seeds = tuple(sorted(first.keys() & second.keys()))
    if not seeds:
        return None
    gaps = tuple(first[seed] - second[seed] for seed in seeds)
    found = of_mean(gaps)
    missing = max(0, seeds_needed(comparisons) - len(seeds))
    p_value = None if missing else sign_flip_p_value(gaps)
    return SeedContrast(seeds, gaps, fmean(gaps), found.interval if found else None, p_value, missing)


def compared_in_words(p_value: float | None, difference: float) -> str:
    """better, worse, or what may not be called a difference."""
    if p_value is None:
        return "no test"
    told = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    if p_value >= SIGNIFICANT:
        return f"not distinguishable ({told})"
    return f"{'better' if difference > 0 else 'worse'} ({told})"


def seeds_in_words(found: SeedContrast, p_value: float | None) -> str:
    """What runs paired by seed allow to be said; `p_value` is that of the contrast, or corrected for several."""
    if not found.missing:
        return compared_in_words(p_value, found.difference)
    number, more = len(found.seeds), found.missing
    return (
        f"no verdict from {number} seed{'s' * (number > 1)}: {more} more of each {'are' if more > 1 else 'is'} needed"
    )
