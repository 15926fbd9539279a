"""A ranking that says how sure it is, by the ranks that come out when everybody's values are resampled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.statistics.intervals import LEVEL, Interval, mean_of_counts, middle_of, resampled_means


@dataclass(frozen=True, slots=True)
class Standing:
    name: str
    rank: int
    """1 is best; equal means share a rank"""
    mean: float
    interval: Interval
    rank_interval: tuple[int, int]
    best_probability: float
    """share of the resamples in which nobody was better"""


def standings(counts: Mapping[str, Mapping[float, int]], seed: int = 0) -> list[Standing]:
    """Contenders by their mean, best first, from how often each value occurred.

    Those without values are left out. Each contender is resampled on its own, in the order of the names.
    """
    names = sorted(name for name, values in counts.items() if values)
    if not names:
        return []
    import numpy

    random = numpy.random.default_rng(seed)
    drawn = numpy.stack([resampled_means(counts[name], random) for name in names])
    ranks = _ranks(drawn.round(12))
    ordered = numpy.sort(ranks, axis=1)
    first, last = (round(share * (ranks.shape[1] - 1)) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    means = [mean_of_counts(counts[name]) for name in names]
    found = [
        Standing(
            name=name,
            rank=1 + sum(other > means[row] for other in means),
            mean=means[row],
            interval=middle_of(drawn[row]),
            rank_interval=(int(ordered[row, first]), int(ordered[row, last])),
            best_probability=float(numpy.mean(ranks[row] == 1)),
        )
        for row, name in enumerate(names)
    ]
    return sorted(found, key=lambda standing: (standing.rank, standing.name))


def _ranks(drawn: Any) -> Any:
    """In each column, 1 for the largest; equal values share the best of their ranks."""
    import numpy

    order = numpy.argsort(-drawn, axis=0, kind="stable")
    sorted_values = numpy.take_along_axis(drawn, order, axis=0)
    places = numpy.arange(1, len(drawn) + 1)[:, None].repeat(drawn.shape[1], axis=1)
    places[1:][sorted_values[1:] == sorted_values[:-1]] = 0
    ranks = numpy.empty_like(places)
    numpy.put_along_axis(ranks, order, numpy.maximum.accumulate(places, axis=0), axis=0)
    return ranks
