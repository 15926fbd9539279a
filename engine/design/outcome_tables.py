"""The values of one outcome as a table: a row for each block that cells have in common, a column for each cell.

A block is the talk of one number in one replicate, which is matched in all cells by their common seed; of an outcome that
is one number a batch it is the replicate. What is missing is not a number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidepool.engine.design.factors import Cell
from tidepool.engine.design.outcomes import BatchValues, Outcome
from tidepool.engine.statistics.grouped import Array


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
            for told in [self.drawn] + [self.game] * bool(self.linked[columns].any()):
                own = told[:, columns]
                own = own[(own >= 0).all(axis=1)]
                if not (own == own[:, :1]).all():
                    return False
        return True

    def by_replicate(self) -> "OutcomeTable":
        """The means of whole batches, a row a replicate."""
        import numpy

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
    import numpy

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
        import numpy

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
        import numpy

        values = numpy.full(self.drawn.shape, numpy.nan)
        for batch, own in zip(self._batches, self._places, strict=True):
            if told := batch.values.by_talk.get(outcome.name):
                values[own, self._columns[batch.cell]] = [numpy.nan if one is None else one for one in told]
        cells = tuple(self._columns)
        return OutcomeTable(outcome, cells, values, self.replicate, self.scenario, self.game, self.drawn, linked)


def _of_batches(
    outcome: Outcome, columns: Mapping[Cell, int], batches: Sequence[CellBatch], linked: Array
) -> OutcomeTable:
    import numpy

    names = sorted({batch.replicate for batch in batches})
    values = numpy.full((len(names), len(columns)), numpy.nan)
    for batch in batches:
        found = batch.values.of_batch.get(outcome.name)
        values[names.index(batch.replicate), columns[batch.cell]] = numpy.nan if found is None else found
    return _whole_batches(outcome, tuple(columns), values, numpy.array(names, dtype=int), linked)


def _whole_batches(
    outcome: Outcome, cells: tuple[Cell, ...], values: Array, replicate: Array, linked: Array
) -> OutcomeTable:
    import numpy

    nothing = numpy.zeros(values.shape, dtype=int)
    return OutcomeTable(
        outcome, cells, values, replicate, numpy.zeros(len(values), dtype=int), nothing, nothing, linked
    )
