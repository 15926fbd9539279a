"""How agents differ: contrasts under equal conditions, a ranking, and whether hearing a secret goes with giving one.

*Against third agents*: both met the same others from the same side (and with the same scenario). *Head to head*: what one did against
the other. The two are never pooled.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Any

from tidepool.engine.statistics.contrasts import Arms, Contrast, within
from tidepool.engine.statistics.grouped import Array, numbered, pair_codes
from tidepool.engine.statistics.intervals import LEVEL, UNIT, Interval, Rate, quantile
from tidepool.engine.statistics.significance import holm
from tidepool.engine.statistics.typed import Statistics
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


@dataclass(frozen=True, slots=True)
class _Found:
    agents: tuple[str, str]
    measure: str
    estimand: str
    sides: tuple[int, int]
    scale: float
    contrast: Contrast
    widest: float
    """no difference is further from zero"""

    @property
    def interval(self) -> Interval | None:
        """Few clusters know so little that theirs would pass what is possible."""
        if not (bounds := self.contrast.interval):
            return None
        most = max(self.widest, abs(self.contrast.difference))
        return self.scale * max(bounds[0], -most), self.scale * min(bounds[1], most)


def comparisons(clustering: Clustering, agents: Sequence[str], bounds: Interval) -> tuple[AgentComparison, ...]:
    rows = _Rows(clustering, bounds)
    by_measure: dict[str, list[_Found]] = {measure: [] for measure in (SCORE, REVEALED, OBTAINED)}
    for first, second in combinations(agents[:MOST_COMPARED], 2):
        for one in rows.compared(first, second):
            by_measure[one.measure].append(one)
    told: list[AgentComparison] = []
    for found in by_measure.values():
        values = [one.contrast.p_value for one in found]
        adjusted = iter(holm([value for value in values if value is not None]))
        told += [
            _told(one, value, None if value is None else next(adjusted))
            for one, value in zip(found, values, strict=True)
        ]
    return tuple(told)


def _told(one: _Found, p_value: float | None, adjusted: float | None) -> AgentComparison:
    return AgentComparison(
        agents=one.agents,
        measure=one.measure,
        estimand=one.estimand,
        sides=one.sides,
        clusters=one.contrast.clusters,
        difference=one.scale * one.contrast.difference,
        difference_ci95=one.interval,
        method=one.contrast.method,
        p_value=p_value,
        p_value_holm=adjusted,
    )


_Contrasted = Callable[[Array, Interval], tuple[Contrast, tuple[int, int]] | None]
"""of values and the bounds of their scale: the contrast, and how many sides of both agents count"""


class _Rows:
    """Where each agent's sides stand, so that a comparison touches no others."""

    def __init__(self, clustering: Clustering, bounds: Interval) -> None:
        import numpy

        self._np = numpy
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

    def compared(self, first: str, second: str) -> Iterator[_Found]:
        """By measure; what all measures have in common is worked out once, and let go with the pair."""
        apart, together = self._apart(first, second), self._together(first, second)
        for measure, (values, bounds, scale) in self._values.items():
            for estimand, one in ((THIRD, apart), (HEAD, together)):
                if measure == OBTAINED and estimand == HEAD:
                    continue  # what the one obtained the other revealed
                found = one(values, bounds)
                if found:
                    contrast, sides = found
                    yield _Found((first, second), measure, estimand, sides, scale, contrast, bounds[1] - bounds[0])

    def _ways(self, rows: Array) -> list[Array]:
        return [] if self._by.by_talk else [way[rows] for way in self._by.ways]

    def _apart(self, first: str, second: str) -> _Contrasted:
        np = self._np
        rows = np.concatenate([self._of[first], self._of[second]])
        opponent = self._sides.opponent[rows]
        rows = rows[(opponent != self._place[first]) & (opponent != self._place[second])]
        all_rows = self._arms(first, rows)

        def contrasted(values: Array, bounds: Interval) -> tuple[Contrast, tuple[int, int]] | None:
            own = values[rows]
            known = ~np.isnan(own)
            arms, ours = all_rows if known.all() else self._arms(first, rows[known])
            found = arms.contrast(own[known], bounds)
            return (found, (int(ours.sum()), int((~ours).sum()))) if found else None

        return contrasted

    def _arms(self, first: str, rows: Array) -> tuple[Arms, Array]:
        ours = self._sides.agent[rows] == self._place[first]
        return Arms(ours, self._strata[rows], self._ways(rows)), ours

    def _together(self, first: str, second: str) -> _Contrasted:
        rows = self._of[first]
        rows = rows[self._sides.opponent[rows] == self._place[second]]
        others = self._other[rows]

        def contrasted(values: Array, bounds: Interval) -> tuple[Contrast, tuple[int, int]] | None:
            differences = values[rows] - values[others]
            known = ~self._np.isnan(differences)
            own, differences = rows[known], differences[known]
            found = within(differences, self._sides.opener[own], self._ways(own), bounds[1] - bounds[0])
            return (found, (len(own), len(own))) if found else None

        return contrasted


