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

from tidepool.engine.inference.contrasts import FEWEST_TESTED, few_clusters
from tidepool.engine.inference.effects import FEW_TALKS
from tidepool.engine.inference.grouped import Array, Grouped, distinct_number, numbered, numpy, pair_codes, places_in
from tidepool.engine.inference.intervals import UNIT, Interval, Rate, rates_of
from tidepool.engine.inference.significance import over_the_run
from tidepool.storage.queries.conversations import SidePage

_MOST_POINTS = 1e100
_LARGEST = 2**31 - 1
"""of a scenario, whatever a damaged file says"""


class SideOutcome(NamedTuple):
    conversation_id: int | str
    game: int
    agent: str
    opponent: str
    opener: bool
    """whether this side opened"""
    revealed: bool
    obtained: bool
    scenario: int | None = None
    uncertain: bool | None = None
    """all that was found is an ordinary reading as well"""
    verdict: bool | None = None
    """a judge's"""
    score: float | None = None


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
        columns = SideColumns()
        for page in pages:
            places = {kind: place for place, kind in enumerate(dict.fromkeys(page.kinds))}
            which = numpy.fromiter(map(places.__getitem__, page.kinds), dtype=int, count=len(page.kinds))
            columns.add(page.units, json.loads(f"[{','.join(places)}]"), which, page.scores)
        return columns.of_whole_talks()

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


class SideColumns:
    """Sides turned into arrays as they come."""

    def __init__(self) -> None:
        self._parts: defaultdict[str, list[Array]] = defaultdict(list)
        self._games: dict[Any, int] = {}
        self._agents: dict[Any, int] = {}

    def add(
        self,
        talks: Sequence[int | str],
        kinds: Sequence[Sequence[Any]],
        which: Array | slice = slice(None),
        scores: Sequence[float | None] | None = None,
    ) -> None:
        """Sides by the talk they belong to, which of the kinds each is of, and their scores where the kinds do not tell."""
        data = dict(zip(SideOutcome._fields[1:], zip(*kinds, strict=True), strict=True))

        def numbers(name: str) -> Array:
            return numpy.array(data[name], dtype=float)  # what is absent is not a number

        known = numbers("score")[which] if scores is None else numpy.array(scores, dtype=float)
        columns = {
            "talk": numpy.array(talks),
            "game": places_in(self._games, data["game"])[which],
            **{name: places_in(self._agents, data[name])[which] for name in ("agent", "opponent")},
            **{
                name: numpy.nan_to_num(numbers(name)).astype(bool)[which]
                for name in ("opener", "revealed", "obtained", "uncertain")
            },
            "scenario": numpy.clip(numpy.nan_to_num(numbers("scenario")), 0, _LARGEST).astype("int32")[which],
            "verdict": numbers("verdict")[which],
            # A stranger's file may hold what is no number of points.
            "score": numpy.where(abs(known) < _MOST_POINTS, known, numpy.nan),
        }
        for name, column in columns.items():
            self._parts[name].append(column)

    def of_whole_talks(self) -> Sides:
        """In a damaged file a talk may lack a side, and does not count."""
        if not self._parts:
            self.add([0], [SideOutcome(0, 0, "", "", False, False, False)[1:]])  # one side alone: no talk
        for parts in self._parts.values():
            parts[:] = [numpy.concatenate(parts)]
        columns = {name: parts[0] for name, parts in self._parts.items()}
        talk = numbered(columns["talk"])[1]
        whole = numpy.bincount(talk)[talk] == 2
        if not whole.all():
            columns = {name: column[whole] for name, column in columns.items()}
            talk = numbered(talk[whole])[1]
        _, (game,) = _in_order(self._games, columns["game"])
        names, (agent, opponent) = _in_order(self._agents, columns["agent"], columns["opponent"])
        found = {"talk": talk, "game": game.astype("int32"), "names": names, "agent": agent, "opponent": opponent}
        return Sides(**columns | found)


