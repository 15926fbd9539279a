"""Who becomes a parent: each way takes the scores of a population and answers with indexes into it."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Protocol

from tidepool.engine.errors import UsageError

TOURNAMENT_SIZE = 3
ELITIST_SHARE = 0.25


class Selection(Protocol):
    def __call__(self, scores: Sequence[float], count: int, rng: Random) -> list[int]: ...


def tournament(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """The best of three drawn without repetition."""
    size = min(TOURNAMENT_SIZE, len(scores))
    everyone = range(len(scores))
    return [max(rng.sample(everyone, size), key=scores.__getitem__) for _ in range(count)]


def roulette(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """In proportion to fitness; scores below zero count as zero."""
    return rng.choices(range(len(scores)), weights=_shares(scores), k=count)


def rank(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """In proportion to the place from the bottom, so one runaway score does not take everything."""
    return rng.choices(range(len(scores)), weights=_ranks(scores), k=count)


def sus(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """Stochastic universal sampling: one spin, evenly spaced pointers; each gets its fair share."""
    if not count:
        return []
    wheel = list(accumulate(_shares(scores)))
    gap = wheel[-1] / count
    first = rng.random() * gap
    last = len(scores) - 1
    picked = [min(bisect_left(wheel, first + place * gap), last) for place in range(count)]
    rng.shuffle(picked)
    return picked


def elitist(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """Evenly from the best quarter, two at least."""
    best = elites(scores, max(2, round(len(scores) * ELITIST_SHARE)))
    return rng.choices(best, k=count)


SELECTIONS: dict[str, Selection] = {
    "tournament": tournament,
    "roulette": roulette,
    "rank": rank,
    "sus": sus,
    "elitist": elitist,
}


def selection_named(name: str) -> Selection:
    if name not in SELECTIONS:
        raise UsageError(
            f"evolution.selection is {name!r}; it must be one of {', '.join(SELECTIONS)}.", ("evolution", "selection")
        )
    return SELECTIONS[name]


def elites(scores: Sequence[float], count: int) -> list[int]:
    """The best by score, the earlier one first among equals."""
    return sorted(range(len(scores)), key=lambda index: -scores[index])[:count]


def _shares(scores: Sequence[float]) -> list[float]:
    shares = [max(0.0, score) for score in scores]
    return shares if sum(shares) > 0 else [1.0] * len(scores)


def _ranks(scores: Sequence[float]) -> list[float]:
    """1 for the worst; equals share the mean of their places."""
    ordered = sorted(scores)
    last_place = {score: place for place, score in enumerate(ordered, 1)}
    first_place = {score: place for place, score in reversed(list(enumerate(ordered, 1)))}
    return [(first_place[score] + last_place[score]) / 2 for score in scores]
