"""Differences taken pair by pair: the same query, the same seed. Student's interval, and the test of sign flips.

A learner, or a strategy, is as good as its seeds make it: whether one beats another is asked of whole runs, paired by
seed, and answered only where there are enough of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """None with too few seeds for a verdict"""

    @property
    def missing(self) -> int:
        """Seeds that a verdict still lacks."""
        return max(0, SEEDS_FOR_A_VERDICT - len(self.seeds))


def paired_by_seed(first: Mapping[int, float], second: Mapping[int, float]) -> SeedContrast | None:
    """None where they share no seed. From eight on there is a test; with fewer, an interval and no verdict."""
    seeds = tuple(sorted(first.keys() & second.keys()))
    if not seeds:
        return None
    gaps = tuple(first[seed] - second[seed] for seed in seeds)
    found = of_mean(gaps)
    tested = len(seeds) >= SEEDS_FOR_A_VERDICT
    interval = found.interval if found else None
    return SeedContrast(seeds, gaps, fmean(gaps), interval, sign_flip_p_value(gaps) if tested else None)


def compared_in_words(p_value: float | None, difference: float) -> str:
    """better, worse, or what may not be called a difference."""
    if p_value is None:
        return "no test"
    told = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    if p_value >= SIGNIFICANT:
        return f"not distinguishable ({told})"
    return f"{'better' if difference > 0 else 'worse'} ({told})"
