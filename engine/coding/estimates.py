"""Shares of a stratified sample, weighted back to the batch, with intervals at 95 %.

Limits of several parts are joined by MOVER (Zou and Donner): the distance of a sum from its limit is the root of the squared
distances of its parts. Each part brings Wilson's limits, which hold where few or none of its sides were coded yes.

What is told of a batch is told of talks like these, not of these alone. A batch's verdicts vary in two ways. As if every
side were drawn by itself: of that the codes explain a part, by the difference that a verdict makes to them. And as
talks: sides that go together go together in truth, of which their verdicts show only so much as the instrument sees,
sensitivity + specificity − 1 of it; so what the sides' likeness adds to the interval of the verdicts is divided by
that. Leaving this out covers 92 % where every talk is coded, and 72–91 % where games are linked.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidepool.engine.statistics import intervals
from tidepool.engine.statistics.distributions import normal_quantile
from tidepool.engine.statistics.intervals import LEVEL, Interval

Z = normal_quantile((1 + LEVEL) / 2)
LEAST_SEEN = 0.2
"""sensitivity + specificity − 1 below which an instrument says next to nothing"""


def wilson(share: float, trials: float, z: float = Z) -> Interval:
    """Wilson's interval; the trials may be an effective number. With none, anything is possible."""
    return intervals.wilson(share, trials, z) if trials > 0 else (0.0, 1.0)


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


def cell_of(size: float, coded: Iterable[tuple[float, bool]], otherwise: float = 0.5) -> Cell:
    """From the weight and the code of each. Where none is coded, the share is what is known of its neighbours."""
    weights = squares = yes = 0.0
    for weight, is_so in coded:
        weights += weight
        squares += weight * weight
        yes += weight * is_so
    return Cell(size, yes / weights, weights * weights / squares) if weights else Cell(size, otherwise, 0)


def joined(cells: Sequence[Cell]) -> Share | None:
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
        joined(cells) if size else Share(0.0, 0.0, 0.0) for cells, size in zip((positive, negative), sizes, strict=True)
    ]
    if shares[0] is None or shares[1] is None or not any(sizes):
        return None
    return TwoGroups(sizes[0], sizes[1], shares[0], shares[1])


def corrected(found: TwoGroups, called: Interval) -> Share:
    """The rate as people see it. `called` is the interval of the share of positives, by whatever the talks have in common."""
    q, yes, no = found.called, found.if_positive, found.if_negative
    alone = wilson(q, found.positives + found.negatives)
    difference = yes.value - no.value
    seen = max(LEAST_SEEN, _youden(found))
    q_below, q_above = (_apart(q, alone[side], called[side], difference, seen) for side in (0, 1))
    if difference < 0:
        q_below, q_above = q_above, q_below
    below = math.hypot(q * (yes.value - yes.low), (1 - q) * (no.value - no.low), q_below)
    above = math.hypot(q * (yes.high - yes.value), (1 - q) * (no.high - no.value), q_above)
    return Share(found.value, max(0.0, found.value - below), min(1.0, found.value + above))


def _apart(q: float, alone: float, called: float, difference: float, seen: float) -> float:
    """A limit's distance, its part as if sides were drawn one by one and what their likeness adds."""
    together = math.sqrt(max(0.0, (called - q) ** 2 - (alone - q) ** 2))
    return math.hypot(difference * (alone - q), together / seen)


def _youden(found: TwoGroups) -> float:
    """Sensitivity + specificity − 1."""
    q, rate = found.called, found.value
    if not 0 < rate < 1:
        return 0.0
    return q * found.if_positive.value / rate + (1 - q) * (1 - found.if_negative.value) / (1 - rate) - 1


def sensitivity(found: TwoGroups) -> Share | None:
    """Of those that are so, the share that is called positive; None where none is so."""
    return _part(found, found.if_positive, found.if_negative)


def specificity(found: TwoGroups) -> Share | None:
    """Of those that are not so, the share that is not called positive."""
    missed = _part(found, found.if_positive.reversed, found.if_negative.reversed)
    return missed and missed.reversed


def _part(found: TwoGroups, among_positives: Share, among_negatives: Share) -> Share | None:
    """positives · a ÷ (positives · a + negatives · b), by the ratio of b, times the odds against a positive, to a: the
    limits of a ratio by MOVER (Donner and Zou)."""
    a, b = among_positives.value, among_negatives.value
    total, q = found.positives + found.negatives, found.called
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


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """An instrument's errors as another study measured them."""

    sensitivity: Share
    specificity: Share

    @property
    def seen(self) -> Share:
        """Sensitivity + specificity − 1."""
        parts = (self.sensitivity, self.specificity)
        value = sum(part.value for part in parts) - 1
        below = math.hypot(*(part.value - part.low for part in parts))
        return Share(value, value - below, value + math.hypot(*(part.high - part.value for part in parts)))


def rogan_gladen(called: Share, known: Elsewhere) -> Share:
    """The rate behind the share that is called positive, where the errors are known from elsewhere."""
    seen = known.seen.value
    value = min(1.0, max(0.0, (called.value + known.specificity.value - 1) / seen))
    se, sp = known.sensitivity, known.specificity
    below = math.hypot(called.value - called.low, (1 - value) * (sp.value - sp.low), value * (se.high - se.value))
    above = math.hypot(called.high - called.value, (1 - value) * (sp.high - sp.value), value * (se.value - se.low))
    return Share(value, max(0.0, value - below / seen), min(1.0, value + above / seen))
