"""The outcomes of a batch as columns: all that its statistics are made of.

A row is one side of a finished conversation, as in the view `outcomes`; the two sides of a talk stand together, the
opener's first. A talk of an agent with itself counts as two interactions of that agent, one for each side.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tidepool.engine.statistics.grouped import Array, pair_codes
from tidepool.engine.statistics.labels import numbered
from tidepool.storage.queries.conversations import SidePage

_MOST_POINTS = 1e100
_LARGEST = 2**31 - 1
"""of a turn or a scenario, whatever a damaged file says"""
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
        columns = _Columns()
        if sides := [SideOutcome(*row) for row in rows]:
            kinds = [[getattr(side, name) for name in KIND] for side in sides]
            columns.add([side.conversation_id for side in sides], kinds, slice(None))
        return cls(**columns.of_whole_talks())

    @classmethod
    def read(cls, pages: Iterable[SidePage]) -> "Sides":
        """Page by page: a million talks are never there as objects, and of sides that are alike one is read."""
        import numpy

        columns = _Columns()
        for page in pages:
            places = {kind: place for place, kind in enumerate(dict.fromkeys(page.kinds))}
            which = numpy.fromiter(map(places.__getitem__, page.kinds), dtype=int, count=len(page.kinds))
            columns.add(page.units, json.loads(f"[{','.join(places)}]"), which, page.scores)
        return cls(**columns.of_whole_talks())

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


KIND = (
    "mode",
    "game",
    "agent",
    "opponent",
    "opener",
    "revealed",
    "obtained",
    "turn",
    "scenario",
    "uncertain",
    "verdict",
    "score",
)
"""what many sides have in common, in the order of `SidePage`"""


class _Columns:
    """Sides turned into arrays as they come."""

    def __init__(self) -> None:
        self._parts: defaultdict[str, list[Array]] = defaultdict(list)
        self._modes, self._games, self._agents = _Names(), _Names(), _Names()

    def add(
        self,
        talks: Sequence[int | str],
        kinds: Sequence[Sequence[Any]],
        which: Array | slice,
        scores: Sequence[float | None] | None = None,
    ) -> None:
        """Sides by the talk they belong to, which of the kinds each is of, and their scores where the kinds do not tell."""
        import numpy

        told = dict(zip(KIND, zip(*kinds, strict=True), strict=True))
        self._keep("talk", numpy.array(talks))
        self._keep("mode", self._modes.codes(told["mode"])[which])
        self._keep("game", self._games.codes(told["game"])[which])
        self._keep("agent", self._agents.codes(told["agent"])[which])
        self._keep("opponent", self._agents.codes(told["opponent"])[which])

        def numbers(name: str) -> Array:
            return numpy.array(told[name], dtype=float)  # what is absent is not a number

        for name in ("opener", "revealed", "obtained", "uncertain"):
            self._keep(name, numpy.nan_to_num(numbers(name)).astype(bool)[which])
        for name in ("turn", "scenario"):
            self._keep(name, numpy.clip(numpy.nan_to_num(numbers(name)), 0, _LARGEST).astype("int32")[which])
        self._keep("verdict", numbers("verdict")[which])
        known = numbers("score")[which] if scores is None else numpy.array(scores, dtype=float)
        self._keep("score", _finite(known))

    def _keep(self, name: str, column: Array) -> None:
        self._parts[name].append(column)

    def of_whole_talks(self) -> dict[str, Any]:
        """All columns of `Sides`; in a damaged file a talk may lack a side, and does not count."""
        import numpy

        if not self._parts:
            self.add([0], [("", 0, "", "", *[False] * 8)], slice(None))  # one side alone: no talk
        found = {name: numpy.concatenate(self._parts.pop(name)) for name in list(self._parts)}
        talk = numbered(found["talk"])[1]
        whole = numpy.bincount(talk)[talk] == 2
        if not whole.all():
            found = {name: column[whole] for name, column in found.items()}
            talk = numbered(talk[whole])[1]
        modes, mode = self._modes.in_order([found["mode"]])
        _, game = self._games.in_order([found["game"]])
        names, agents = self._agents.in_order([found["agent"], found["opponent"]])
        return found | {
            "talk": talk,
            "mode": Labels(modes, mode[0].astype("int32")),
            "game": game[0].astype("int32"),
            "names": names,
            "agent": agents[0],
            "opponent": agents[1],
        }


class _Names:
    """Numbers for names, as they occur."""

    def __init__(self) -> None:
        self._places: dict[Any, int] = {}

    def codes(self, values: Sequence[Any]) -> Array:
        import numpy

        places = self._places
        for name in dict.fromkeys(values):
            places.setdefault(name, len(places))
        return numpy.fromiter(map(places.__getitem__, values), dtype=int, count=len(values))

    def in_order(self, columns: Sequence[Array]) -> tuple[tuple[Any, ...], list[Array]]:
        """The names that these columns hold, in order, and the columns with their places."""
        import numpy

        held = numpy.zeros(len(self._places), dtype=bool)
        for column in columns:
            held[column] = True
        ordered = sorted((name, place) for name, place in self._places.items() if held[place])
        new = numpy.zeros(len(self._places), dtype=int)
        new[[place for _, place in ordered]] = numpy.arange(len(ordered))
        return tuple(name for name, _ in ordered), [new[column] for column in columns]
