"""Effects: one linear contrast over cells, taken within each block, and its interval and test over blocks.

The matched talk is a block where talks are independent. Talks of a game that memory or kept secrets link hang together by
game, talks over a scenario that repeats by scenario. Replicates are all there is to count where an outcome is one number a
batch, or where a level changes who or what is drawn; and a handful of them gives an interval and no verdict.
"""

import math
from dataclasses import dataclass
from typing import Literal

from tidepool.engine.design.contrasts import Weighing
from tidepool.engine.design.factors import Cell
from tidepool.engine.design.hypotheses import FEWEST_REPLICATES, Direction
from tidepool.engine.design.outcome_tables import OutcomeTable
from tidepool.engine.statistics.contrasts import FEWEST_TESTED, Contrast, matched, of_mean, student
from tidepool.engine.statistics.grouped import Array, Grouped, pair_codes
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.rates import rates_of

Units = Literal["talks", "games", "scenarios", "games and scenarios", "replicates"]
FEW_TALKS = 10
"""fewer talks take their spread from their mean alone"""


@dataclass(frozen=True, slots=True)
class Effect:
    name: str
    kind: str
    units: Units
    number: int
    """of those units"""
    left_out: int
    """blocks that some cell of the contrast lacks"""
    difference: float | None
    interval: Interval | None
    p_value: float | None
    """two-sided"""
    method: str
    note: str
    """why there is no verdict; empty where there is one"""


@dataclass(frozen=True, slots=True)
class CellMean:
    cell: Cell
    talks: int
    """or batches, of an outcome that is one number a batch"""
    missing: int
    """that another cell has"""
    mean: float | None
    interval: Interval | None


def effect(table: OutcomeTable, weighing: Weighing) -> Effect:
    by_talk = table.outcome.per_talk and not weighing.redraws and table.matched(weighing.groups)
    return _over_talks(table, weighing) if by_talk else _over_replicates(table, weighing)


def _blocks(table: OutcomeTable, weighing: Weighing) -> tuple[Array, Array, int]:
    """The contrast in each block that has all its cells, which blocks those are, and how many lack some."""
    import numpy

    own = table.values[:, table.columns(list(weighing.weights))]
    known = ~numpy.isnan(own)
    whole = known.all(axis=1)
    weights = numpy.array(list(weighing.weights.values()))
    return own[whole] @ weights, whole, int((known.any(axis=1) & ~whole).sum())


def _over_replicates(table: OutcomeTable, weighing: Weighing) -> Effect:
    differences, _, left_out = _blocks(table.by_replicate(), weighing)
    number = len(differences)
    found = of_mean(differences.tolist())
    mean = float(differences.mean()) if number else None
    note = _few_replicates(number, found)
    p_value = found.p_value if found and not note else None
    method = found.method if found else "none"
    interval = found.interval if found else None
    return Effect(weighing.name, weighing.kind, "replicates", number, left_out, mean, interval, p_value, method, note)


def _few_replicates(number: int, found: Contrast | None) -> str:
    if not number:
        return NOTHING
    if number < FEWEST_REPLICATES:
        return f"too few for a verdict: {number} of {FEWEST_REPLICATES} replicates"
    return "no verdict: every replicate gave the same difference" if found and found.p_value is None else ""


NOTHING = "nothing to compare: no block has all its cells"


def _over_talks(table: OutcomeTable, weighing: Weighing) -> Effect:
    differences, whole, left_out = _blocks(table, weighing)
    units, ways = _ways(table, whole, table.columns(list(weighing.weights)))
    low, high = table.outcome.bounds
    most = (high - low) * sum(map(abs, weighing.weights.values())) / 2
    found = _contrast(differences, ways, most)
    if found is None:
        return Effect(weighing.name, weighing.kind, units, 0, left_out, None, None, None, "none", NOTHING)
    note = ""
    if found.p_value is None:
        few = bool(ways) and found.clusters < FEWEST_TESTED
        told = f"too few for a verdict: {found.clusters} of {FEWEST_TESTED} {units}"
        note = told if few else "no verdict: nothing varies"
    return Effect(
        weighing.name,
        weighing.kind,
        units,
        found.clusters,
        left_out,
        found.difference,
        found.interval,
        found.p_value,
        found.method,
        note,
    )


