"""Effects: one linear contrast over cells, computed within each block, with its interval and test over blocks.

The values of an outcome form a table with a row for each block that cells share and a column for each cell. A block is one
conversation number in one replicate. Cells share the seed, so conversations of the same number are matched. If an outcome is
one number per batch, the block is the replicate. Conversations are clustered by game if memory or collected secrets link them, and by
scenario if scenarios repeat. Conversations that share entities use the jackknife over entities. Conversations of one entity
are clustered by combination. If a level changes who or what is drawn, only replicates count. Few replicates give an interval
and no verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tidepool.engine.inference.contrasts import (
    IN_EVERY_ONE,
    Contrast,
    few_clusters,
    interval_of_mean,
    matched,
    of_mean,
    over_members,
)
from tidepool.engine.inference.grouped import Array, numpy, pair_codes, spread_of
from tidepool.engine.inference.hypotheses import (
    FEWEST_REPLICATES,
    Cell,
    ContrastSpec,
    Difference,
    Direction,
    Factor,
    Factors,
    Weighing,
    weigh,
)
from tidepool.engine.inference.intervals import Interval, interval_over, parts_of, rates_of, scaled
from tidepool.engine.inference.measures import BatchValues, Outcome

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
    """of each block, like all fields that follow"""
    scenario: Array
    """0 without a scenario"""
    game: Array
    """blocks × cells, like the next field: the game within its replicate; -1 without a conversation"""
    drawn: Array
    """who met over what, as a number; -1 if unknown, or without a conversation"""
    linked: Array
    """by cell: the conversations of a game are linked"""
    members: Array | None = None
    """blocks × places: who was in the conversation, as numbers; -1 marks an empty place. None: no participants are shared"""
    took_part: Array | None = None
    """by block: whether the participant that the outcome describes took part"""

    def columns(self, cells: Sequence[Cell]) -> list[int]:
        return [self.cells.index(cell) for cell in cells]

    @property
    def played(self) -> Array:
        """By block: whether a value was planned. Conversations without the agent do not count for that agent's outcome."""
        if not self.outcome.about:
            return numpy.ones(len(self.values), dtype=bool)
        measured = ~numpy.isnan(self.values).all(axis=1)
        return measured if self.took_part is None else measured | self.took_part

    def matched(self, groups: Sequence[Sequence[Cell]]) -> bool:
        """Whether the blocks of each group are the same in all its cells: the same participants, over the same, and in the same
        game if that counts."""
        for group in groups:
            columns = self.columns(group)
            for table_part in [self.drawn] + [self.game] * bool(self.linked[columns].any()):
                values = table_part[:, columns]
                values = values[(values >= 0).all(axis=1)]
                if not (values == values[:, :1]).all():
                    return False
        return True

    def by_replicate(self) -> "OutcomeTable":
        """The means of whole batches, one row per replicate."""
        names, row = numpy.unique(self.replicate, return_inverse=True)
        present = ~numpy.isnan(self.values)
        shape = (len(names), len(self.cells))
        sums, times = numpy.zeros(shape), numpy.zeros(shape)
        numpy.add.at(sums, row, numpy.where(present, self.values, 0.0))
        numpy.add.at(times, row, present)
        with numpy.errstate(invalid="ignore"):
            means = numpy.where(times > 0, sums / numpy.maximum(times, 1), numpy.nan)
        batches = _whole_batches(self.outcome, self.cells, means, names, self.linked)
        return replace(batches, took_part=numpy.isin(names, self.replicate[self.played]))


def tables_of(
    outcomes: Sequence[Outcome], cells: Sequence[Cell], batches: Sequence[CellBatch]
) -> dict[str, OutcomeTable]:
    """By the outcome's name."""
    columns = {cell: position for position, cell in enumerate(cells)}
    linked = numpy.zeros(len(cells), dtype=bool)
    for batch in batches:
        linked[columns[batch.cell]] |= batch.values.linked
    talks = _Talks(columns, batches)
    return {
        item.name: talks.table(item, linked) if item.per_talk else _of_batches(item, columns, batches, linked)
        for item in outcomes
    }


ARMS = Factors((Factor("arm", ("first", "second"), frozenset()),))
FIRST, SECOND = ARMS.cells


def of_two(outcome: Outcome, first: BatchValues, second: BatchValues) -> OutcomeTable:
    """Two batches, or the two arms of a branch, as the cells of a design."""
    batches = [CellBatch(FIRST, 1, first), CellBatch(SECOND, 1, second)]
    return tables_of([outcome], ARMS.cells, batches)[outcome.name]


