"""The outcomes of a batch as columns: all that its statistics are made of.

A row is one side of a finished conversation, as in the view `outcomes`; the two sides of a talk stand together, the
opener's first. A talk of an agent with itself counts as two interactions of that agent, one for each side.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tidepool.engine.statistics.grouped import Array, pair_codes

_MOST_POINTS = 1e100
Pair = tuple[str, str]
"""two agents in alphabetical order"""


def pair_of(agent: str, opponent: str) -> Pair:
    return (agent, opponent) if agent <= opponent else (opponent, agent)


class SideOutcome(NamedTuple):
    conversation_id: int | str
    mode: str
    game: int
    agent: str
    opponent: str
    opener: bool
    """whether this side opened"""
    revealed: bool
    obtained: bool
    turn: int | None
    """of the first reveal"""
    score: float | None
    scenario: int | None = None
    uncertain: bool | None = None
    """all that was found is an ordinary reading as well"""
    verdict: bool | None = None
    """a judge's"""


@dataclass(frozen=True)
class Labels:
    """Names, and for each row which of them it has."""

    names: tuple[Any, ...]
    codes: Array


@dataclass(frozen=True)
class Sides:
    """Each column is a numpy array with one value a side."""

    talk: Array
    mode: Labels
    game: Array
    names: tuple[str, ...]
    """of all agents, in order"""
    agent: Array
    opponent: Array
    opener: Array
    revealed: Array
    obtained: Array
    turn: Array
    """0 where it did not reveal"""
    score: Array
    """not a number where it is not known yet"""
    scenario: Array
    """0 without one"""
    uncertain: Array
    verdict: Array
    """not a number where there is none"""

    @classmethod
    def of(cls, rows: Iterable[SideOutcome]) -> "Sides":
        import numpy

        rows = list(rows)
        times = Counter(row[0] for row in rows)
        whole = [row for row in rows if times[row[0]] == 2]  # in a damaged file a talk may lack a side
        columns: Sequence[Sequence[Any]] = list(zip(*whole, strict=True)) or [()] * len(SideOutcome._fields)
        told = dict(zip(SideOutcome._fields, columns, strict=True))
        agents = _labels((*told["agent"], *told["opponent"]))
        half = len(told["agent"])

        def numbers(name: str, absent: float) -> Array:
            return numpy.array([absent if value is None else value for value in told[name]], dtype=float)

        return cls(
            talk=_labels(told["conversation_id"], ordered=False).codes,
            mode=_labels(told["mode"]),
            game=_labels(told["game"]).codes,
            names=agents.names,
            agent=agents.codes[:half],
            opponent=agents.codes[half:],
            opener=numbers("opener", 0).astype(bool),
            revealed=numbers("revealed", 0).astype(bool),
            obtained=numbers("obtained", 0).astype(bool),
            turn=numbers("turn", 0).astype(int),
            score=_finite(numbers("score", numpy.nan)),
            scenario=numbers("scenario", 0).astype(int),
            uncertain=numbers("uncertain", 0).astype(bool),
            verdict=numbers("verdict", numpy.nan),
        )

    def __len__(self) -> int:
        return len(self.talk)

    @cached_property
    def only_obtained(self) -> Array:
        return self.obtained & ~self.revealed

    @cached_property
    def direction(self) -> Array:
        """agent against opponent, as one number"""
        return self.agent * len(self.names) + self.opponent

    @cached_property
    def pair(self) -> Array:
        """both agents, whoever is whose opponent"""
        import numpy

        return numpy.minimum(self.agent, self.opponent) * len(self.names) + numpy.maximum(self.agent, self.opponent)

    @cached_property
    def seat(self) -> Array:
        """direction and who opened"""
        return pair_codes(self.direction, self.opener.astype(int))


def _finite(scores: Array) -> Array:
    """A stranger's file may hold what is no number of points."""
    import numpy

    return numpy.where(abs(scores) < _MOST_POINTS, scores, numpy.nan)


def _labels(values: Sequence[Any], *, ordered: bool = True) -> Labels:
    import numpy

    distinct = dict.fromkeys(values)
    names = tuple(sorted(distinct)) if ordered else tuple(distinct)
    places = {name: place for place, name in enumerate(names)}
    return Labels(names, numpy.array([places[value] for value in values], dtype=int))
