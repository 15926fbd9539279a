"""Shares of a coded sample, weighted back to the batch, with intervals at 95 %; agreement of coders.

A corrected rate is post-stratified by the verdict. It is the share called positive times the share of those that are positive,
plus the same for the rest. MOVER (Zou and Donner) joins Wilson's limits of the parts: the distance of the sum from its limit
is the root of the squared distances of the parts.

Estimates are about conversations like these, not about these alone. A batch's verdicts vary in two ways. First, each side
varies as if it were sampled by itself. The codes explain a part of this, by the difference that a verdict makes to them. Second,
conversations vary: the true codes of their sides correlate. Verdicts show only a part of this correlation, namely
sensitivity + specificity − 1. So the amount that the sides' correlation adds to the interval of the verdicts is divided by
that factor. Without this correction, coverage is 92 % if every conversation is coded, and 72–91 % if games are linked.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidepool.engine.inference.intervals import Interval, wilson

LEAST_SEEN = 0.2
"""if sensitivity + specificity − 1 is below this, the instrument has almost no information"""


@dataclass(frozen=True, slots=True)
class Share:
    """An estimate with its limits."""

    value: float
    low: float
    high: float


def coded_share(coded: Iterable[tuple[float, bool]]) -> Share | None:
    """From the weight and the code of each; None if none is coded. Unequal weights reduce the effective number of trials."""
    pairs = list(coded)
    total = sum(weight for weight, _ in pairs)
    if not total:
        return None
    share = sum(weight for weight, yes in pairs if yes) / total
    return Share(share, *wilson(share, total**2 / sum(weight**2 for weight, _ in pairs)))


@dataclass(frozen=True, slots=True)
class TwoGroups:
    """The sides that an instrument calls positive, the others, and how many of each are truly positive."""

    positives: int
    negatives: int
    if_positive: Share
    """of the positives that are truly positive: the predictive value"""
    if_negative: Share
    """of the negatives that are truly positive: the false omission rate"""

    @property
    def called(self) -> float:
        """The share of sides called positive."""
        return self.positives / (self.positives + self.negatives)

    @property
    def rate(self) -> float:
        """The share of sides that are truly positive."""
        return self.called * self.if_positive.value + (1 - self.called) * self.if_negative.value

    @property
    def sensitivity(self) -> float | None:
        """The share of truly positive sides that are called positive; `None` without any."""
        return self.called * self.if_positive.value / self.rate if self.rate else None

    @property
    def specificity(self) -> float | None:
        """The share of truly negative sides that are called negative; `None` without any."""
        return (1 - self.called) * (1 - self.if_negative.value) / (1 - self.rate) if self.rate < 1 else None


def two_groups(positives: int, negatives: int, coded: Iterable[tuple[float, bool, bool]]) -> TwoGroups | None:
    """From the weight, verdict and code of each side. None if a group has sides but no codes. An empty group has no weight."""
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
    """The rate as coders see it. `called` is the interval of the share called positive, clustered as the conversations are."""
    q, yes, no = groups.called, groups.if_positive, groups.if_negative
    alone = wilson(q, groups.positives + groups.negatives)
    difference = yes.value - no.value
    seen = max(LEAST_SEEN, (groups.sensitivity or 0.0) + (groups.specificity or 0.0) - 1)

    def distance(side: int) -> float:
        """Of a limit of q: the part from sampling single sides, and the part that their correlation adds."""
        excess = math.sqrt(max(0.0, (called[side] - q) ** 2 - (alone[side] - q) ** 2))
        return math.hypot(difference * (alone[side] - q), excess / seen)

    lower, upper = (0, 1) if difference >= 0 else (1, 0)
    below = math.hypot(q * (yes.value - yes.low), (1 - q) * (no.value - no.low), distance(lower))
    above = math.hypot(q * (yes.high - yes.value), (1 - q) * (no.high - no.value), distance(upper))
    return Share(groups.rate, max(0.0, groups.rate - below), min(1.0, groups.rate + above))


def kappa(pairs: Sequence[tuple[str | float, str | float]]) -> float | None:
    """Cohen's kappa of two coders: 1 − observed ÷ expected disagreement. Codes either agree or not; ratings disagree by the
    square of their difference. None if both coders gave the same code everywhere."""
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(_distance(a, b) for a, b in pairs) * len(pairs)
    expected = sum(first[a] * second[b] * _distance(a, b) for a in first for b in second)
    return 1 - observed / expected if expected else None


def _distance(first: str | float, second: str | float) -> float:
    if isinstance(first, str) or isinstance(second, str):
        return float(first != second)
    return (first - second) ** 2
