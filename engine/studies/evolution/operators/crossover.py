"""Two parents' segments make one child's. A child is never empty and says nothing twice."""

from collections.abc import Sequence
from itertools import zip_longest
from random import Random
from typing import Protocol

from tidepool.engine.errors import UsageError

Segments = Sequence[str]


class Crossover(Protocol):
    def __call__(self, mother: Segments, father: Segments, rng: Random) -> tuple[str, ...]: ...


def single_point(mother: Segments, father: Segments, rng: Random) -> tuple[str, ...]:
    """The mother up to a point, the father from a point of his own on."""
    head = mother[: rng.randint(0, len(mother))]
    tail = father[rng.randint(0, len(father)) :]
    return _child([*head, *tail], mother)


def two_point(mother: Segments, father: Segments, rng: Random) -> tuple[str, ...]:
    """A stretch of the mother is replaced by a stretch of the father."""
    start, end = _stretch(mother, rng)
    his_start, his_end = _stretch(father, rng)
    return _child([*mother[:start], *father[his_start:his_end], *mother[end:]], mother)


def uniform(mother: Segments, father: Segments, rng: Random) -> tuple[str, ...]:
    """At each place one parent's segment or the other's; past the end of the shorter one, that means none."""
    pairs = zip_longest(mother, father)
    chosen = (pair[rng.random() < 0.5] for pair in pairs)
    return _child([segment for segment in chosen if segment is not None], mother)


def blend(mother: Segments, father: Segments, rng: Random) -> tuple[str, ...]:
    """A share of the mother's segments, the rest of the father's, in the order of where they stood."""
    share = rng.random()
    placed = _placed_sample(mother, share, rng) + _placed_sample(father, 1 - share, rng)
    return _child([segment for _, segment in sorted(placed)], mother)


CROSSOVERS: dict[str, Crossover] = {
    "single_point": single_point,
    "two_point": two_point,
    "uniform": uniform,
    "blend": blend,
}


def crossover_named(name: str) -> Crossover:
    if name not in CROSSOVERS:
        raise UsageError(
            f"evolution.crossover is {name!r}; it must be one of {', '.join(CROSSOVERS)}.", ("evolution", "crossover")
        )
    return CROSSOVERS[name]


def _child(segments: Segments, otherwise: Segments) -> tuple[str, ...]:
    return tuple(dict.fromkeys(segments)) or tuple(otherwise)


def _stretch(segments: Segments, rng: Random) -> tuple[int, int]:
    first, second = rng.randint(0, len(segments)), rng.randint(0, len(segments))
    return min(first, second), max(first, second)


def _placed_sample(segments: Segments, share: float, rng: Random) -> list[tuple[float, str]]:
    kept = sorted(rng.sample(range(len(segments)), round(share * len(segments))))
    return [((index + 0.5) / len(segments), segments[index]) for index in kept]
