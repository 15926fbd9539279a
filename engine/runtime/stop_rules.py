"""Stop rules: what they watch, when they look, and what they decide, on one batch or on the cells of a design.

A rule looks at the unbroken prefix of planned blocks alone, never at what happened to end first: a block counts when all of
its units have ended, in every cell, and their outcomes are in the file. So where it stops is a function of the answers,
however often the run was killed and resumed. `half_width` looks at the ordinary interval of the report, from 100 units on and
then each time a fiftieth has come in (Chow and Robbins). `decided` looks after every block at a confidence sequence, so that it
is never wrong more often than one in twenty times, however often it looks."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from tidepool.engine.config.sections import StopWhenSure
from tidepool.engine.errors import Location, UsageError
from tidepool.engine.inference.betting import ConfidenceSequence
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.runtime.stop_results import Rule, Stopping

# -- what a rule watches -----------------------------------------------------------------------------------------------


LEAST_BLOCKS = 10
"""fewer could hardly ever decide anything"""
ENOUGH_BLOCKS = 40
"""with so many, blocks may as well be larger and balance more"""


@dataclass(frozen=True, slots=True)
class ReportEstimate:
    """An estimate as the report would show it, with its ordinary interval; None: there is none."""

    mean: float
    interval: Interval | None


class StopTarget(Protocol):
    """Blocks are of whole units in the order of the plan, and alike: what differs between units by design is in each."""

    units: int
    """as planned: there will not be more"""
    bounds: Interval
    """between which values of the outcome lie"""
    noun: str
    """what units are called"""
    together: int
    """units of a block that can be asked at the same moment"""
    linked: bool
    """a block that was begun is played to its end, since its units hang together"""

    def ends(self) -> Iterator[int]:
        """The last unit of each whole block."""
        ...

    def read_block(self, connection: sqlite3.Connection, batch_number: int, last: int) -> Interval | None:
        """Reads the next block, up to its last unit: the mean of its values, or between what it must lie where units
        failed. None: it has none."""
        ...

    def known(self) -> ReportEstimate | None:
        """By all that was taken in."""
        ...


# -- the two rules -----------------------------------------------------------------------------------------------------


FIRST_LOOK = 100
"""units: below, an interval may be narrow by chance"""
LOOKS_IN = 50
"""the next look comes when the units have grown by one part in so many"""


@dataclass(frozen=True, slots=True)
class LookResult:
    """What a look saw: the estimate, its interval by the rule's own method, and the verdict where there is one."""

    units: int
    mean: float | None
    interval: Interval | None
    verdict: str | None = None