class _Talks:
    """The row of each conversation, computed once for all outcomes."""

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
        names: dict[str, int] = {}
        size = max((len(talk.members) for batch in batches for talk in batch.values.talks), default=0)
        sampled = size > 0 or any(batch.values.sampled for batch in batches)
        self.members = numpy.full((len(rows), size), -1) if sampled else None
        for batch, places in zip(batches, self._places, strict=True):
            talks, column = batch.values.talks, columns[batch.cell]
            self.scenario[places] = numpy.maximum(self.scenario[places], [talk.scenario for talk in talks])
            self.game[places, column] = [talk.game for talk in talks]
            self.drawn[places, column] = [
                codes.setdefault(talk.drawn, len(codes)) if talk.drawn else -1 for talk in talks
            ]
            if self.members is not None:
                for place, talk in zip(places, talks, strict=True):
                    for position, name in enumerate(talk.members):
                        self.members[place, position] = names.setdefault(name, len(names))

    def table(self, outcome: Outcome, linked: Array) -> OutcomeTable:
        values, name = numpy.full(self.drawn.shape, numpy.nan), outcome.about.partition(".")[2]
        took_part = numpy.zeros(len(values), dtype=bool)
        for batch, places in zip(self._batches, self._places, strict=True):
            took_part[places] |= numpy.array([name in talk.cast for talk in batch.values.talks], dtype=bool)
            if by_talk := batch.values.by_talk.get(outcome.name):
                values[places, self._columns[batch.cell]] = [numpy.nan if value is None else value for value in by_talk]
        cells = tuple(self._columns)
        blocks = (self.replicate, self.scenario, self.game, self.drawn)
        return OutcomeTable(outcome, cells, values, *blocks, linked, self.members, took_part)


def _of_batches(
    outcome: Outcome, columns: Mapping[Cell, int], batches: Sequence[CellBatch], linked: Array
) -> OutcomeTable:
    names = sorted({batch.replicate for batch in batches})
    values = numpy.full((len(names), len(columns)), numpy.nan)
    for batch in batches:
        value = batch.values.of_batch.get(outcome.name)
        values[names.index(batch.replicate), columns[batch.cell]] = numpy.nan if value is None else value
    return _whole_batches(outcome, tuple(columns), values, numpy.array(names, dtype=int), linked)


def _whole_batches(
    outcome: Outcome, cells: tuple[Cell, ...], values: Array, replicate: Array, linked: Array
) -> OutcomeTable:
    zeros = numpy.zeros(values.shape, dtype=int)
    return OutcomeTable(outcome, cells, values, replicate, numpy.zeros(len(values), dtype=int), zeros, zeros, linked)


# -- effects -----------------------------------------------------------------------------------------------------------


Units = Literal["talks", "games", "scenarios", "games and scenarios", "entities", "combinations", "replicates"]
SPEAKS_OF: dict[str, str] = {
    "talks": "conversations like these",
    "games": "games like these",
    "scenarios": "scenarios like these",
    "games and scenarios": "games and scenarios like these",
    "entities": "entities like these",
    "combinations": "this entity in combinations like these",
    "replicates": "whole runs like these",
}
"""what the interval of an effect describes, by the unit that it counts"""
FEW_TALKS = 10
"""with fewer conversations, the spread is derived from the mean alone"""


@dataclass(frozen=True, slots=True)
class Effect:
    name: str
    kind: str
    units: Units
    number: int
    """of those units"""
    left_out: int
    """blocks in which a cell of the contrast has no value"""
    difference: float | None
    interval: Interval | None
    p_value: float | None
    """two-sided"""
    method: str
    note: str
    """why there is no verdict, or a warning that there are few units"""

    @property
    def estimand(self) -> str:
        return SPEAKS_OF[self.units]


@dataclass(frozen=True, slots=True)
class CellMean:
    cell: Cell
    talks: int
    """or batches, if the outcome is one number per batch"""
    missing: int
    """blocks of the cell without a value: failed, or not measured"""
    mean: float | None
    interval: Interval | None
    estimand: str
    note: str = ""
    """a warning that there are few units"""


FIRST_LESS_SECOND = weigh(ContrastSpec((Difference("arm", "first", "second"),)), ARMS, ARMS.cells)


def difference(table: OutcomeTable) -> Effect:
    """The effect in a table of two cells."""
    assert FIRST_LESS_SECOND is not None
    return _over_talks(table, FIRST_LESS_SECOND)


def difference_as_json(found: Effect | Contrast | None, scale: float) -> dict[str, float | list[float] | None]:
    if found is None or found.difference is None:
        return dict.fromkeys(("difference", "difference_ci95", "p_value"))
    ends = scaled(found.interval, scale)
    return {"difference": scale * found.difference, "difference_ci95": ends, "p_value": found.p_value}


def effect(table: OutcomeTable, weighing: Weighing) -> Effect:
    by_talk = table.outcome.per_talk and not weighing.redraws and table.matched(weighing.groups)
    return _over_talks(table, weighing) if by_talk else _over_replicates(table, weighing)


def _blocks(table: OutcomeTable, weighing: Weighing) -> tuple[Array, Array, int]:
    """The contrast in each block that has all its cells, those blocks, and how many blocks miss a cell."""
    columns = table.columns(list(weighing.weights))
    values = table.values[:, columns]
    complete = ~numpy.isnan(values).any(axis=1)
    played = table.played & (table.game[:, columns] >= 0).any(axis=1)
    weights = numpy.array(list(weighing.weights.values()))
    return values[complete] @ weights, complete, int((played & ~complete).sum())


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
    fields = (difference, found.interval, found.p_value, found.method)
    return Effect(weighing.name, weighing.kind, units, number, left_out, *fields, note)


