"""Early-stop rules: what they watch, when they check, what they decide, and how many units start ahead of them.

A rule reads only the unbroken prefix of planned blocks, never the units that happened to end first. A block counts when
all of its units have ended and their outcomes are in the file. So the stopping point is a function of the answers,
however often the run was killed and resumed. `half_width` checks the ordinary interval of the report, from 100 units on
and then after each further fiftieth (Chow and Robbins). `decided` checks a confidence sequence after every block, which
keeps the error rate at or below one in twenty for any number of checks.

If all units started at once, nothing could be saved. Live, as many are in flight as keep the limits busy, and none is more than two
such windows ahead of the checked blocks. With the batch API, a group starts together, since a provider batch may take hours,
and the rule checks when the group has ended. All started units are finished and kept."""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from tidepool.engine.config.sections import StopWhenSure
from tidepool.engine.errors import Location, UsageError
from tidepool.engine.inference.betting import ConfidenceSequence
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.runtime.context import Latch, Tasks
from tidepool.engine.runtime.services import Stages
from tidepool.engine.runtime.stop_results import FINDING, Stopping, stopping_of
from tidepool.storage.ledger import Ledger

# -- what a rule watches -----------------------------------------------------------------------------------------------


LEAST_BLOCKS = 10
"""a decision needs about this many blocks"""
ENOUGH_BLOCKS = 40
"""with this many blocks, larger blocks are better, since they balance more"""


@dataclass(frozen=True, slots=True)
class ReportEstimate:
    """An estimate with its ordinary interval, as in the report; the interval may be missing."""

    mean: float
    interval: Interval | None


class StopTarget(Protocol):
    """Blocks consist of whole units in the order of the plan. Differences by design occur within each block."""

    units: int
    """planned units, which is also the maximum"""
    bounds: Interval
    """the range of the outcome"""
    noun: str
    """the name of the units"""
    together: int
    """units of a block that can be asked at the same moment"""
    in_percent: bool
    """the outcome is a share"""
    linked: bool
    """a started block runs to its end, since its units depend on each other"""

    def ends(self) -> Iterator[int]:
        """The last unit of each whole block."""
        ...

    def read_block(self, connection: sqlite3.Connection, batch_number: int, last: int) -> Interval | None:
        """Reads the next block, up to its last unit: the mean of its values, or bounds for it if units failed. None: it has
        no values."""
        ...

    def known(self) -> ReportEstimate | None:
        """The estimate from all blocks so far."""
        ...


# -- the two rules -----------------------------------------------------------------------------------------------------


FIRST_LOOK = 100
"""units; below this number, an interval may be narrow by chance"""
LOOKS_IN = 50
"""the next check follows when the units have grown by one part in this many"""


