"""How agents differ: contrasts under equal conditions, and a ranking.

*Against third agents*: both agents met the same others from the same side (and with the same scenario). *Head to head*: the two
agents met each other. The two kinds are never pooled. Differences are first minus second, in points of score or percentage points.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from tidepool.engine.inference.contrasts import SIGNIFICANT, Arms, Contrast, matched
from tidepool.engine.inference.grouped import Array, numpy, pair_codes
from tidepool.engine.inference.intervals import UNIT, Interval
from tidepool.engine.inference.significance import corrected
from tidepool.engine.studies.secret_game.sides import Clustering

MOST_COMPARED = 25
"""how many agents are compared, best first; with more, Holm's correction leaves no significant difference"""
THIRD, HEAD = "against third agents", "head to head"
SCORE, REVEALED, OBTAINED = "score", "revealed %", "obtained %"


def ranking(agents: Mapping[str, Mapping[str, Any]], compared: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Agents by mean score, best first. `rank_ci95`: the ranks that no significant difference rules out, from the comparisons of
    scores after Holm's correction; None if no comparison was tested."""
    means = {name: row["score_mean"] for name, row in agents.items() if row["score_mean"] is not None}
    tested = [row for row in compared if row["measure"] == SCORE and row["p_value_holm"] is not None]
    winners = {
        tuple(row["agents"] if row["difference"] > 0 else row["agents"][::-1])
        for row in tested
        if row["p_value_holm"] < SIGNIFICANT
    }
    places = []
    for name, mean in means.items():
        rank = 1 + sum(other > mean + 1e-9 for other in means.values())
        best = 1 + sum(loser == name for _, loser in winners)
        worst = len(means) - sum(winner == name for winner, _ in winners)
        limits = (min(rank, best), max(rank, worst)) if any(name in row["agents"] for row in tested) else None
        score = {"score_mean": mean, "score_mean_ci95": agents[name]["score_mean_ci95"]}
        places.append({"agent": name, "rank": rank, "rank_ci95": limits, **score})
    return sorted(places, key=lambda place: (place["rank"], place["agent"]))


def comparisons(clustering: Clustering, agents: Sequence[str], bounds: Interval) -> list[dict[str, Any]]:
    """By measure. All comparisons are exploratory and form one family for Holm's correction."""
    sides = _ComparedSides(clustering, bounds)
    rows = [row for pair in combinations(agents[:MOST_COMPARED], 2) for row in sides.compared(*pair)]
    rows.sort(key=lambda row: (SCORE, REVEALED, OBTAINED).index(row["measure"]))
    adjusted = corrected([row["p_value"] for row in rows])
    return [row | {"p_value_holm": value} for row, value in zip(rows, adjusted, strict=True)]


class _ComparedSides:
    """The rows of each agent's sides, so that a comparison reads only its own rows."""

    def __init__(self, clustering: Clustering, bounds: Interval) -> None:
        self._by = clustering
        sides = self._sides = clustering.sides
        order = numpy.argsort(sides.agent, kind="stable")
        edges = numpy.searchsorted(sides.agent[order], numpy.arange(len(sides.names) + 1))
        self._of = {name: order[edges[place] : edges[place + 1]] for place, name in enumerate(sides.names)}
        strata = pair_codes(sides.opponent, sides.opener.astype(int))
        self._strata = pair_codes(strata, sides.scenario) if clustering.by_scenario else strata
        by_talk = numpy.argsort(sides.talk, kind="stable")
        self._other = numpy.empty(len(sides), dtype=int)
        """the row of the other side of each row's conversation"""
        self._other[by_talk[::2]], self._other[by_talk[1::2]] = by_talk[1::2], by_talk[::2]
        self._measures = (
            (SCORE, sides.score, bounds, 1.0),
            (REVEALED, sides.revealed.astype(float), UNIT, 100.0),
            (OBTAINED, sides.obtained.astype(float), UNIT, 100.0),
        )

    def compared(self, first: str, second: str) -> Iterator[dict[str, Any]]:
        own = self._of[first]
        met = self._sides.opponent[own] == self._sides.names.index(second)
        third = numpy.concatenate([own, self._of[second]])
        two = [self._sides.names.index(name) for name in (first, second)]
        third = third[~numpy.isin(self._sides.opponent[third], two)]
        arms = self._arms(first, third)
        for measure, values, bounds, scale in self._measures:
            found = [(THIRD, *self._against_third(first, third, arms, values, bounds))]
            if measure != OBTAINED:  # one side obtains what the other reveals
                found.append((HEAD, *self._head_to_head(own[met], values, bounds)))
            for question, gap, sides in found:
                if gap is None:
                    continue
                # With few clusters, the interval could exceed the possible range.
                limit = max(bounds[1] - bounds[0], abs(gap.difference))
                ends = gap.interval and (max(gap.interval[0], -limit), min(gap.interval[1], limit))
                yield {
                    "agents": (first, second),
                    "measure": measure,
                    "question": question,
                    "sides": sides,
                    "clusters": gap.clusters,
                    "difference": scale * gap.difference,
                    "difference_ci95": ends and (scale * ends[0], scale * ends[1]),
                    "method": gap.method,
                    "p_value": gap.p_value,
                }

    def _ways(self, rows: Array) -> list[Array]:
        return [] if self._by.by_talk else [way[rows] for way in self._by.ways]

    def _arms(self, first: str, rows: Array) -> tuple[Arms, Array]:
        is_first = self._sides.agent[rows] == self._sides.names.index(first)
        return Arms(is_first, self._strata[rows], self._ways(rows)), is_first

    def _against_third(
        self, first: str, rows: Array, all_arms: tuple[Arms, Array], values: Array, bounds: Interval
    ) -> tuple[Contrast | None, tuple[int, int]]:
        known = ~numpy.isnan(values[rows])
        arms, is_first = all_arms if known.all() else self._arms(first, rows[known])
        return arms.contrast(values[rows][known], bounds), (int(is_first.sum()), int((~is_first).sum()))

    def _head_to_head(self, rows: Array, values: Array, bounds: Interval) -> tuple[Contrast | None, tuple[int, int]]:
        differences = values[rows] - values[self._other[rows]]
        known = ~numpy.isnan(differences)
        own = rows[known]
        contrast = matched(differences[known], self._ways(own), bounds[1] - bounds[0], self._sides.opener[own])
        return contrast, (len(own), len(own))
