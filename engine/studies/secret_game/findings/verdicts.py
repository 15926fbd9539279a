"""The judge's view, by agent and in all: kept apart from what the wording shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidepool.engine.statistics.grouped import Array
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.findings.clustering import Clustering
from tidepool.engine.studies.secret_game.findings.shares import share_figures


@dataclass(frozen=True)
class VerdictCounts(Statistics):
    sides: int
    revealed: int
    revealed_percentage: float | None
    revealed_ci95: Interval | None
    only_judge: int
    only_wording: int
    missing: int


@dataclass(frozen=True)
class Verdicts(Statistics):
    overall: VerdictCounts
    agents: Mapping[str, VerdictCounts]


def verdict_statistics(clustering: Clustering) -> Verdicts:
    import numpy

    sides = clustering.sides
    every = numpy.zeros(len(sides), dtype=int)
    (overall,) = _verdicts(clustering, every, 1, [sides.seat, sides.direction, sides.agent])
    agents = _verdicts(clustering, sides.agent, len(sides.names), [sides.seat, sides.direction])
    return Verdicts(overall, dict(zip(sides.names, agents, strict=True)))


def _verdicts(clustering: Clustering, groups: Array, size: int, levels: Sequence[Array]) -> list[VerdictCounts]:
    import numpy

    sides = clustering.sides
    known = ~numpy.isnan(sides.verdict)
    said = sides.verdict[known]
    likeness = clustering.likeness(numpy.nan_to_num(sides.verdict))
    rates = clustering.rates(clustering.grouped(groups, size, levels, known), said, likeness=likeness)

    def count(rows: Array) -> list[int]:
        return [int(times) for times in numpy.bincount(groups[rows], minlength=size)]

    yes, no = numpy.zeros(len(sides), dtype=bool), numpy.zeros(len(sides), dtype=bool)
    yes[known], no[known] = said > 0, said == 0
    columns = (count(yes), count(yes & ~sides.revealed), count(no & sides.revealed), count(~known))
    total = numpy.bincount(groups, minlength=size)
    return [
        VerdictCounts(
            int(total[place]),
            revealed,
            **share_figures("revealed", rates[place]),
            only_judge=judge,
            only_wording=wording,
            missing=missing,
        )
        for place, (revealed, judge, wording, missing) in enumerate(zip(*columns, strict=True))
    ]