def _other_side(talk: Array) -> Array:
    """Where the other side of each row's talk stands."""
    import numpy

    order = numpy.argsort(talk, kind="stable")
    other = numpy.empty(len(talk), dtype=int)
    other[order[::2]], other[order[1::2]] = order[1::2], order[::2]
    return other


DRAWS = 4_000
_AT_ONCE = 1_000_000
"""numbers held at a time while clusters are summed"""


@dataclass(frozen=True)
class Place(Statistics):
    """An agent's place in the ranking by mean score, with the ranks it might as well have."""

    agent: str
    rank: int
    rank_ci95: tuple[int, int] | None
    score_mean: float
    score_mean_ci95: Interval | None
    best_probability: float | None
    """how often nobody was better, when the means are drawn anew with their errors"""


def ranking(clustering: Clustering, means: list[Rate | None], seed: int) -> tuple[Place, ...]:
    """`means` are those of the agents, by their place among the names."""
    import numpy

    names = clustering.sides.names
    scored = [place for place, rate in enumerate(means) if rate is not None]
    rates = [rate for rate in means if rate is not None]
    if not rates:
        return ()
    values = numpy.array([rate.mean for rate in rates])
    errors = _errors(clustering, scored)
    ranks: list[Any] = [None] * len(rates)
    best: list[Any] = [None] * len(rates)
    if errors is not None:
        random = numpy.random.default_rng(seed)
        freedom = max(1.0, min(rate.freedom if rate.freedom < inf else rate.count - 1 for rate in rates))
        shrunk = numpy.sqrt(random.chisquare(freedom, size=(DRAWS, 1)) / freedom)
        drawn = random.standard_normal((DRAWS, len(rates))) @ _root(errors).T / shrunk
        ranks = _ranks(values, errors, drawn)
        leads = (values + drawn) >= (values + drawn).max(axis=1, keepdims=True) - 1e-12
        best = leads.mean(axis=0).tolist()
    found = [
        Place(
            agent=names[place],
            rank=1 + int((values > rate.mean + 1e-12).sum()),
            rank_ci95=ranks[index],
            score_mean=rate.mean,
            score_mean_ci95=rate.interval(),
            best_probability=best[index],
        )
        for index, (place, rate) in enumerate(zip(scored, rates, strict=True))
    ]
    return tuple(sorted(found, key=lambda one: (one.rank, one.agent)))


def _errors(clustering: Clustering, agents: list[int]) -> Array | None:
    """How the errors of the agents' means vary together; None where there is one cluster."""
    import numpy

    sides = clustering.sides
    known = ~numpy.isnan(sides.score)
    agent, score = sides.agent[known], sides.score[known]
    times = numpy.bincount(agent, minlength=len(sides.names))
    fitted = (numpy.bincount(agent, score, minlength=len(times)) / numpy.maximum(times, 1))[agent]
    rest = (score - fitted) / times[agent]
    found = [_products(numbered(way[known])[1], agent, rest, len(times)) for way in clustering.ways]
    errors = [one for one in found if one is not None]
    if len(errors) < len(found):
        return None
    return max(errors, key=numpy.trace)[numpy.ix_(agents, agents)]


