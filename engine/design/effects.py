"""Effects: one linear contrast over cells, taken within each block, and its interval and test over blocks.

Values of an outcome stand in a table: a row for each block that cells have in common, a column for each cell. A block is the
conversation of one number in one replicate, which is matched in all cells by their common seed; of an outcome that is one
number a batch it is the replicate. Conversations of a game that memory or kept secrets link hang together by game,
those over a scenario that repeats by scenario. Replicates are all there is to count where a level changes who or what is
drawn; a handful of them gives an interval and no verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tidepool.engine.design.contrasts import FEWEST_REPLICATES, Cell, Direction, Weighing
from tidepool.engine.design.outcomes import BatchValues, Outcome
from tidepool.engine.statistics.contrasts import FEWEST_TESTED, Contrast, matched, of_mean, student
from tidepool.engine.statistics.grouped import Array, Grouped, Spread, numpy, pair_codes
from tidepool.engine.statistics.intervals import Interval, rates_of

# -- tables of outcomes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CellBatch:
    cell: Cell
    replicate: int
    values: BatchValues


@dataclass(frozen=True)
class OutcomeTable:
    outcome: Outcome
    cells: tuple[Cell, ...]
    values: Array
    """blocks × cells"""
    replicate: Array
    """of each block, as all that follow"""
    scenario: Array
    """0 without one"""
    game: Array
    """blocks × cells, as is what follows: the game within its replicate; -1 where there was no talk"""
    drawn: Array
    """who met over what, as a number; -1 where there was no talk"""
    linked: Array
    """by cell: the talks of a game hang together"""

    def columns(self, cells: Sequence[Cell]) -> list[int]:
        return [self.cells.index(cell) for cell in cells]

    def matched(self, groups: Sequence[Sequence[Cell]]) -> bool:
        """Whether in each group the blocks are the same everywhere: the same met, over the same, in the same game where
        that counts."""
        for group in groups:
            columns = self.columns(group)
            for item in [self.drawn] + [self.game] * bool(self.linked[columns].any()):
                own = item[:, columns]
                own = own[(own >= 0).all(axis=1)]
                if not (own == own[:, :1]).all():
                    return False
        return True

    def by_replicate(self) -> "OutcomeTable":
        """The means of whole batches, a row a replicate."""
        names, row = numpy.unique(self.replicate, return_inverse=True)
        known = ~numpy.isnan(self.values)
        shape = (len(names), len(self.cells))
        sums, times = numpy.zeros(shape), numpy.zeros(shape)
        numpy.add.at(sums, row, numpy.where(known, self.values, 0.0))
        numpy.add.at(times, row, known)
        with numpy.errstate(invalid="ignore"):
            means = numpy.where(times > 0, sums / numpy.maximum(times, 1), numpy.nan)
        return _whole_batches(self.outcome, self.cells, means, names, self.linked)


def tables_of(
    outcomes: Sequence[Outcome], cells: Sequence[Cell], batches: Sequence[CellBatch]
) -> dict[str, OutcomeTable]:
    """By the outcome's name."""
    columns = {cell: place for place, cell in enumerate(cells)}
    linked = numpy.zeros(len(cells), dtype=bool)
    for batch in batches:
        linked[columns[batch.cell]] |= batch.values.linked
    talks = _Talks(columns, batches)
    return {
        one.name: talks.table(one, linked) if one.per_talk else _of_batches(one, columns, batches, linked)
        for one in outcomes
    }


class _Talks:
    """Which talk stands in which row, once for all outcomes."""

    def __init__(self, columns: Mapping[Cell, int], batches: Sequence[CellBatch]) -> None:
        self._columns, self._batches = columns, batches
        rows: dict[tuple[int, int], int] = {}
        self._places = [
            numpy.array(
                [rows.setdefault((batch.replicate, talk.number), len(rows)) for talk in batch.values.talks], dtype=int
            )
            for batch in batches
        ]
        self.replicate = numpy.array([replicate for replicate, _ in rows], dtype=int)
        self.scenario = numpy.zeros(len(rows), dtype=int)
        self.game, self.drawn = (numpy.full((len(rows), len(columns)), -1) for _ in range(2))
        codes: dict[str, int] = {}
        for batch, own in zip(batches, self._places, strict=True):
            talks, column = batch.values.talks, columns[batch.cell]
            self.scenario[own] = [talk.scenario for talk in talks]
            self.game[own, column] = [talk.game for talk in talks]
            self.drawn[own, column] = [codes.setdefault(talk.drawn, len(codes)) for talk in talks]

    def table(self, outcome: Outcome, linked: Array) -> OutcomeTable:
        values = numpy.full(self.drawn.shape, numpy.nan)
        for batch, own in zip(self._batches, self._places, strict=True):
            if result := batch.values.by_talk.get(outcome.name):
                values[own, self._columns[batch.cell]] = [numpy.nan if one is None else one for one in result]
        cells = tuple(self._columns)
        return OutcomeTable(outcome, cells, values, self.replicate, self.scenario, self.game, self.drawn, linked)