def _in_order(places: Mapping[Any, int], *columns: Array) -> tuple[tuple[Any, ...], list[Array]]:
    """The names that these columns hold, in order, and the columns with their places."""
    held = numpy.zeros(len(places), dtype=bool)
    for column in columns:
        held[column] = True
    ordered = sorted((name, place) for name, place in places.items() if held[place])
    new = numpy.zeros(len(places), dtype=int)
    new[[place for _, place in ordered]] = numpy.arange(len(ordered))
    return tuple(name for name, _ in ordered), [new[column] for column in columns]


class Clustering:
    def __init__(self, sides: Sides, *, linked: bool, scenarios_differ: bool = True) -> None:
        self.sides = sides
        self.linked = linked
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

    @property
    def nouns(self) -> list[str]:
        """of the clusters, where they are no talks"""
        return ["games"] * self.linked + ["scenarios"] * self.by_scenario

    @cached_property
    def ways(self) -> tuple[Array, ...]:
        ways = [self.sides.game] if self.linked else []
        ways += [self.sides.scenario] if self.by_scenario else []
        return tuple(ways) or (self.sides.talk,)

    def grouped(self, groups: Array, size: int, rows: Array | slice = slice(None)) -> Grouped:
        """`groups` are of all sides; only `rows` of them count."""
        return Grouped(groups[rows], size, [way[rows] for way in self.ways])

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

    def over_the_run(self) -> dict[str, Any] | None:
        """The share of sides that reveal, by conversations in the order of the plan, or by games that link them. Of scenarios
        that repeat, each one's own mean is left out; None where one half of the run lacks a scenario of the other."""
        ways, values = self.sides.game if self.linked else self.sides.talk, self.sides.revealed.astype(float)
        if self.by_scenario:
            scenario, late = self.sides.scenario, ways > numpy.median(ways)
            if set(scenario[late].tolist()) != set(scenario[~late].tolist()):
                return None
            means = numpy.bincount(scenario, values) / numpy.maximum(1, numpy.bincount(scenario))
            values = values.mean() + values - means[scenario]
        times = numpy.bincount(ways)
        revealed = numpy.bincount(ways, values)[times > 0] / times[times > 0]
        run = over_the_run(revealed, UNIT, 100.0)
        return run and {**run, **({"estimand": "these agents in these scenarios"} if self.by_scenario else {})}

    def overall_rate(self) -> Rate | None:
        """The share of sides that revealed."""
        sides = self.sides
        grouped = self.grouped(numpy.zeros(len(sides), dtype=int), 1)
        return self.rates(grouped, sides.revealed, likeness=self.likeness(sides.revealed))[0]

    @property
    def inference(self) -> dict[str, Any]:
        """What the intervals speak of, and how many independent pieces they rest on."""
        clusters = " and ".join(self.nouns) or "talks"
        within = "these scenarios" if self.scenarios and not self.by_scenario else f"{clusters} like these"
        return {
            "clusters": clusters,
            "talks": self.talks,
            "games": self.games,
            "scenarios": self.scenarios,
            "speaks_of": f"these agents in {within}",
            "note": self._note(),
        }

    def _note(self) -> str | None:
        if self.linked and self.games == 1:
            return (
                "one game: no inference beyond it, since its talks hang together by memory or kept secrets. "
                "Play several games (games = 10 or more) to have intervals."
            )
        if self.scenarios == 1:
            return "one scenario: the intervals speak of it alone; other scenarios may differ."
        if self.by_talk:
            return None
        number, noun = min((distinct_number(way), noun) for way, noun in zip(self.ways, self.nouns, strict=True))
        of_all = few_clusters(number, noun)
        if number < FEWEST_TESTED:
            return of_all
        fewest, of_one = self._fewest_of_pair()
        return (fewest >= FEWEST_TESTED and of_all) or few_clusters(fewest, of_one) or None

    def _fewest_of_pair(self) -> tuple[int, str]:
        """Clusters of the pair that has fewest: where scenarios go round with the pairs, each pair meets some of them only."""
        distinct = [numpy.unique(pair_codes(self.sides.pair, way)) // (int(way.max()) + 1) for way in self.ways]
        numbers = (int(numpy.unique(pairs, return_counts=True)[1].min()) for pairs in distinct)
        return min((number, f"{noun} for a pair") for number, noun in zip(numbers, self.nouns, strict=True))
