"""A stop rule at work on one batch, or on the cells of a design that it compares.

It looks at the unbroken prefix of planned blocks alone, never at what happened to end first: a block counts when all of
its units have ended, in every cell, and their outcomes are in the file. So where it stops is a function of the answers,
whatever was faster, by whichever transport, and however often the run was killed and taken up again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from tidepool.engine.config.sections import StopWhenSure
from tidepool.engine.errors import UsageError
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.stopping.checking import few_blocks
from tidepool.engine.stopping.rules import Decided, HalfWidth, Sight, variance_of_blocks
from tidepool.engine.stopping.statistics import Rule, Stopping
from tidepool.engine.stopping.watched import LEAST_BLOCKS, Watched


class RunningCell(Protocol):
    """A cell at work, as the rule knows it."""

    committed: int
    """units of the unbroken prefix whose ends are in the file"""

    def take_in(self, end: int) -> Interval | None:
        """The next block, up to this unit, as `Watched.take_in` has it."""
        ...

    def wake(self) -> None:
        """The rule has looked, or has stopped."""
        ...


@dataclass(frozen=True, slots=True)
class Cell:
    """A batch that the rule looks at. Its mean counts with this weight: in a contrast those of the one level sum to 1,
    those of the other to -1, and others have 0; each replicate of the design gives a difference of its own."""

    watched: Watched
    weight: float = 1.0
    replicate: int = 1


class StopRule:
    def __init__(self, settings: StopWhenSure, cells: Sequence[Cell]) -> None:
        self.settings = settings
        self.cells = cells
        first = cells[0].watched
        self.units = first.units
        if any(cell.watched.units != self.units for cell in cells):
            raise UsageError("[stop]: the cells of the design differ in length, so their talks cannot be matched.")
        self.bounds = _bounds(cells, settings)
        self.done = 0
        """units of the blocks that were looked at"""
        self.blocks = 0
        self.sight: Sight | None = None
        """what made it stop"""
        self.halted: Stopping | None = None
        """what the file of a batch says that was sure before, and is taken up again"""
        self._last: Sight | None = None
        self._ends = first.ends()
        self.next_end = next(self._ends, None)
        self._half_width = HalfWidth(settings.half_width) if settings.half_width is not None else None
        self._decided = self._deciding(first) if settings.decided else None
        self.gates: dict[int, RunningCell] = {}
        """by the place of their cells"""

    def _deciding(self, first: Watched) -> Decided:
        each = self.next_end or self.units
        variance = variance_of_blocks(first.bounds, each, self.settings.contrast)
        blocks = self.units / each * len({cell.replicate for cell in self.cells})
        return Decided(self.settings.at, blocks, variance, self.bounds)

    def advance(self) -> None:
        """Looks at every block that has ended in all cells, in the order of the plan."""
        while not (self.sight or self.halted) and self.next_end is not None and self._ended(self.next_end):
            end = self.next_end
            self._look(end)
            self.done, self.blocks = end, self.blocks + 1
            self.next_end = next(self._ends, None)
        for gate in self.gates.values():
            gate.wake()

    def _ended(self, end: int) -> bool:
        return len(self.gates) == len(self.cells) and all(gate.committed >= end for gate in self.gates.values())

    def _look(self, end: int) -> None:
        values = [self.gates[place].take_in(end) for place in range(len(self.cells))]
        if self._half_width is not None:
            seen = self._half_width.after(end, self.cells[0].watched)
            self._last = seen or self._last
            self.sight = seen if seen and seen.verdict else None
        elif self._decided is not None:
            for replicate in sorted({cell.replicate for cell in self.cells}):
                self._decided.after(self._joined(replicate, values))
            self.sight = self._decided.sight(end) if self._decided.verdict else None

    def _joined(self, replicate: int, values: Sequence[Interval | None]) -> Interval | None:
        """The block's weighted mean over a replicate's cells, between its worst cases; None where one has no value."""
        low = high = 0.0
        for cell, value in zip(self.cells, values, strict=True):
            if not cell.weight or cell.replicate != replicate:
                continue
            if value is None:
                return None
            ends = (cell.weight * value[0], cell.weight * value[1])
            low, high = low + min(ends), high + max(ends)
        return low, high

    def told(self, begun: int) -> Stopping:
        """What one cell's file says of it, after so many of its units were begun."""
        rule: HalfWidth | Decided | None = self._half_width or self._decided
        assert rule is not None
        seen = self.sight or (self._decided.sight(self.done) if self._decided else self._last)
        return Stopping(
            rule=Rule(**{name: getattr(self.settings, name) for name in StopWhenSure.model_fields}),
            method=rule.method,
            units=self.cells[0].watched.noun,
            max=self.units,
            blocks=self.blocks,
            looks=rule.looks,
            stopped_at=self.sight.units if self.sight else None,
            begun=begun,
            verdict=(self.sight and self.sight.verdict) or rule.verdict_at_end,
            estimate=seen.mean if seen else None,
            interval=seen.interval if seen else None,
            calls_saved=0,
        )


def _bounds(cells: Sequence[Cell], settings: StopWhenSure) -> Interval:
    """Of a mean over the cells. A difference of agents within one batch has bounds of its own already."""
    low, high = cells[0].watched.bounds
    return (low - high, high - low) if settings.contrast else (low, high)


def rule_for_contrast(settings: StopWhenSure, cells: Sequence[tuple[Watched, str, int]]) -> StopRule:
    """The one rule of a design's cells, each with its level of the factor that is compared and its replicate."""
    levels = list(dict.fromkeys(level for _, level, _ in cells))
    named = [(one, other) for one in levels for other in levels if settings.difference.endswith(f": {one} - {other}")]
    if not named:
        raise UsageError(
            f"stop.difference {settings.difference!r} names no two levels of {settings.factor!r}, which has {', '.join(levels)}.",
            ("stop", "difference"),
        )
    one, other = named[0]
    replicates = len({replicate for _, _, replicate in cells})
    times = {level: sum(found == level for _, found, _ in cells) / replicates for level in levels}
    signs = {one: 1.0, other: -1.0}
    rule = StopRule(settings, [Cell(watched, signs.get(level, 0.0) / times[level], r) for watched, level, r in cells])
    first = cells[0][0]
    if len(list(islice(first.ends(), LEAST_BLOCKS))) * replicates < LEAST_BLOCKS:
        raise few_blocks(first, replicates, ("stop",))
    return rule


def rule_for(settings: StopWhenSure, watched: Watched) -> StopRule:
    """The rule of a batch by itself."""
    if settings.contrast:
        raise UsageError(
            f"stop.difference {settings.difference!r} names the levels of a factor {settings.factor!r}, and this config has no "
            '[design] with it. For two agents write "Ada - Bob".',
            ("stop", "difference"),
        )
    return StopRule(settings, [Cell(watched)])