def _contrast(differences: Array, ways: list[Array], most: float) -> Contrast | None:
    """Of an outcome without bounds only Student's interval can be told."""
    import numpy

    if math.isfinite(most):
        return matched(differences, ways, most)
    if not len(differences):
        return None
    if not ways:
        return of_mean(differences.tolist()) or Contrast(float(differences.mean()), None, None, "none", 1)
    spread = Grouped(numpy.zeros(len(differences), dtype=int), 1, ways).spread(differences)
    clusters = int(spread.clusters[0])
    mean, variance, freedom = (float(one[0]) for one in (spread.mean, spread.variance, spread.freedom))
    return student("t", clusters, mean, variance, freedom, tested=clusters >= FEWEST_TESTED)


def _ways(table: OutcomeTable, rows: Array, columns: list[int]) -> tuple[Units, list[Array]]:
    """By what blocks hang together; by nothing where each stands for itself."""
    import numpy

    linked = bool(table.linked[columns].any())
    scenario = table.scenario[rows]
    distinct = len(numpy.unique(scenario[scenario > 0]))
    repeated = 1 < distinct < len(scenario)
    games = pair_codes(table.replicate[rows], table.game[rows][:, columns].max(axis=1, initial=0))
    ways = [games] * linked + [scenario] * repeated
    words: dict[tuple[bool, bool], Units] = {
        (False, False): "talks",
        (True, False): "games",
        (False, True): "scenarios",
        (True, True): "games and scenarios",
    }
    return words[linked, repeated], ways


def in_direction(p_value: float | None, difference: float | None, direction: Direction) -> float | None:
    """The one-sided p-value where a direction was stated beforehand."""
    if p_value is None or difference is None or direction == "two-sided":
        return p_value
    as_stated = difference < 0 if direction == "less" else difference > 0
    return p_value / 2 if as_stated else 1 - p_value / 2


# -- cells -------------------------------------------------------------------------------------------------------


def cell_mean(table: OutcomeTable, cell: Cell) -> CellMean:
    """The mean of a cell over its replicates, with the interval that its clusters give it."""
    import numpy

    (column,) = table.columns([cell])
    values = table.values[:, column]
    rows = ~numpy.isnan(values)
    missing = int((~rows & ~numpy.isnan(table.values).all(axis=1)).sum())
    known = values[rows]
    if not len(known):
        return CellMean(cell, 0, missing, None, None)
    mean = float(known.mean())
    if not table.outcome.per_talk:
        return CellMean(cell, len(known), missing, mean, _cut(of_mean(known.tolist()), table.outcome.bounds))
    return CellMean(cell, len(known), missing, mean, _interval(table, rows, column, known))


def _interval(table: OutcomeTable, rows: Array, column: int, known: Array) -> Interval | None:
    import numpy

    _, ways = _ways(table, rows, [column])
    low, high = table.outcome.bounds
    grouped = Grouped(
        numpy.zeros(len(known), dtype=int), 1, ways or [numpy.arange(len(known))], [table.drawn[rows, column]]
    )
    spread = grouped.spread(known)
    if math.isfinite(high - low):
        (rate,) = rates_of(spread, (low, high), 0 if ways else FEW_TALKS, likeness=1.0)
        return rate.interval() if rate else None
    mean, variance, freedom = (float(one[0]) for one in (spread.mean, spread.variance, spread.freedom))
    return student("t", int(spread.clusters[0]), mean, variance, freedom).interval


def _cut(found: Contrast | None, bounds: Interval) -> Interval | None:
    interval = found.interval if found else None
    return interval and (max(bounds[0], interval[0]), min(bounds[1], interval[1]))
