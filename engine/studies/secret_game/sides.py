"""The outcomes of a batch as columns, and the clusters of its sides.

A row is one side of a finished conversation, as in the view `outcomes`. The two sides of a conversation are adjacent, the
opener's first. A conversation of an agent with itself counts as two interactions of that agent. Intervals are clustered by
conversation; by game, if memory or collected secrets link its conversations; and by scenario, if scenarios repeat.
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
"""limit for the number of a scenario, in case the file is damaged"""


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
    """all hits also have an ordinary reading"""
    verdict: bool | None = None
    """a judge's"""
    score: float | None = None


@dataclass(frozen=True)
class Sides:
    """Each column is a numpy array with one value per side."""

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
    """NaN if it is not known yet"""
    scenario: Array
    """0 without one"""
    uncertain: Array
    verdict: Array
    """NaN without a verdict"""

    @classmethod
    def read(cls, pages: Iterable[SidePage]) -> "Sides":
        """Reads page by page, so a million conversations never exist as objects. Sides that are equal are parsed once."""
        columns = SideColumns()
        for page in pages:
            places = {kind: place for place, kind in enumerate(dict.fromkeys(page.kinds))}
            which = numpy.fromiter(map(places.__getitem__, page.kinds), dtype=int, count=len(page.kinds))
            columns.add(page.units, json.loads(f"[{','.join(places)}]"), which, page.scores)
        return columns.of_whole_talks()

    def __len__(self) -> int:
        return len(self.talk)

    @cached_property
    def pair(self) -> Array:
        """both agents, in either order"""
        return numpy.minimum(self.agent, self.opponent) * len(self.names) + numpy.maximum(self.agent, self.opponent)


class SideColumns:
    """Collects sides into arrays."""

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
        """Sides by their conversation, the kind of each, and their scores if the kinds do not contain them."""
        data = dict(zip(SideOutcome._fields[1:], zip(*kinds, strict=True), strict=True))

        def numbers(name: str) -> Array:
            return numpy.array(data[name], dtype=float)  # a missing value becomes NaN

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
            # An untrusted file may contain a score that is not a number.
            "score": numpy.where(abs(known) < _MOST_POINTS, known, numpy.nan),
        }
        for name, column in columns.items():
            self._parts[name].append(column)

    def of_whole_talks(self) -> Sides:
        """Drops conversations with only one side, which occur in a damaged file."""
        if not self._parts:
            self.add([0], [SideOutcome(0, 0, "", "", False, False, False)[1:]])  # a single side is not a conversation
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
    """The sorted names of these columns, and the columns with indices into them."""
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
        """names of the clusters, if they are not conversations"""
        return ["games"] * self.linked + ["scenarios"] * self.by_scenario

    @cached_property
    def ways(self) -> tuple[Array, ...]:
        ways = [self.sides.game] if self.linked else []
        ways += [self.sides.scenario] if self.by_scenario else []
        return tuple(ways) or (self.sides.talk,)

    def grouped(self, groups: Array, size: int, rows: Array | slice = slice(None)) -> Grouped:
        """`groups` covers all sides; only those in `rows` count."""
        return Grouped(groups[rows], size, [way[rows] for way in self.ways])

    def rates(
        self, grouped: Grouped, values: Array, bounds: Interval = UNIT, likeness: float = 0.0
    ) -> list[Rate | None]:
        few = FEW_TALKS if self.by_talk else 0
        return rates_of(grouped.spread(values.astype(float)), bounds, few, likeness)

    def likeness(self, values: Array) -> float:
        """The correlation of the two sides of a conversation, beyond what their agents have in common: from 0 to 1."""
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
        """The share of sides that reveal, over conversations in the order of the plan, or over games that link them. If scenarios
        repeat, the mean of each scenario is subtracted. None if one half of the run misses a scenario of the other half."""
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

    @property
    def inference(self) -> dict[str, Any]:
        """What the intervals describe, and the number of independent units."""
        clusters = " and ".join(self.nouns) or "talks"
        within = (
            "these scenarios"
            if self.scenarios and not self.by_scenario
            else f"{clusters.replace('talks', 'conversations')} like these"
        )
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
                "one game, so there is no inference beyond it: memory or collected secrets link its conversations. "
                "Run several games (games = 10 or more) to get intervals."
            )
        if self.scenarios == 1:
            return "one scenario: the intervals describe only this scenario. Other scenarios may differ."
        if self.by_talk:
            return None
        number, noun = min((distinct_number(way), noun) for way, noun in zip(self.ways, self.nouns, strict=True))
        of_all = few_clusters(number, noun)
        if number < FEWEST_TESTED:
            return of_all
        fewest, of_one = self._fewest_of_pair()
        of_pair = few_clusters(fewest, of_one)
        if fewest >= FEWEST_TESTED:
            return of_all or of_pair or None
        return f"{of_pair}. There are only {number:,} {noun} in all" if of_all else of_pair

    def _fewest_of_pair(self) -> tuple[int, str]:
        """The clusters of the pair with the fewest. If scenarios rotate with the pairs, each pair meets only some of them."""
        distinct = [numpy.unique(pair_codes(self.sides.pair, way)) // (int(way.max()) + 1) for way in self.ways]
        numbers = (int(numpy.unique(pairs, return_counts=True)[1].min()) for pairs in distinct)
        return min((number, f"{noun} for a pair") for number, noun in zip(numbers, self.nouns, strict=True))
