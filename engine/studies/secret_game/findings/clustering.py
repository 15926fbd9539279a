"""By what the sides of a batch hang together, and what an interval therefore speaks of.

The talk always: both of its sides are made of the same words. The game where memory or kept secrets link its talks; a
division into games changes nothing where nothing links them. The scenario where it repeats: then the claim is about
scenarios like these, of which there are as many as were played, however often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tidepool.engine.statistics.grouped import Array, Grouped, distinct_number, pair_codes
from tidepool.engine.statistics.intervals import UNIT, Interval, Rate, rates_of
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.findings.outcomes import Sides

FEW_TALKS = 10
"""fewer talks take their spread from the batch as a whole"""
FEW_CLUSTERS = 5
"""fewer games or scenarios are told of as hardly any"""
MOST_KEPT = 1
"""groupings whose arrays are kept for the next figure: of a million talks each takes a hundred megabytes"""


@dataclass(frozen=True)
class Inference(Statistics):
    """What the intervals speak of, and how many independent pieces they rest on."""

    LEFT_OUT = frozenset({"these_scenarios_ci95"})

    clusters: str
    """talks, games, scenarios, games and scenarios"""
    talks: int
    games: int
    scenarios: int
    speaks_of: str
    note: str | None
    these_scenarios_ci95: Interval | None = None
    """of the share of sides that revealed, where the others speak of scenarios like these: of these alone"""


class Clustering:
    def __init__(self, sides: Sides, *, linked: bool, scenarios_differ: bool = True, missing: float = 0.0) -> None:
        """`missing` is the share of the conversations that failed."""
        self.sides = sides
        self.linked = linked
        self.missing = missing
        self._known: dict[tuple[int, ...], tuple[Grouped, Any]] = {}
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
        if key not in self._known:
            if len(self._known) >= MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = Grouped(groups, size, self.ways, levels, self.missing), (groups, levels)
        return self._known[key][0]

    def rates(
        self, grouped: Grouped, values: Array, bounds: Interval = UNIT, likeness: float = 0.0
    ) -> list[Rate | None]:
        few = FEW_TALKS if self.by_talk else 0
        return rates_of(grouped.spread(values.astype(float)), bounds, few, likeness)

    def likeness(self, values: Array) -> float:
        """How alike the two sides of a talk are, beyond what their agents have in common: from 0 to 1."""
        import numpy

        values = values.astype(float)
        times = numpy.bincount(self.sides.agent)
        if not len(values):
            return 0.0
        rest = values - (numpy.bincount(self.sides.agent, values) / numpy.maximum(times, 1))[self.sides.agent]
        whole = float((rest**2).sum())
        order = numpy.argsort(self.sides.talk, kind="stable")
        together = rest[order][::2] * rest[order][1::2]
        return min(1.0, max(0.0, 2 * float(together.sum()) / whole)) if whole else 0.0

    @property
    def inference_word(self) -> str:
        """what there are fewest of"""
        return "games" if self.linked and (not self.by_scenario or self.games <= self.scenarios) else "scenarios"

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
    whose = "these agents in "
    if clustering.by_scenario:
        return whose + ("games and scenarios like these" if clustering.linked else "scenarios like these")
    if clustering.scenarios:
        return whose + "these scenarios"
    return whose + ("games like these" if clustering.linked else "talks like these")


def _note(clustering: Clustering) -> str | None:
    if clustering.linked and clustering.games == 1:
        return (
            "one game: no inference beyond it, since its talks hang together by memory or kept secrets. "
            "Play several games (games = 10 or more) to have intervals."
        )
    if clustering.scenarios == 1:
        return "one scenario: the intervals speak of it alone; other scenarios may differ."
    if not clustering.by_talk and clustering.fewest < FEW_CLUSTERS:
        word = clustering.inference_word
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
