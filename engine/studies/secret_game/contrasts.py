"""How agents differ: contrasts under equal conditions, and a ranking.

*Against third agents*: both met the same others from the same side (and with the same scenario). *Head to head*: what one did against
the other. The two are never pooled.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tidepool.engine.inference.contrasts import SIGNIFICANT, Arms, Contrast, within
from tidepool.engine.inference.grouped import Array, numpy, pair_codes
from tidepool.engine.inference.intervals import UNIT, Interval
from tidepool.engine.inference.significance import corrected
from tidepool.engine.inference.typed import Statistics
from tidepool.engine.studies.secret_game.shares import ScoredSides
from tidepool.engine.studies.secret_game.sides import Clustering

MOST_COMPARED = 25
"""agents compared with one another, best first; among more, Holm's correction leaves nothing to find"""
THIRD, HEAD = "against third agents", "head to head"
SCORE, REVEALED, OBTAINED = "score", "revealed %", "obtained %"


@dataclass(frozen=True)
class AgentComparison(Statistics):
    """The first agent less the second: points of score, or percentage points; Holm's correction within a measure."""

    agents: tuple[str, str]
    measure: str
    estimand: str
    sides: tuple[int, int]
    """of the first and the second agent that count"""
    clusters: int
    difference: float
    difference_ci95: Interval | None
    method: str
    p_value: float | None
    """None where too few games are linked within for a test"""
    p_value_holm: float | None


@dataclass(frozen=True)
class Place(Statistics):
    """An agent's place by mean score. `rank_ci95`: the places that no significant difference rules out."""

    agent: str
    rank: int
    rank_ci95: tuple[int, int] | None
    score_mean: float
    score_mean_ci95: Interval | None


def ranking(agents: Mapping[str, ScoredSides], compared: Sequence[AgentComparison]) -> tuple[Place, ...]:
    """Best first. The limits come from the comparisons of scores after Holm's correction; None where none was tested."""
    means = {name: row.score_mean for name, row in agents.items() if row.score_mean is not None}
    tested, better, worse = set[str](), set[tuple[str, str]](), set[tuple[str, str]]()
    for row in compared:
        if row.measure == SCORE and row.p_value_holm is not None:
            tested |= set(row.agents)
            if row.p_value_holm < SIGNIFICANT:
                winner, loser = row.agents if row.difference > 0 else row.agents[::-1]
                better.add((loser, winner))
                worse.add((winner, loser))
    places = []
    for name, mean in means.items():
        rank = 1 + sum(other > mean + 1e-9 for other in means.values())
        above = sum(agent == name for agent, _ in better)
        below = sum(agent == name for agent, _ in worse)
        limits = (min(rank, 1 + above), max(rank, len(means) - below)) if name in tested else None
        places.append(Place(name, rank, limits, mean, agents[name].score_mean_ci95))
    return tuple(sorted(places, key=lambda place: (place.rank, place.agent)))


def comparisons(clustering: Clustering, agents: Sequence[str], bounds: Interval) -> tuple[AgentComparison, ...]:
    rows = _Rows(clustering, bounds)
    by_measure: dict[str, list[AgentComparison]] = {measure: [] for measure in (SCORE, REVEALED, OBTAINED)}
    for first, second in combinations(agents[:MOST_COMPARED], 2):
        for row in rows.compared(first, second):
            by_measure[row.measure].append(row)
    compared: list[AgentComparison] = []
    for group in by_measure.values():
        adjusted = corrected([row.p_value for row in group])
        compared += [replace(row, p_value_holm=value) for row, value in zip(group, adjusted, strict=True)]
    return tuple(compared)


_Contrasted = Callable[[Array, Interval], tuple[Contrast, tuple[int, int]] | None]
"""of values and the bounds of their scale: the contrast, and how many sides of both agents count"""