def _few_replicates(number: int, found: Contrast | None) -> str:
    if not number:
        return NOTHING
    if number < FEWEST_REPLICATES:
        return f"too few for a verdict: {number} of {FEWEST_REPLICATES} replicates"
    return "no verdict: every replicate gave the same difference" if found and found.p_value is None else ""


NOTHING = "no result: nothing is complete in all of its cells"


def _over_talks(table: OutcomeTable, weighing: Weighing) -> Effect:
    differences, complete, left_out = _blocks(table, weighing)
    units, clusters = _clusters(table, complete, table.columns(list(weighing.weights)))
    low, high = table.outcome.bounds
    most = (high - low) * sum(map(abs, weighing.weights.values())) / 2
    nothing = "no verdict: the values do not vary"
    if units == "entities" and table.members is not None and len(differences):
        contrast: Contrast | None = over_members(differences, table.members[complete])
        if len(differences) in (times for _, times in parts_of(differences, table.members[complete])):
            nothing = IN_EVERY_ONE
    else:
        contrast = matched(differences, clusters, most)
    if contrast is None:
        return _effect(weighing, units, 0, left_out, None, NOTHING)
    note = few_clusters(contrast.clusters, units) if units == "entities" or clusters else ""
    if contrast.p_value is None and not note.startswith("no verdict"):
        note = nothing
    return _effect(weighing, units, contrast.clusters, left_out, contrast, note)


def _clusters(table: OutcomeTable, rows: Array | slice, columns: list[int] | slice) -> tuple[Units, list[Array]]:
    """The unit and labels by which blocks are clustered; no labels if blocks are independent or share entities."""
    if table.members is not None:
        if not table.outcome.about:
            return "entities", []
        combination = table.drawn[rows][:, columns].max(axis=1, initial=-1)
        return "combinations", [combination] if len(numpy.unique(combination)) < len(combination) else []
    linked = bool(table.linked[columns].any())
    scenario = table.scenario[rows]
    distinct = len(numpy.unique(scenario[scenario > 0]))
    repeated = 1 < distinct < len(scenario)
    games = pair_codes(table.replicate[rows], table.game[rows][:, columns].max(axis=1, initial=0))
    clusters = [games] * linked + [scenario] * repeated
    names: dict[tuple[bool, bool], Units] = {
        (False, False): "talks",
        (True, False): "games",
        (False, True): "scenarios",
        (True, True): "games and scenarios",
    }
    return names[linked, repeated], clusters


def in_direction(p_value: float | None, difference: float | None, direction: Direction) -> float | None:
    """The p-value; one-sided if the hypothesis states a direction."""
    if p_value is None or difference is None or direction == "two-sided":
        return p_value
    as_stated = difference < 0 if direction == "less" else difference > 0
    return p_value / 2 if as_stated else 1 - p_value / 2


# -- cells -------------------------------------------------------------------------------------------------------


def cell_mean(table: OutcomeTable, cell: Cell) -> CellMean:
    """The mean of a cell over its replicates, with an interval that respects its clusters."""
    (column,) = table.columns([cell])
    values = table.values[:, column]
    rows = ~numpy.isnan(values)
    missing = int((~rows & table.played & (table.game[:, column] >= 0)).sum())
    present = values[rows]
    estimand = estimand_of(table, rows, [column])
    if not len(present):
        return CellMean(cell, 0, missing, None, None, estimand)
    mean = float(present.mean())
    if not table.outcome.per_talk:
        interval = interval_of_mean(present.tolist(), table.outcome.bounds)
        return CellMean(cell, len(present), missing, mean, interval, estimand)
    units, clusters = _clusters(table, rows, [column])
    interval, number = _interval(table, rows, present, units, clusters)
    note = few_clusters(number, units, fewest=0) if units == "entities" or clusters else ""
    return CellMean(cell, len(present), missing, mean, interval, estimand, note)


ALL = slice(None)


def estimand_of(table: OutcomeTable, rows: Array | slice = ALL, columns: list[int] | slice = ALL) -> str:
    """What an estimate of these blocks and columns describes."""
    units = _clusters(table, rows, columns)[0] if table.outcome.per_talk else "replicates"
    return SPEAKS_OF[units]


def _interval(
    table: OutcomeTable, rows: Array, values: Array, units: Units, clusters: list[Array]
) -> tuple[Interval | None, int]:
    """The interval, and the number of its units."""
    low, high = table.outcome.bounds
    if units == "entities" and table.members is not None:
        parts = parts_of(values, table.members[rows])
        return interval_over((float(values.sum()), len(values)), parts, table.outcome.bounds), len(parts)
    if math.isinf(high - low):
        found = matched(values, clusters, math.inf)
        return (found.interval, found.clusters) if found else (None, 0)
    spread = spread_of(values, clusters)
    (rate,) = rates_of(spread, (low, high), 0 if clusters else FEW_TALKS, likeness=1.0)
    return rate.interval() if rate else None, int(spread.clusters[0])