def _products(cluster: Array, agent: Array, rest: Array, size: int) -> Array | None:
    import numpy

    number = int(cluster.max(initial=-1)) + 1
    if number < 2:
        return None
    order = numpy.argsort(cluster, kind="stable")
    cluster, agent, rest = cluster[order], agent[order], rest[order]
    step = max(1, _AT_ONCE // size)
    total = numpy.zeros((size, size))
    for start in range(0, number, step):
        low, high = numpy.searchsorted(cluster, [start, start + step])
        cells = (cluster[low:high] - start) * size + agent[low:high]
        sums = numpy.bincount(cells, rest[low:high], minlength=step * size).reshape(-1, size)
        total += sums.T @ sums
    return total * number / (number - 1)


def _root(errors: Array) -> Array:
    import numpy

    values, vectors = numpy.linalg.eigh(errors)
    return vectors * numpy.sqrt(numpy.maximum(values, 0))


def _ranks(values: Array, errors: Array, drawn: Array) -> list[tuple[int, int]]:
    import numpy

    found = []
    spread = numpy.diag(errors)
    for index in range(len(values)):
        error = numpy.sqrt(numpy.maximum(spread + spread[index] - 2 * errors[index], 0))
        others = numpy.arange(len(values)) != index
        gap = values[others] - values[index]
        reach = 0.0
        if others.any():
            scale = numpy.maximum(error[others], 1e-12)
            most = numpy.sort((abs(drawn[:, others] - drawn[:, [index]]) / scale).max(axis=1))
            reach = float(most[min(len(most) - 1, round(LEVEL * len(most)))])
        better, worse = int((gap > reach * error[others]).sum()), int((-gap > reach * error[others]).sum())
        found.append((1 + better, len(values) - worse))
    return found


FEWEST = 5
"""sides in each margin of a single turn, for an interval of it"""
MOST_TURNS = 200
CAVEAT = (
    "Talks differ in openness, which alone produces such a ratio: this is no effect of hearing. The effect comes from a "
    "branch in which the reveal is assigned."
)


@dataclass(frozen=True)
class HearingTurn(Statistics):
    """Sides that had not revealed before their message of this turn."""

    turn: int
    heard: int
    heard_and_revealed: int
    not_heard: int
    not_heard_and_revealed: int
    odds_ratio: float | None
    odds_ratio_ci95: Interval | None


@dataclass(frozen=True)
class Hearing(Statistics):
    odds_ratio: float | None
    """over all turns: Mantel and Haenszel's"""
    odds_ratio_ci95: Interval | None
    turns: tuple[HearingTurn, ...]
    caveat: str


@dataclass(frozen=True, slots=True)
class Turn:
    number: int
    rows: Array
    """the sides that speak in it and have not revealed before"""
    heard: Array
    revealed: Array

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """heard and revealed, heard alone, revealed alone, neither"""
        sure, heard = self.revealed, self.heard
        return (
            int((heard & sure).sum()),
            int((heard & ~sure).sum()),
            int((~heard & sure).sum()),
            int((~heard & ~sure).sum()),
        )

    def pulls(self, ratio: float) -> tuple[float, float, Array]:
        """The turn's part in numerator and denominator, and what each row adds to their balance."""
        import numpy

        a, b, c, d = self.cells
        n = len(self.rows)
        above, below = a * d / n, b * c / n
        shared = (above - ratio * below) / n
        kinds = numpy.array([d / n - shared, -ratio * c / n - shared, -ratio * b / n - shared, a / n - shared])
        return above, below, kinds[2 * ~self.heard + ~self.revealed]


def hearing(clustering: Clustering, messages: int) -> Hearing | None:
    """None where no turn has both: sides that heard and sides that did not."""
    found = list(turns(clustering, min(messages, MOST_TURNS)))
    if not found:
        return None
    ratio, interval = _odds(clustering, found)
    return Hearing(ratio, interval, tuple(_turn_statistics(clustering, turn) for turn in found), CAVEAT)


def turns(clustering: Clustering, messages: int) -> Iterator[Turn]:
    import numpy

    sides = clustering.sides
    own = sides.turn * sides.revealed
    order = numpy.argsort(sides.talk, kind="stable")
    other = numpy.zeros(len(sides), dtype=int)
    other[order[::2]], other[order[1::2]] = own[order[1::2]], own[order[::2]]
    for number in range(2, messages + 1):
        speaks = sides.opener == (number % 2 == 1)
        rows = numpy.flatnonzero(speaks & ((own == 0) | (own >= number)))
        heard = (other[rows] > 0) & (other[rows] < number)
        if heard.any() and not heard.all():
            yield Turn(number, rows, heard, own[rows] == number)


def _turn_statistics(clustering: Clustering, turn: Turn) -> HearingTurn:
    a, b, c, d = turn.cells
    ratio, interval = _odds(clustering, [turn])
    if min(a + b, c + d, a + c, b + d) < FEWEST:
        interval = None
    return HearingTurn(turn.number, a + b, a, c + d, c, ratio, interval)


def _odds(clustering: Clustering, turns: list[Turn]) -> tuple[float | None, Interval | None]:
    import numpy

    parts = [turn.pulls(0.0) for turn in turns]
    above, below = (sum(part[place] for part in parts) for place in (0, 1))
    if not above or not below:
        return None, None
    ratio = above / below
    balance = numpy.zeros(len(clustering.sides))
    for turn in turns:
        balance[turn.rows] += turn.pulls(ratio)[2]
    present = numbered(numpy.concatenate([turn.rows for turn in turns]))[0]
    errors = []
    for way in (*clustering.ways, clustering.sides.talk):
        _, cluster = numbered(way[present])
        number = int(cluster.max()) + 1
        if number < 2:
            return ratio, None
        sums = numpy.bincount(cluster, balance[present])
        errors.append((float((sums**2).sum()) * number / (number - 1), number - 1))  # never surer than talks alone
    square, freedom = max(errors)[0], min(errors, key=lambda one: one[1])[1]
    reach = quantile(freedom, LEVEL) * math.sqrt(square) / (ratio * below)
    return ratio, (ratio * math.exp(-reach), ratio * math.exp(reach))
