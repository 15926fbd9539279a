"""Shares and ratings of a stratified sample, weighted back to the batch, with intervals at 95 %; agreement of coders.

Limits of several parts are joined by MOVER (Zou and Donner): the distance of a sum from its limit is the root of the squared
distances of its parts. Each part brings Wilson's limits, which hold where few or none of its sides were coded yes.

Estimates are about conversations like these, not about these alone. A batch's verdicts vary in two ways. As if every side
were drawn by itself: of that the codes explain a part, by the difference that a verdict makes to them. And as conversations:
sides that go together go together in truth, of which their verdicts show only so much as the instrument sees, sensitivity +
specificity − 1 of it; so what the sides' likeness adds to the interval of the verdicts is divided by that. Leaving this out
covers 92 % where every conversation is coded, and 72–91 % where games are linked.

Cohen's kappa is for two coders, Krippendorff's alpha for all of them; both are 1 − observed ÷ expected disagreement. Codes
either agree or not; ratings disagree by the square of their difference.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, TypeVar

from tidepool.engine.inference.contrasts import student
from tidepool.engine.inference.intervals import Interval, wilson
from tidepool.engine.inference.typed import Statistics

# -- shares ------------------------------------------------------------------------------------------------------------


LEAST_SEEN = 0.2
"""sensitivity + specificity − 1 below which an instrument says next to nothing"""


@dataclass(frozen=True, slots=True)
class Share:
    """An estimate with its limits."""

    value: float
    low: float
    high: float

    @property
    def reversed(self) -> "Share":
        """Of what is not so."""
        return Share(1 - self.value, 1 - self.high, 1 - self.low)

    @property
    def limits(self) -> Interval:
        return max(0.0, self.low), min(1.0, self.high)


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of the batch that the sample was drawn from by itself: its sides, and what the coded ones of it are."""

    size: float
    share: float
    """of the coded ones that are so, weighted"""
    trials: float
    """coded ones, as many as they are worth where their weights differ; 0: none"""


def cell_of(size: float, coded: Iterable[tuple[float, bool]], fallback: float = 0.5) -> Cell:
    """From the weight and the code of each. Where none is coded, the share is what is known of its neighbours."""
    weights = squares = yes = 0.0
    for weight, positive in coded:
        weights += weight
        squares += weight * weight
        yes += weight * positive
    return Cell(size, yes / weights, weights * weights / squares) if weights else Cell(size, fallback, 0)


def pool(cells: Sequence[Cell]) -> Share | None:
    """The share over cells, each by its size; None where nothing of them is coded."""
    total = sum(cell.size for cell in cells)
    if not total or not any(cell.trials for cell in cells):
        return None
    value = sum(cell.size * cell.share for cell in cells) / total
    limits = [(cell, wilson(cell.share, cell.trials)) for cell in cells]
    below = math.hypot(*(cell.size / total * (cell.share - low) for cell, (low, _) in limits))
    above = math.hypot(*(cell.size / total * (high - cell.share) for cell, (_, high) in limits))
    return Share(value, max(0.0, value - below), min(1.0, value + above))


@dataclass(frozen=True, slots=True)
class TwoGroups:
    """The sides that an instrument calls positive, the others, and how many of either are so indeed."""

    positives: float
    negatives: float
    if_positive: Share
    """of the positives that are so: the predictive value"""
    if_negative: Share
    """of the negatives that are so all the same: the false omission rate"""

    @property
    def called(self) -> float:
        """The share of the positives."""
        return self.positives / (self.positives + self.negatives)

    @property
    def value(self) -> float:
        """The share of all that is so: post-stratified on the verdict."""
        return self.called * self.if_positive.value + (1 - self.called) * self.if_negative.value


def two_groups(positive: Sequence[Cell], negative: Sequence[Cell]) -> TwoGroups | None:
    """None where a group has sides of which none is coded; an empty one is of no weight."""
    sizes = [sum(cell.size for cell in cells) for cells in (positive, negative)]
    shares = [
        pool(cells) if size else Share(0.0, 0.0, 0.0) for cells, size in zip((positive, negative), sizes, strict=True)
    ]
    if shares[0] is None or shares[1] is None or not any(sizes):
        return None
    return TwoGroups(sizes[0], sizes[1], shares[0], shares[1])


