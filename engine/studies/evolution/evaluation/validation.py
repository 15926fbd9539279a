"""The honest comparison: champion and best seed prompt on problems that never chose either of them.

The interval is Wilson's. With several samples a problem, replies to one problem resemble each other, so
the number of independent replies it may count is estimated from the spread between problems and never
exceeds the replies. It speaks of problems like these, not only of these very ones.

The test is paired by problem: exact McNemar where every problem is right or wrong, sign flips where
samples make shares of it. Both hold their level for any number of problems; a pair with a side missing
says nothing and is left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, variance

from tidepool.engine.statistics.distributions import even_odds_p_value
from tidepool.engine.statistics.significance import sign_flip_p_value
from tidepool.engine.studies.evolution.evaluation.fitness import Replies

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How one prompt did on the held-out problems."""

    accuracy: float | None
    """None: nothing came back"""
    ci95: tuple[float, float] | None
    problems: int
    """that were answered at least once"""
    missing: float
    """share of calls that did not come back"""


@dataclass(frozen=True, slots=True)
class HeldOutComparison:
    champion: HeldOut
    baseline: HeldOut
    pairs: int
    difference: float
    """champion minus baseline, over the pairs"""
    p_value: float

    @property
    def better(self) -> str | None:
        """champion, baseline, or None where the two cannot be told apart."""
        if self.p_value > LEVEL or self.difference == 0:
            return None
        return "champion" if self.difference > 0 else "baseline"


def compare(champion: Sequence[Replies], baseline: Sequence[Replies], seed: int = 0) -> HeldOutComparison:
    """Both sequences are by problem, in the same order. A seed that stayed champion is asked once."""
    pairs = [
        (ours, theirs)
        for ours, theirs in zip(map(score, champion), map(score, baseline), strict=True)
        if ours is not None and theirs is not None
    ]
    differences = [ours - theirs for ours, theirs in pairs]
    return HeldOutComparison(
        held_out(champion),
        held_out(baseline),
        len(pairs),
        fmean(differences) if differences else 0.0,
        paired_p_value(differences, seed),
    )


def held_out(problems: Sequence[Replies]) -> HeldOut:
    scores = [share for share in map(score, problems) if share is not None]
    asked = sum(map(len, problems))
    replies = sum(reply is not None for one in problems for reply in one)
    missing = 1 - replies / asked if asked else 0.0
    if not scores:
        return HeldOut(None, None, 0, missing)
    accuracy = fmean(scores)
    return HeldOut(accuracy, wilson(accuracy, independent_replies(scores, replies)), len(scores), missing)


def score(replies: Replies) -> float | None:
    """The share of right answers to one problem among what came back, or the mean score."""
    answered = [reply.worth for reply in replies if reply is not None]
    return fmean(answered) if answered else None


def independent_replies(scores: Sequence[float], replies: int) -> float:
    """Between the number of problems, when samples only repeat each other, and the number of replies."""
    problems = len(scores)
    if replies == problems:
        return problems
    mean = fmean(scores)
    spread = variance(scores) if problems > 1 else 0.0
    if spread == 0 or mean in (0, 1):
        return problems
    return max(problems, min(replies, problems * mean * (1 - mean) / spread))


def wilson(share: float, count: float, confidence: float = 0.95) -> tuple[float, float]:
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    shrink = 1 + z * z / count
    centre = (share + z * z / (2 * count)) / shrink
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / shrink
    return max(0.0, centre - half), min(1.0, centre + half)


def paired_p_value(differences: Sequence[float], seed: int = 0) -> float:
    """Two-sided."""
    discordant = [difference for difference in differences if difference]
    if not discordant:
        return 1.0
    if all(abs(difference) == 1 for difference in discordant):
        return even_odds_p_value(sum(difference > 0 for difference in discordant), len(discordant))
    return sign_flip_p_value(discordant, seed)
