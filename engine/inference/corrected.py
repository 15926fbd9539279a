"""Shares of a coded sample, weighted back to the batch, with intervals at 95 %; agreement of coders.

A corrected rate is post-stratified on the verdict: the share called positive times the share of those that are, and the rest
likewise. Wilson's limits of its parts are joined by MOVER (Zou and Donner): the distance of a sum from its limit is the root of
the squared distances of its parts.

Estimates are about conversations like these, not about these alone. A batch's verdicts vary in two ways. As if every side
were drawn by itself: of that the codes explain a part, by the difference that a verdict makes to them. And as conversations:
sides that go together go together in truth, of which their verdicts show only so much as the instrument sees, sensitivity +
specificity − 1 of it; so what the sides' likeness adds to the interval of the verdicts is divided by that. Leaving this out
covers 92 % where every conversation is coded, and 72–91 % where games are linked.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidepool.engine.inference.intervals import Interval, wilson

LEAST_SEEN = 0.2
"""sensitivity + specificity − 1 below which an instrument says next to nothing"""


@dataclass(frozen=True, slots=True)
class Share:
    """An estimate with its limits."""

    value: float
    low: float
    high: float


def coded_share(coded: Iterable[tuple[float, bool]]) -> Share | None:
    """From the weight and the code of each; None where none is coded. Unequal weights are worth fewer trials."""
    pairs = list(coded)
    total = sum(weight for weight, _ in pairs)
    if not total:
        return None
    share = sum(weight for weight, yes in pairs if yes) / total
    return Share(share, *wilson(share, total**2 / sum(weight**2 for weight, _ in pairs)))


@dataclass(frozen=True, slots=True)
class TwoGroups:
    """The sides that an instrument calls positive, the others, and how many of either are so indeed."""

    positives: int
    negatives: int
    if_positive: Share
    """of the positives that are so: the predictive value"""
    if_negative: Share
    """of the negatives that are so all the same: the false omission rate"""

    @property
    def called(self) -> float:
        """The share of the positives."""
        return self.positives / (self.positives + self.negatives)

    @property
    def rate(self) -> float:
        """The share of all that is so."""
        return self.called * self.if_positive.value + (1 - self.called) * self.if_negative.value

    @property
    def sensitivity(self) -> float | None:
        """Of those that are so, the share that is called positive; None where none is so."""
        return self.called * self.if_positive.value / self.rate if self.rate else None

    @property
    def specificity(self) -> float | None:
        """Of those that are not so, the share that is not called positive."""
        return (1 - self.called) * (1 - self.if_negative.value) / (1 - self.rate) if self.rate < 1 else None


def two_groups(positives: int, negatives: int, coded: Iterable[tuple[float, bool, bool]]) -> TwoGroups | None:
    """From weight, verdict and code of each. None where a group has sides of which none is coded; an empty one has no weight."""
    rows = list(coded)
    shares = [
        coded_share((weight, yes) for weight, positive, yes in rows if positive is verdict)
        if size
        else Share(0.0, 0.0, 0.0)
        for verdict, size in ((True, positives), (False, negatives))
    ]
    if shares[0] is None or shares[1] is None or not positives + negatives:
        return None
    return TwoGroups(positives, negatives, shares[0], shares[1])


def corrected(groups: TwoGroups, called: Interval) -> Share:
    """The rate as people see it. `called` is the interval of the share of positives, by whatever the talks have in common."""
    q, yes, no = groups.called, groups.if_positive, groups.if_negative
    alone = wilson(q, groups.positives + groups.negatives)
    difference = yes.value - no.value
    seen = max(LEAST_SEEN, (groups.sensitivity or 0.0) + (groups.specificity or 0.0) - 1)

    def distance(side: int) -> float:
        """Of a limit of q: its part as if sides were drawn one by one, and what their likeness adds."""
        excess = math.sqrt(max(0.0, (called[side] - q) ** 2 - (alone[side] - q) ** 2))
        return math.hypot(difference * (alone[side] - q), excess / seen)

    lower, upper = (0, 1) if difference >= 0 else (1, 0)
    below = math.hypot(q * (yes.value - yes.low), (1 - q) * (no.value - no.low), distance(lower))
    above = math.hypot(q * (yes.high - yes.value), (1 - q) * (no.high - no.value), distance(upper))
    return Share(groups.rate, max(0.0, groups.rate - below), min(1.0, groups.rate + above))


def kappa(pairs: Sequence[tuple[str | float, str | float]]) -> float | None:
    """Cohen's kappa of two coders: 1 − observed ÷ expected disagreement. Codes either agree or not; ratings disagree by the
    square of their difference. None where both said the same of everything."""
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(_distance(a, b) for a, b in pairs) * len(pairs)
    expected = sum(first[a] * second[b] * _distance(a, b) for a in first for b in second)
    return 1 - observed / expected if expected else None


def _distance(first: str | float, second: str | float) -> float:
    if isinstance(first, str) or isinstance(second, str):
        return float(first != second)
    return (first - second) ** 2