def corrected(groups: TwoGroups, called: Interval) -> Share:
    """The rate as people see it. `called` is the interval of the share of positives, by whatever the talks have in common."""
    q, yes, no = groups.called, groups.if_positive, groups.if_negative
    alone = wilson(q, groups.positives + groups.negatives)
    difference = yes.value - no.value
    informative = max(LEAST_SEEN, _youden(groups))
    q_below, q_above = (_limit_distance(q, alone[side], called[side], difference, informative) for side in (0, 1))
    if difference < 0:
        q_below, q_above = q_above, q_below
    below = math.hypot(q * (yes.value - yes.low), (1 - q) * (no.value - no.low), q_below)
    above = math.hypot(q * (yes.high - yes.value), (1 - q) * (no.high - no.value), q_above)
    return Share(groups.value, max(0.0, groups.value - below), min(1.0, groups.value + above))


def _limit_distance(q: float, alone: float, called: float, difference: float, informative: float) -> float:
    """A limit's distance, its part as if sides were drawn one by one and what their likeness adds."""
    excess = math.sqrt(max(0.0, (called - q) ** 2 - (alone - q) ** 2))
    return math.hypot(difference * (alone - q), excess / informative)


def _youden(groups: TwoGroups) -> float:
    """Sensitivity + specificity − 1."""
    q, rate = groups.called, groups.value
    if not 0 < rate < 1:
        return 0.0
    return q * groups.if_positive.value / rate + (1 - q) * (1 - groups.if_negative.value) / (1 - rate) - 1


def sensitivity(groups: TwoGroups) -> Share | None:
    """Of those that are so, the share that is called positive; None where none is so."""
    return _class_share(groups, groups.if_positive, groups.if_negative)


def specificity(groups: TwoGroups) -> Share | None:
    """Of those that are not so, the share that is not called positive."""
    missed = _class_share(groups, groups.if_positive.reversed, groups.if_negative.reversed)
    return missed and missed.reversed


def _class_share(groups: TwoGroups, among_positives: Share, among_negatives: Share) -> Share | None:
    """positives · a ÷ (positives · a + negatives · b), by the ratio of b, times the odds against a positive, to a: the
    limits of a ratio by MOVER (Donner and Zou)."""
    a, b = among_positives.value, among_negatives.value
    total, q = groups.positives + groups.negatives, groups.called
    if not (rate := q * a + (1 - q) * b):
        return None
    if not 0 < q < 1:
        return Share(q, *wilson(q, total * rate))
    low_q, high_q = wilson(q, total)
    odds, fewest, most = (1 - q) / q, (1 - high_q) / high_q, (1 - low_q) / low_q
    top = odds * b
    low = max(0.0, top - math.hypot(odds * (b - among_negatives.low), b * (odds - fewest)))
    high = top + math.hypot(odds * (among_negatives.high - b), b * (most - odds))
    least, largest = _ratio(Share(top, low, high), among_positives)
    return Share(a / (a + top), 1 / (1 + largest), 1 / (1 + least))


def _ratio(top: Share, bottom: Share) -> Interval:
    product = top.value * bottom.value

    def root(one: float, other: float) -> float:
        return math.sqrt(max(0.0, product**2 - one * other * (2 * top.value - one) * (2 * bottom.value - other)))

    scale = product + root(top.low, bottom.high)
    least = top.low * (2 * top.value - top.low) / scale if scale else 0.0
    scale = bottom.low * (2 * bottom.value - bottom.low)
    return least, (product + root(top.high, bottom.low)) / scale if scale else math.inf


# -- agreement of coders -----------------------------------------------------------------------------------------------


LEAST_PAIRED = 10
"""sides coded by two from which on their kappa is told: of fewer it says nothing"""

Code = TypeVar("Code", bound=Hashable)


def nominal_distance(first: object, second: object) -> float:
    return float(first != second)


def squared_distance(first: float, second: float) -> float:
    return (first - second) ** 2


class Paired(NamedTuple):
    """What two coders said of one side."""

    stratum: str
    weight: float
    codes: tuple[Hashable, Hashable]


class Kappa(NamedTuple):
    value: float
    interval: Interval