def _of_batches(
    outcome: Outcome, columns: Mapping[Cell, int], batches: Sequence[CellBatch], linked: Array
) -> OutcomeTable:
    names = sorted({batch.replicate for batch in batches})
    values = numpy.full((len(names), len(columns)), numpy.nan)
    for batch in batches:
        found = batch.values.of_batch.get(outcome.name)
        values[names.index(batch.replicate), columns[batch.cell]] = numpy.nan if found is None else found
    return _whole_batches(outcome, tuple(columns), values, numpy.array(names, dtype=int), linked)


def _whole_batches(
    outcome: Outcome, cells: tuple[Cell, ...], values: Array, replicate: Array, linked: Array
) -> OutcomeTable:
    nothing = numpy.zeros(values.shape, dtype=int)
    return OutcomeTable(
        outcome, cells, values, replicate, numpy.zeros(len(values), dtype=int), nothing, nothing, linked
    )


# -- effects -----------------------------------------------------------------------------------------------------------


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
    own = table.values[:, table.columns(list(weighing.weights))]
    known = ~numpy.isnan(own)
    whole = known.all(axis=1)
    weights = numpy.array(list(weighing.weights.values()))
    return own[whole] @ weights, whole, int((known.any(axis=1) & ~whole).sum())


def _over_replicates(table: OutcomeTable, weighing: Weighing) -> Effect:
    differences, _, left_out = _blocks(table.by_replicate(), weighing)
    number = len(differences)
    found = of_mean(differences.tolist())
    if number and found is None:
        found = Contrast(float(differences.mean()), None, None, "none", number)
    note = _few_replicates(number, found)
    return _effect(
        weighing, "replicates", number, left_out, replace(found, p_value=None) if found and note else found, note
    )


def _effect(weighing: Weighing, units: Units, number: int, left_out: int, found: Contrast | None, note: str) -> Effect:
    found = found or Contrast(math.nan, None, None, "none", 0)
    difference = None if math.isnan(found.difference) else found.difference
    shown = (difference, found.interval, found.p_value, found.method)
    return Effect(weighing.name, weighing.kind, units, number, left_out, *shown, note)


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
        return _effect(weighing, units, 0, left_out, None, NOTHING)
    note = ""
    if found.p_value is None:
        few = bool(ways) and found.clusters < FEWEST_TESTED
        message = f"too few for a verdict: {found.clusters} of {FEWEST_TESTED} {units}"
        note = message if few else "no verdict: nothing varies"
    return _effect(weighing, units, found.clusters, left_out, found, note)


def _contrast(differences: Array, ways: list[Array], most: float) -> Contrast | None:
    """Of an outcome without bounds only Student's interval can be told."""
    if math.isfinite(most):
        return matched(differences, ways, most)
    if not len(differences):
        return None
    if not ways:
        return of_mean(differences.tolist()) or Contrast(float(differences.mean()), None, None, "none", 1)
    spread = Grouped(numpy.zeros(len(differences), dtype=int), 1, ways).spread(differences)
    return _student(spread, tested=int(spread.clusters[0]) >= FEWEST_TESTED)


def _student(spread: Spread, *, tested: bool) -> Contrast:
    mean, variance, freedom = (float(one[0]) for one in (spread.mean, spread.variance, spread.freedom))
    return student("t", int(spread.clusters[0]), mean, variance, freedom, tested=tested)


def _ways(table: OutcomeTable, rows: Array, columns: list[int]) -> tuple[Units, list[Array]]:
    """By what blocks hang together; by nothing where each stands for itself."""
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
    _, ways = _ways(table, rows, [column])
    low, high = table.outcome.bounds
    grouped = Grouped(
        numpy.zeros(len(known), dtype=int), 1, ways or [numpy.arange(len(known))], [table.drawn[rows, column]]
    )
    spread = grouped.spread(known)
    if math.isfinite(high - low):
        (rate,) = rates_of(spread, (low, high), 0 if ways else FEW_TALKS, likeness=1.0)
        return rate.interval() if rate else None
    return _student(spread, tested=False).interval


def _cut(found: Contrast | None, bounds: Interval) -> Interval | None:
    interval = found.interval if found else None
    return interval and (max(bounds[0], interval[0]), min(bounds[1], interval[1]))