class HalfWidth:
    """Stops when the report's own interval is narrow enough."""

    method = "the report's interval at fixed looks, not corrected for looking (Chow and Robbins)"
    verdict_at_end = "not narrow enough"

    def __init__(self, half_width: float) -> None:
        self._widest = 2 * half_width
        self._next = FIRST_LOOK
        self._last: LookResult | None = None
        self.looks = 0

    def after(self, units: int, values: Iterable[Interval | None], target: StopTarget) -> None:
        """Looks after a block, where it is time to."""
        if units < self._next:
            return
        self._next = units + max(1, units // LOOKS_IN)
        self.looks += 1
        estimate, verdict = target.known(), None
        bounds = estimate.interval if estimate else None
        if bounds is not None and bounds[1] - bounds[0] <= self._widest:
            verdict = "narrow enough"
        self._last = LookResult(units, estimate.mean if estimate else None, bounds, verdict)

    @property
    def verdict(self) -> str | None:
        return self._last.verdict if self._last else None

    def look_result(self, units: int) -> LookResult | None:
        """Of the last look."""
        return self._last


class Decided:
    """Stops when a confidence sequence over block means excludes the line."""

    method = "a betting confidence sequence over block means (Waudby-Smith and Ramdas), tuned to half of the most"
    verdict_at_end = "undecided"

    def __init__(self, line: float, blocks: float, variance: float, bounds: Interval) -> None:
        """`blocks`: how many there are at most; `variance`: of a block's mean, as guessed before any."""
        self._sequence = ConfidenceSequence(blocks / 2, variance, bounds)
        self._decision = self._sequence.against(line)
        self._sums = [0.0, 0.0]
        self.looks = 0

    def after(self, units: int, values: Iterable[Interval | None], target: StopTarget) -> None:
        """Takes in a block: a value of each replicate."""
        for value in filter(None, values):
            self.looks += 1
            self._sequence.add(*value)
            self._sums = [total + end for total, end in zip(self._sums, value, strict=True)]
            self._decision.update()

    @property
    def verdict(self) -> str | None:
        return self._decision.verdict

    def look_result(self, units: int) -> LookResult:
        """The estimate is the mean of the blocks, each in the middle of its bounds."""
        mean = sum(self._sums) / 2 / self.looks if self.looks else None
        return LookResult(units, mean, self._sequence.interval() if self.looks else None, self._decision.verdict)


def variance_of_blocks(bounds: Interval, units: float, contrast: bool) -> float:
    """A guess for the stakes before anything was seen: halves at either bound, units independent."""
    low, high = bounds
    return (2 if contrast else 1) * (high - low) ** 2 / 4 / max(1.0, units)


# -- mistakes in [stop] ------------------------------------------------------------------------------------------------


def refuse_outcome(settings: StopWhenSure, outcomes: Collection[str], kind: str) -> None:
    if settings.outcome not in outcomes:
        message = f"stop.outcome {settings.outcome!r} is none of a {kind}: write {' or '.join(outcomes)}."
        raise UsageError(message, ("stop", "outcome"))


def refuse_line(settings: StopWhenSure, bounds: Interval) -> None:
    """A line must lie between the outcome's bounds, and an interval must be narrower than they are apart."""
    low, high = bounds
    if settings.decided and not low < settings.at < high:
        message = f"stop.line is {settings.at:g}, and {settings.outcome} lies between {low:g} and {high:g}: there is nothing to decide."
        raise UsageError(message, ("stop", "line"))
    if settings.half_width is not None and settings.half_width >= (high - low) / 2:
        message = f"stop.half_width is {settings.half_width:g}, and {settings.outcome} lies between {low:g} and {high:g}: 0.03 is 3 points."
        raise UsageError(message, ("stop", "half_width"))


def refuse_few_blocks(settings: StopWhenSure, target: StopTarget, where: Location) -> None:
    """A rule that could never stop is a mistake."""
    ends = list(islice(target.ends(), LEAST_BLOCKS))
    if settings.decided and not settings.contrast and len(ends) < LEAST_BLOCKS:
        raise few_blocks(target, 1, where)
    if settings.half_width is not None and (target.units <= FIRST_LOOK or not ends):
        raise UsageError(
            f"[stop] with half_width looks from {FIRST_LOOK} {target.noun} on, after whole blocks; {target.units:,} are planned, "
            "so it could never stop earlier.",
            where,
        )


def few_blocks(target: StopTarget, replicates: int, where: Location = ()) -> UsageError:
    """Of a batch, or of so many replicates of a design's cells."""
    size = next(target.ends(), target.units)
    each = " of each cell" if replicates > 1 else ""
    return UsageError(
        f"[stop] decides by blocks of {size:,} {target.noun}, which all have the same mixture, and it takes at least "
        f"{LEAST_BLOCKS} of them; {target.units:,} {target.noun}{each} are planned. Plan {size * -(-LEAST_BLOCKS // replicates):,} or "
        "more.",
        where,
    )


# -- a rule at work ----------------------------------------------------------------------------------------------------


class RunningCell(Protocol):
    """A cell at work, as the rule knows it."""

    committed: int
    """units of the unbroken prefix whose ends are in the file"""

    def read_block(self, end: int) -> Interval | None:
        """The next block, up to this unit, as `StopTarget.read_block` has it."""
        ...

    def wake(self) -> None:
        """The rule has looked, or has stopped."""
        ...


@dataclass(frozen=True, slots=True)
class Cell:
    """A batch that the rule looks at. Its mean counts with this weight: in a contrast those of the one level sum to 1,
    those of the other to -1, and others have 0; each replicate of the design gives a difference of its own."""

    target: StopTarget
    weight: float = 1.0
    replicate: int = 1


class StopRule:
    def __init__(self, settings: StopWhenSure, cells: Sequence[Cell]) -> None:
        self.settings = settings
        self.cells = cells
        first = cells[0].target
        self.units = first.units
        if any(cell.target.units != self.units for cell in cells):
            raise UsageError("[stop]: the cells of the design differ in length, so their talks cannot be matched.")
        low, high = first.bounds
        # A difference of agents within one batch has bounds of its own already.
        self.bounds = (low - high, high - low) if settings.contrast else (low, high)
        self.done = 0
        """units of the blocks that were looked at"""
        self.blocks = 0
        self.deciding_look: LookResult | None = None
        """what made it stop"""
        self.halted: Stopping | None = None
        """what the file of a batch says that was sure before, and is taken up again"""
        self._ends = first.ends()
        self.next_end = next(self._ends, None)
        self._rule = self._deciding(first) if settings.half_width is None else HalfWidth(settings.half_width)
        self.gates: dict[int, RunningCell] = {}
        """by the place of their cells"""

    def _deciding(self, first: StopTarget) -> Decided:
        each = self.next_end or self.units
        variance = variance_of_blocks(first.bounds, each, self.settings.contrast)
        blocks = self.units / each * len({cell.replicate for cell in self.cells})
        return Decided(self.settings.at, blocks, variance, self.bounds)

    def advance(self) -> None:
        """Looks at every block that has ended in all cells, in the order of the plan."""
        while not (self.deciding_look or self.halted) and self.next_end is not None and self._ended(self.next_end):
            end = self.next_end
            self._look(end)
            self.done, self.blocks = end, self.blocks + 1
            self.next_end = next(self._ends, None)
        for gate in self.gates.values():
            gate.wake()

    def _ended(self, end: int) -> bool:
        return len(self.gates) == len(self.cells) and all(gate.committed >= end for gate in self.gates.values())

    def _look(self, end: int) -> None:
        values = [self.gates[index].read_block(end) for index in range(len(self.cells))]
        replicates = sorted({cell.replicate for cell in self.cells})
        self._rule.after(end, (self._joined(replicate, values) for replicate in replicates), self.cells[0].target)
        self.deciding_look = self._rule.look_result(end) if self._rule.verdict else None

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

    def stopping(self, begun: int) -> Stopping:
        """What one cell's file says of it, after so many of its units were begun."""
        rule = self._rule
        look = self.deciding_look or rule.look_result(self.done)
        return Stopping(
            rule=Rule(**{name: getattr(self.settings, name) for name in StopWhenSure.model_fields}),
            method=rule.method,
            units=self.cells[0].target.noun,
            max=self.units,
            blocks=self.blocks,
            looks=rule.looks,
            stopped_at=self.deciding_look.units if self.deciding_look else None,
            begun=begun,
            verdict=(self.deciding_look and self.deciding_look.verdict) or rule.verdict_at_end,
            estimate=look.mean if look else None,
            interval=look.interval if look else None,
            calls_saved=0,
        )


def rule_for_contrast(settings: StopWhenSure, cells: Sequence[tuple[StopTarget, str, int]]) -> StopRule:
    """The one rule of a design's cells, each with its level of the factor that is compared and its replicate."""
    levels = list(dict.fromkeys(level for _, level, _ in cells))
    pairs = [(one, other) for one in levels for other in levels if settings.difference.endswith(f": {one} - {other}")]
    if not pairs:
        raise UsageError(
            f"stop.difference {settings.difference!r} names no two levels of {settings.factor!r}, which has {', '.join(levels)}.",
            ("stop", "difference"),
        )
    one, other = pairs[0]
    replicates = len({replicate for _, _, replicate in cells})
    times = {level: sum(level_there == level for _, level_there, _ in cells) / replicates for level in levels}
    signs = {one: 1.0, other: -1.0}
    rule = StopRule(settings, [Cell(target, signs.get(level, 0.0) / times[level], r) for target, level, r in cells])
    first = cells[0][0]
    if len(list(islice(first.ends(), LEAST_BLOCKS))) * replicates < LEAST_BLOCKS:
        raise few_blocks(first, replicates, ("stop",))
    return rule


def rule_for(settings: StopWhenSure, target: StopTarget) -> StopRule:
    """The rule of a batch by itself."""
    if settings.contrast:
        raise UsageError(
            f"stop.difference {settings.difference!r} names the levels of a factor {settings.factor!r}, and this config has no "
            '[design] with it. For two agents write "Ada - Bob".',
            ("stop", "difference"),
        )
    return StopRule(settings, [Cell(target)])
