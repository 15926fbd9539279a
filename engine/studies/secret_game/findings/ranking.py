"""Agents by mean score, with the ranks that each might as well have.

An agent's rank is bounded by how many others are surely better and surely worse: by differences to all others at
once, whose errors go together as their talks do. So the ranks hold at 95 % however many are tied.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

from tidepool.engine.statistics.grouped import Array, numbered
from tidepool.engine.statistics.intervals import LEVEL, Interval, Rate
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.findings.clustering import Clustering

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