def kappa(pairs: Sequence[Paired], disagreement: Callable[..., float] = nominal_distance) -> Kappa | None:
    """None where chance alone would make them agree: both said the same of everything.

    The interval joins Wilson's limits of the disagreement in each stratum by MOVER, stretched where the expected disagreement
    varies with it (the delta method's error of kappa over that of the disagreement alone); never narrower than without.
    """
    total = sum(pair.weight for pair in pairs)
    first, second = ({pair.codes[side]: 0.0 for pair in pairs} for side in (0, 1))
    strata: defaultdict[str, list[Paired]] = defaultdict(list)
    for pair in pairs:
        first[pair.codes[0]] += pair.weight / total
        second[pair.codes[1]] += pair.weight / total
        strata[pair.stratum].append(pair)
    worst = max((disagreement(a, b) for a in first for b in second), default=0.0)
    if not worst:
        return None
    distance = {(a, b): disagreement(a, b) / worst for a in first for b in second}
    to_second = {a: sum(distance[a, b] * share for b, share in second.items()) for a in first}
    to_first = {b: sum(distance[a, b] * share for a, share in first.items()) for b in second}
    observed = sum(pair.weight * distance[pair.codes] for pair in pairs) / total
    expected = sum(share * to_second[a] for a, share in first.items())
    influence = {(a, b): distance[a, b] - observed / expected * (to_second[a] + to_first[b]) for a, b in distance}
    below = above = fixed = varying = 0.0
    for coded in strata.values():
        weights = [pair.weight for pair in coded]
        share, trials = sum(weights) / total, sum(weights) ** 2 / sum(weight**2 for weight in weights)
        mean, spread = _moments(weights, [distance[pair.codes] for pair in coded])
        # A mean between 0 and 1 that varies less than a share does is worth more trials.
        low, high = wilson(mean, trials * (mean * (1 - mean) / spread if spread > 1e-12 else 1.0))
        below += (share * (mean - low)) ** 2
        above += (share * (high - mean)) ** 2
        fixed += share**2 * spread / trials
        varying += share**2 * _moments(weights, [influence[pair.codes] for pair in coded])[1] / trials
    stretch = max(1.0, math.sqrt(varying / fixed)) if fixed else 1.0
    limits = (observed + stretch * math.sqrt(above)) / expected, (observed - stretch * math.sqrt(below)) / expected
    return Kappa(1 - observed / expected, (max(-1.0, 1 - limits[0]), min(1.0, 1 - limits[1])))


def _moments(weights: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Mean and variance."""
    mean = fmean(values, weights)
    return mean, fmean([(value - mean) ** 2 for value in values], weights)


def alpha(
    units: Iterable[tuple[float, Sequence[Code]]], disagreement: Callable[[Code, Code], float] = nominal_distance
) -> float | None:
    """Of any number of coders, from the weight of each side and its codes. Sides with one code say nothing of agreement.

    None where all say the same of everything.
    """
    pairable = [(weight, codes) for weight, codes in units if len(codes) > 1]
    total: defaultdict[Code, float] = defaultdict(float)
    observed = 0.0
    for weight, codes in pairable:
        total_distance = sum(disagreement(a, b) for a in codes for b in codes)
        observed += weight * total_distance / (len(codes) - 1)
        for code in codes:
            total[code] += weight
    # Weights say for how many a side stands; how many were seen decides what pairs by chance are.
    seen = sum(len(codes) for _, codes in pairable)
    values = sum(total.values())
    if not values:
        return None
    same = values / seen
    total_distance = sum(total[a] * total[b] * disagreement(a, b) for a in total for b in total)
    expected = total_distance / (values - same)
    return 1 - observed / expected if expected else None


# -- ratings -----------------------------------------------------------------------------------------------------------


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
    for rated in coded:
        by_stratum[rated.stratum].append(rated)
    if not coded or set(strata) != set(by_stratum):
        return None
    total, freedom = sum(strata.values()), len(coded) - len(strata)
    gaps = {name: [one.judge - one.coders for one in rated] for name, rated in by_stratum.items()}
    weights = {name: [one.weight for one in rated] for name, rated in by_stratum.items()}
    means = {name: fmean(gaps[name], weights[name]) for name in strata}
    squares = {name: sum((gap - means[name]) ** 2 for gap in gaps[name]) for name in strata}
    difference = sum(strata[name] * means[name] for name in strata) / total
    variance = 0.0
    for name, own in weights.items():
        spread = squares[name] / (len(own) - 1) if len(own) > 1 else sum(squares.values()) / max(1, freedom)
        unequal = sum(weight**2 for weight in own) / sum(own) ** 2
        variance += (strata[name] / total) ** 2 * spread * unequal
    limits = student("t", len(coded), difference, variance, freedom).interval
    joint_limits = None
    if limits is not None and interval is not None:
        reach = limits[1] - difference
        low = judge - difference - math.hypot(judge - interval[0], reach)
        high = judge - difference + math.hypot(interval[1] - judge, reach)
        joint_limits = max(scale[0], low), min(scale[1], high)
    return RatingDifference(len(coded), difference, limits, judge, interval, judge - difference, joint_limits)
