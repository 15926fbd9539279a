"""The outcomes of a batch as columns, and by what its sides hang together.

A row is one side of a finished conversation, as in the view `outcomes`; the two sides of a talk stand together, the opener's
first. A talk of an agent with itself counts as two interactions of that agent. Intervals are clustered by the talk; by the game where
memory or kept secrets link its talks; and by the scenario where scenarios repeat.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tidepool.engine.inference.grouped import Array, Grouped, distinct_number, numbered, numpy, pair_codes, places_in
from tidepool.engine.inference.intervals import UNIT, Interval, Rate, rates_of
from tidepool.engine.inference.typed import Statistics
from tidepool.storage.queries.conversations import SidePage

_MOST_POINTS = 1e100
_LARGEST = 2**31 - 1
"""of a scenario, whatever a damaged file says"""
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
class Sides:
    """Each column is a numpy array with one value a side."""

    talk: Array
    game: Array
    names: tuple[str, ...]
    """of all agents, in order"""
    agent: Array
    opponent: Array
    opener: Array
    revealed: Array
    obtained: Array
    score: Array
    """not a number where it is not known yet"""
    scenario: Array
    """0 without one"""
    uncertain: Array
    verdict: Array
    """not a number where there is none"""

    @classmethod
    def read(cls, pages: Iterable[SidePage]) -> "Sides":
        """Page by page: a million talks are never there as objects, and of sides that are alike one is read."""
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
        return numpy.minimum(self.agent, self.opponent) * len(self.names) + numpy.maximum(self.agent, self.opponent)

    @cached_property
    def seat(self) -> Array:
        """direction and who opened"""
        return pair_codes(self.direction, self.opener.astype(int))


KIND = tuple("mode game agent opponent opener revealed obtained turn scenario uncertain verdict score".split())
"""what many sides have in common, in the order of `SidePage`"""


class _Columns:
    """Sides turned into arrays as they come."""

    def __init__(self) -> None:
        self._parts: defaultdict[str, list[Array]] = defaultdict(list)
        self._games: dict[Any, int] = {}
        self._agents: dict[Any, int] = {}

    def add(
        self,
        talks: Sequence[int | str],
        kinds: Sequence[Sequence[Any]],
        which: Array | slice,
        scores: Sequence[float | None] | None = None,
    ) -> None:
        """Sides by the talk they belong to, which of the kinds each is of, and their scores where the kinds do not tell."""
        data = dict(zip(KIND, zip(*kinds, strict=True), strict=True))
        self._parts["talk"].append(numpy.array(talks))
        self._parts["game"].append(places_in(self._games, data["game"])[which])
        self._parts["agent"].append(places_in(self._agents, data["agent"])[which])
        self._parts["opponent"].append(places_in(self._agents, data["opponent"])[which])

        def numbers(name: str) -> Array:
            return numpy.array(data[name], dtype=float)  # what is absent is not a number

        for name in ("opener", "revealed", "obtained", "uncertain"):
            self._parts[name].append(numpy.nan_to_num(numbers(name)).astype(bool)[which])
        scenario = numpy.clip(numpy.nan_to_num(numbers("scenario")), 0, _LARGEST)
        self._parts["scenario"].append(scenario.astype("int32")[which])
        self._parts["verdict"].append(numbers("verdict")[which])
        known = numbers("score")[which] if scores is None else numpy.array(scores, dtype=float)
        # A stranger's file may hold what is no number of points.
        self._parts["score"].append(numpy.where(abs(known) < _MOST_POINTS, known, numpy.nan))

    def of_whole_talks(self) -> dict[str, Any]:
        """All columns of `Sides`; in a damaged file a talk may lack a side, and does not count."""
        if not self._parts:
            self.add([0], [("", 0, "", "", *[False] * 8)], slice(None))  # one side alone: no talk
        columns = {name: numpy.concatenate(self._parts.pop(name)) for name in list(self._parts)}
        talk = numbered(columns["talk"])[1]
        whole = numpy.bincount(talk)[talk] == 2
        if not whole.all():
            columns = {name: column[whole] for name, column in columns.items()}
            talk = numbered(talk[whole])[1]
        _, (game,) = _in_order(self._games, columns["game"])
        names, (agent, opponent) = _in_order(self._agents, columns["agent"], columns["opponent"])
        return columns | {
            "talk": talk,
            "game": game.astype("int32"),
            "names": names,
            "agent": agent,
            "opponent": opponent,
        }


def _in_order(places: Mapping[Any, int], *columns: Array) -> tuple[tuple[Any, ...], list[Array]]:
    """The names that these columns hold, in order, and the columns with their places."""
    held = numpy.zeros(len(places), dtype=bool)
    for column in columns:
        held[column] = True
    ordered = sorted((name, place) for name, place in places.items() if held[place])
    new = numpy.zeros(len(places), dtype=int)
    new[[place for _, place in ordered]] = numpy.arange(len(ordered))
    return tuple(name for name, _ in ordered), [new[column] for column in columns]


FEW_TALKS = 10
"""fewer talks take their spread from the batch as a whole"""
FEW_CLUSTERS = 5
"""fewer games or scenarios are told of as hardly any"""
CACHED_GROUPINGS = 1
"""groupings whose arrays are kept for the next figure: of a million talks each takes a hundred megabytes"""


@dataclass(frozen=True)
class Inference(Statistics):
    """What the intervals speak of, and how many independent pieces they rest on."""

    clusters: str
    """talks, games, scenarios, games and scenarios"""
    talks: int
    games: int
    scenarios: int
    speaks_of: str
    note: str | None


class Clustering:
    def __init__(self, sides: Sides, *, linked: bool, scenarios_differ: bool = True, missing: float = 0.0) -> None:
        """`missing` is the share of the conversations that failed."""
        self.sides = sides
        self.linked = linked
        self.missing = missing
        self._groupings: dict[tuple[int, ...], tuple[Grouped, Any]] = {}
        self.by_scenario = scenarios_differ and 1 < self.scenarios < self.talks

    @cached_property
    def talks(self) -> int:
        return distinct_number(self.sides.talk)

    @cached_property
    def games(self) -> int:
        return distinct_number(self.sides.game)

    @cached_property
    def scenarios(self) -> int:
        return distinct_number(self.sides.scenario[self.sides.scenario > 0])

    @property
    def by_talk(self) -> bool:
        return not (self.linked or self.by_scenario)

    @cached_property
    def ways(self) -> tuple[Array, ...]:
        ways = [self.sides.game] if self.linked else []
        ways += [self.sides.scenario] if self.by_scenario else []
        return tuple(ways) or (self.sides.talk,)

    @property
    def fewest(self) -> int:
        """clusters, of the way with fewest"""
        return min(distinct_number(way) for way in self.ways)

    def grouped(self, groups: Array, size: int, levels: Sequence[Array] = (), rows: Array | None = None) -> Grouped:
        """`groups` and `levels` are of all sides; only `rows` of them count. The same arrays are sorted once."""
        if rows is not None and not rows.all():
            ways, finer = [way[rows] for way in self.ways], [level[rows] for level in levels]
            return Grouped(groups[rows], size, ways, finer, self.missing)
        key = (size, id(groups), *map(id, levels))
        if key not in self._groupings:
            if len(self._groupings) >= CACHED_GROUPINGS:
                del self._groupings[next(iter(self._groupings))]
            self._groupings[key] = Grouped(groups, size, self.ways, levels, self.missing), (groups, levels)
        return self._groupings[key][0]

    def rates(
        self, grouped: Grouped, values: Array, bounds: Interval = UNIT, likeness: float = 0.0
    ) -> list[Rate | None]:
        few = FEW_TALKS if self.by_talk else 0
        return rates_of(grouped.spread(values.astype(float)), bounds, few, likeness)

    def likeness(self, values: Array) -> float:
        """How alike the two sides of a talk are, beyond what their agents have in common: from 0 to 1."""
        values = values.astype(float)
        times = numpy.bincount(self.sides.agent)
        if not len(values):
            return 0.0
        rest = values - (numpy.bincount(self.sides.agent, values) / numpy.maximum(times, 1))[self.sides.agent]
        whole = float((rest**2).sum())
        order = numpy.argsort(self.sides.talk, kind="stable")
        together = rest[order][::2] * rest[order][1::2]
        return min(1.0, max(0.0, 2 * float(together.sum()) / whole)) if whole else 0.0

    @cached_property
    def inference(self) -> Inference:
        words = [word for word, true in (("games", self.linked), ("scenarios", self.by_scenario)) if true]
        return Inference(
            clusters=" and ".join(words) or "talks",
            talks=self.talks,
            games=self.games,
            scenarios=self.scenarios,
            speaks_of=_speaks_of(self),
            note=_note(self),
        )


def _speaks_of(clustering: Clustering) -> str:
    agents = "these agents in "
    if clustering.by_scenario:
        return agents + ("games and scenarios like these" if clustering.linked else "scenarios like these")
    if clustering.scenarios:
        return agents + "these scenarios"
    return agents + ("games like these" if clustering.linked else "talks like these")


def _note(clustering: Clustering) -> str | None:
    if clustering.linked and clustering.games == 1:
        return (
            "one game: no inference beyond it, since its talks hang together by memory or kept secrets. "
            "Play several games (games = 10 or more) to have intervals."
        )
    if clustering.scenarios == 1:
        return "one scenario: the intervals speak of it alone; other scenarios may differ."
    if not clustering.by_talk and clustering.fewest < FEW_CLUSTERS:
        fewer_games = not clustering.by_scenario or clustering.games <= clustering.scenarios
        word = "games" if clustering.linked and fewer_games else "scenarios"
        return (
            f"{clustering.fewest} {word}: hardly any inference beyond them. More of them make the intervals narrower."
        )
    met = distinct_number(pair_codes(clustering.sides.pair, clustering.sides.scenario))
    if clustering.by_scenario and met == distinct_number(clustering.sides.pair) > 1:
        return (
            "every two agents met in one scenario alone: what is theirs and what is the scenario's cannot be told apart. "
            'pairing = "ordered", or another number of scenarios, crosses them.'
        )
    return None