class _Rows:
    """Where each agent's sides stand, so that a comparison touches no others."""

    def __init__(self, clustering: Clustering, bounds: Interval) -> None:
        self._by, self._bounds = clustering, bounds
        sides = self._sides = clustering.sides
        order = numpy.argsort(sides.agent, kind="stable")
        edges = numpy.searchsorted(sides.agent[order], numpy.arange(len(sides.names) + 1))
        self._of = {name: order[edges[place] : edges[place + 1]] for place, name in enumerate(sides.names)}
        self._place = {name: place for place, name in enumerate(sides.names)}
        self._other = _other_side(sides.talk)
        strata = pair_codes(sides.opponent, sides.opener.astype(int))
        self._strata = pair_codes(strata, sides.scenario) if clustering.by_scenario else strata
        self._values = {
            SCORE: (sides.score, bounds, 1.0),
            REVEALED: (sides.revealed.astype(float), UNIT, 100.0),
            OBTAINED: (sides.obtained.astype(float), UNIT, 100.0),
        }

    def compared(self, first: str, second: str) -> Iterator[AgentComparison]:
        """By measure; what all measures have in common is worked out once, and let go with the pair."""
        apart, together = self._apart(first, second), self._together(first, second)
        for measure, (values, bounds, scale) in self._values.items():
            for estimand, contrast_of in ((THIRD, apart), (HEAD, together)):
                if measure == OBTAINED and estimand == HEAD:
                    continue  # what the one obtained the other revealed
                if outcome := contrast_of(values, bounds):
                    gap, sides = outcome
                    # Few clusters know so little that their interval would pass what is possible.
                    limit = max(bounds[1] - bounds[0], abs(gap.difference))
                    interval = gap.interval and (max(gap.interval[0], -limit), min(gap.interval[1], limit))
                    yield AgentComparison(
                        agents=(first, second),
                        measure=measure,
                        estimand=estimand,
                        sides=sides,
                        clusters=gap.clusters,
                        difference=scale * gap.difference,
                        difference_ci95=interval and (scale * interval[0], scale * interval[1]),
                        method=gap.method,
                        p_value=gap.p_value,
                        p_value_holm=None,
                    )

    def _ways(self, rows: Array) -> list[Array]:
        return [] if self._by.by_talk else [way[rows] for way in self._by.ways]

    def _apart(self, first: str, second: str) -> _Contrasted:
        rows = numpy.concatenate([self._of[first], self._of[second]])
        opponent = self._sides.opponent[rows]
        rows = rows[(opponent != self._place[first]) & (opponent != self._place[second])]
        all_rows = self._arms(first, rows)

        def contrasted(values: Array, bounds: Interval) -> tuple[Contrast, tuple[int, int]] | None:
            side_values = values[rows]
            known = ~numpy.isnan(side_values)
            arms, is_first = all_rows if known.all() else self._arms(first, rows[known])
            contrast = arms.contrast(side_values[known], bounds)
            return (contrast, (int(is_first.sum()), int((~is_first).sum()))) if contrast else None

        return contrasted

    def _arms(self, first: str, rows: Array) -> tuple[Arms, Array]:
        is_first = self._sides.agent[rows] == self._place[first]
        return Arms(is_first, self._strata[rows], self._ways(rows)), is_first

    def _together(self, first: str, second: str) -> _Contrasted:
        rows = self._of[first]
        rows = rows[self._sides.opponent[rows] == self._place[second]]
        others = self._other[rows]

        def contrasted(values: Array, bounds: Interval) -> tuple[Contrast, tuple[int, int]] | None:
            differences = values[rows] - values[others]
            known = ~numpy.isnan(differences)
            own, differences = rows[known], differences[known]
            contrast = within(differences, self._sides.opener[own], self._ways(own), bounds[1] - bounds[0])
            return (contrast, (len(own), len(own))) if contrast else None

        return contrasted


def _other_side(talk: Array) -> Array:
    """Where the other side of each row's talk stands."""
    order = numpy.argsort(talk, kind="stable")
    other = numpy.empty(len(talk), dtype=int)
    other[order[::2]], other[order[1::2]] = order[1::2], order[::2]
    return other