class HalfWidth:
    """Stops when the report's own interval is narrow enough."""

    method = "the report's interval at fixed looks, not corrected for looking (Chow and Robbins)"
    verdict_at_end = "not narrow enough"

    def __init__(self, half_width: float) -> None:
        self._widest = 2 * half_width
        self._next = FIRST_LOOK
        self.estimate: ReportEstimate | None = None
        """at the last check"""
        self.verdict: str | None = None
        self.looks = 0

    def after(self, units: int, value: Interval | None, target: StopTarget) -> None:
        """Checks after a block, if a check is due."""
        if units < self._next:
            return
        self._next = units + max(1, units // LOOKS_IN)
        self.looks += 1
        self.estimate = target.known()
        bounds = self.estimate.interval if self.estimate else None
        if bounds is not None and bounds[1] - bounds[0] <= self._widest:
            self.verdict = "narrow enough"


class Decided:
    """Stops when a confidence sequence over block means excludes the threshold."""

    method = "a betting confidence sequence over block means (Waudby-Smith and Ramdas), tuned to half of the most"
    verdict_at_end = "undecided"

    def __init__(self, line: float, blocks: float, variance: float, bounds: Interval) -> None:
        """`blocks`: their maximum number; `variance`: the assumed variance of a block's mean."""
        self._sequence = ConfidenceSequence(blocks / 2, variance, bounds)
        self._decision = self._sequence.against(line)
        self._sums = [0.0, 0.0]
        self.looks = 0

    def after(self, units: int, value: Interval | None, target: StopTarget) -> None:
        """Adds the value of a block."""
        if value is not None:
            self.looks += 1
            self._sequence.add(*value)
            self._sums = [total + end for total, end in zip(self._sums, value, strict=True)]
            self._decision.update()

    @property
    def verdict(self) -> str | None:
        return self._decision.verdict

    @property
    def estimate(self) -> ReportEstimate | None:
        """The mean of the blocks, each at the middle of its bounds."""
        return ReportEstimate(sum(self._sums) / 2 / self.looks, self._sequence.interval()) if self.looks else None


# -- mistakes in [stop] ------------------------------------------------------------------------------------------------


def refuse_line(settings: StopWhenSure, bounds: Interval) -> None:
    """Rejects a threshold outside the outcome's bounds, and an interval that is wider than they allow."""
    low, high = bounds
    if settings.decided and not low < settings.at < high:
        message = (
            f"stop.line is {settings.at:g}, but {settings.outcome} lies between {low:g} and {high:g}. "
            "Choose a value inside this range."
        )
        raise UsageError(message, ("stop", "line"))
    if settings.half_width is not None and settings.half_width >= (high - low) / 2:
        message = (
            f"stop.half_width is {settings.half_width:g}, but {settings.outcome} lies between {low:g} and {high:g}. "
            "Choose a smaller value, for example 0.03 for 3 points."
        )
        raise UsageError(message, ("stop", "half_width"))


def refuse_few_blocks(settings: StopWhenSure, target: StopTarget, where: Location) -> None:
    """Rejects a rule that could never stop the batch."""
    ends = list(islice(target.ends(), LEAST_BLOCKS))
    if settings.decided and len(ends) < LEAST_BLOCKS:
        size = next(target.ends(), target.units)
        raise UsageError(
            f"[stop] decides by blocks of {size:,} {target.noun} with the same mixture, and needs at least "
            f"{LEAST_BLOCKS} blocks. {target.units:,} {target.noun} are planned. Plan {size * LEAST_BLOCKS:,} or more.",
            where,
        )
    if settings.half_width is not None and (target.units <= FIRST_LOOK or not ends):
        raise UsageError(
            f"[stop] with half_width first checks after {FIRST_LOOK} {target.noun}, at the end of a block. Only {target.units:,} are planned, "
            "so it could never stop early. Plan more, or remove [stop].",
            where,
        )


# -- a rule at work ----------------------------------------------------------------------------------------------------


class StopRule:
    """The early-stop rule of a batch, with the results of the blocks so far."""

    def __init__(self, settings: StopWhenSure, target: StopTarget) -> None:
        self.settings = settings
        self.target = target
        self.done = 0
        """units of the blocks that were checked"""
        self.blocks = 0
        self.stopped_at: int | None = None
        """units at the check that stopped the batch; it is the last check"""
        self._ends = target.ends()
        self.next_end = next(self._ends, None)
        self._rule: HalfWidth | Decided
        if settings.half_width is not None:
            self._rule = HalfWidth(settings.half_width)
        else:
            each, (low, high) = self.next_end or target.units, target.bounds
            # A guess for the bets before any data: half of the values at either bound, units independent.
            variance = (high - low) ** 2 / 4 / max(1.0, each)
            self._rule = Decided(settings.at, target.units / each, variance, target.bounds)

    def look(self, value: Interval | None) -> None:
        """Adds the next block, which has ended."""
        assert self.next_end is not None
        self.done, self.blocks = self.next_end, self.blocks + 1
        self._rule.after(self.done, value, self.target)
        if self._rule.verdict:
            self.stopped_at = self.done
        self.next_end = next(self._ends, None)

    def stopping(self, begun: int) -> Stopping:
        """The record for the file after `begun` units have started."""
        rule, estimate = self._rule, self._rule.estimate
        return Stopping(
            rule=self.settings,
            method=rule.method,
            units=self.target.noun,
            max=self.target.units,
            blocks=self.blocks,
            looks=rule.looks,
            stopped_at=self.stopped_at,
            begun=begun,
            verdict=rule.verdict or rule.verdict_at_end,
            estimate=estimate.mean if estimate else None,
            interval=estimate.interval if estimate else None,
            calls_saved=0,
            in_percent=self.target.in_percent,
        )


# -- how far units are begun -------------------------------------------------------------------------------------------


class Ends:
    """The ends of blocks, computed as needed."""

    def __init__(self, ends: Iterator[int], units: int) -> None:
        self._remaining, self._units = ends, units
        self._read_ends: list[int] = []

    def from_unit(self, unit: int) -> int:
        """The last unit of this unit's block; the last of all units if it is in no block."""
        while not self._read_ends or self._read_ends[-1] < unit:
            if (end := next(self._remaining, None)) is None:
                return self._units
            self._read_ends.append(end)
        return self._read_ends[bisect_left(self._read_ends, unit)]


AHEAD = 2
"""units may start beyond the block that is checked next, up to this many times `Gate.lanes`"""


class Gate:
    """Decides which units of a batch may start, by its rule."""

    def __init__(self, rule: StopRule, stages: Stages, calls_each: float, tasks: Tasks, ledger: Ledger) -> None:
        """`calls_each`: calls per unit, as planned."""
        self._rule, self._target = rule, rule.target
        self._stages, self._calls_each = stages, calls_each
        self._tasks, self._ledger = tasks, ledger
        self.begun = 0
        self._prefix = 0
        """units of the unbroken prefix that have ended"""
        self._ended: set[int] = set()
        self._waiting: list[Latch[None]] = []
        self._blocks = Ends(self._target.ends(), self._target.units)
        stored = stopping_of(ledger.reader, ledger.batch_number)
        self.stopped = stored if stored is not None and stored.stopped_at is not None else None
        """the record in the file once the rule has decided; from then on, only started units continue"""

    # -- for the run -------------------------------------------------------------------------------------

    @property
    def grouped(self) -> bool:
        return self._stages.gathered

    @property
    def lanes(self) -> int:
        """Units in flight that keep the limits busy. If units of a block wait for one another, several blocks run."""
        if not self._target.linked:
            return min(self._stages.size, self._target.units)
        blocks = -(-self._stages.size // self._target.together)
        return min(blocks * self._blocks.from_unit(1), self._target.units)

    async def may_begin(self) -> bool:
        """Whether one more unit may start, as soon as this is known. The unit then counts as started."""
        while self.begun >= self._limit():
            if self.stopped is not None or self.begun >= self._target.units:
                return False
            latch: Latch[None] = Latch(self._tasks)
            self._waiting.append(latch)
            await latch.wait()
        self.begun += 1
        return True

    def next_group(self) -> int:
        """The number of units that start next; 0: none."""
        size = max(0, self._limit() - self.begun)
        self.begun += size
        return size

    async def ended(self, *numbers: int) -> None:
        """Records that these units have ended."""
        self._ended.update(numbers)
        while self._prefix + 1 in self._ended:
            self._prefix += 1
            self._ended.remove(self._prefix)
        reached = self._prefix
        if self.stopped is None and self._rule.next_end is not None and reached >= self._rule.next_end:
            await self._ledger.writer.committed()
            self._advance(reached)

    def close(self) -> Stopping:
        """The outcome of the rule after the last unit."""
        if self.stopped is not None:
            return self.stopped
        stopping = self._rule.stopping(self.begun)
        self._ledger.put_finding(FINDING, stopping.as_json())
        return stopping

    # -- inside ------------------------------------------------------------------------------------------

    def _advance(self, committed: int) -> None:
        """Checks every block whose units' ends are in the file, in the order of the plan."""
        rule, ledger = self._rule, self._ledger
        while not (self.stopped or rule.stopped_at) and rule.next_end is not None and rule.next_end <= committed:
            rule.look(self._target.read_block(ledger.reader, ledger.batch_number, rule.next_end))
        if self.stopped is None and rule.stopped_at is not None:
            stopped = rule.stopping(self._blocks.from_unit(self.begun) if self._target.linked else self.begun)
            saved = round((self._target.units - stopped.begun) * self._calls_each)
            self.stopped = replace(stopped, calls_saved=saved)
            ledger.put_finding(FINDING, self.stopped.as_json())
        waiting, self._waiting = self._waiting, []
        for latch in waiting:
            latch.set(None)

    def _limit(self) -> int:
        """The number of units that may start by now."""
        if self.stopped is not None:
            return min(self.stopped.begun, self._target.units)
        if self._rule.next_end is None:
            return self._target.units
        if self.grouped:
            return self._blocks.from_unit(self.begun + self._stages.size)
        ahead = self._rule.next_end + AHEAD * self.lanes
        return self._blocks.from_unit(ahead) if self._target.linked else min(ahead, self._target.units)
