"""How far units of a batch may be begun ahead of a stop rule's looks.

Were all units begun at once, nothing could be saved. Live, as many are in flight as keep the limits busy, and none is more
than two such windows ahead of the blocks that were looked at. By batch API a group is begun together, since a provider
batch may take hours, and the rule looks when it has ended. What was begun is finished and kept.
"""

from dataclasses import replace

from tidepool.engine.inference.intervals import Interval
from tidepool.engine.runtime.context import Latch, Tasks
from tidepool.engine.runtime.services import Ends, Stages
from tidepool.engine.runtime.stop_results import FINDING, Stopping, stopping_of
from tidepool.engine.runtime.stop_rules import StopRule
from tidepool.storage.ledger import Ledger
from tidepool.storage.queries.units import last_unit

AHEAD = 2
"""windows that units may be begun beyond the block that is to be looked at next"""


class Gate:
    """One batch's admission to its units, by a rule that several batches may share."""

    def __init__(
        self, rule: StopRule, index: int, stages: Stages, calls_each: float, tasks: Tasks, ledger: Ledger
    ) -> None:
        """`index`: which of the rule's cells it is; `calls_each`: of a unit, as planned."""
        self._rule, self._target = rule, rule.cells[index].target
        self._stages, self._calls_each = stages, calls_each
        self._tasks, self._ledger = tasks, ledger
        self.begun = 0
        self.committed = 0
        """units of the unbroken prefix whose ends are in the file"""
        self._prefix = 0
        self._ended: set[int] = set()
        self._waiting: list[Latch[None]] = []
        self._blocks = Ends(self._target.ends(), self._target.units)
        self.stopped: Stopping | None = None
        """what the file says, from the moment that the rule is sure: then only what was begun is gone on with"""
        rule.gates[index] = self
        self._remember()

    # -- for the run -------------------------------------------------------------------------------------

    @property
    def grouped(self) -> bool:
        return self._stages.gathered

    @property
    def lanes(self) -> int:
        """Units in flight that keep the limits busy. Where those of a block wait for one another, several blocks do."""
        if not self._target.linked:
            return min(self._stages.size, self._target.units)
        blocks = -(-self._stages.size // self._target.together)
        return min(blocks * self._blocks.from_unit(1), self._target.units)

    async def may_begin(self) -> bool:
        """Whether one more unit may be begun, as soon as that can be said; then it counts as begun."""
        while self.begun >= self._limit():
            if self._over:
                return False
            await self._change()
        self.begun += 1
        return True

    async def next_group(self) -> int:
        """How many units are begun next, once the rule has looked at all before; 0: none."""
        while not self._over and self.begun and self._rule.next_end is not None and self._rule.next_end <= self.begun:
            await self._change()
        size = max(0, self._limit() - self.begun)
        self.begun += size
        return size

    async def ended(self, *numbers: int) -> None:
        """These units have come to their ends."""
        self._ended.update(numbers)
        while self._prefix + 1 in self._ended:
            self._prefix += 1
            self._ended.remove(self._prefix)
        reached = self._prefix
        if self.stopped is None and self._rule.next_end is not None and reached >= self._rule.next_end:
            await self._ledger.writer.committed()
            self.committed = max(self.committed, reached)
            self._rule.advance()

    def close(self) -> Stopping:
        """After the last unit: what the rule came to."""
        if self.stopped is not None:
            return self.stopped
        stopping = self._rule.stopping(self.begun)
        self._ledger.put_finding(FINDING, stopping.as_json())
        return stopping

    # -- for the rule ------------------------------------------------------------------------------------

    def read_block(self, end: int) -> Interval | None:
        return self._target.read_block(self._ledger.reader, self._ledger.batch_number, end)

    def wake(self) -> None:
        """The rule has looked, or has stopped."""
        if self.stopped is None and self._rule.halted is not None:
            self._stop(replace(self._rule.halted, begun=last_unit(self._ledger.reader, self._ledger.batch_number)))
        elif self.stopped is None and self._rule.deciding_look is not None:
            self._stop(self._rule.stopping(self._to_finish()))
        waiting, self._waiting = self._waiting, []
        for latch in waiting:
            latch.set(None)

    # -- inside ------------------------------------------------------------------------------------------

    def _remember(self) -> None:
        """A batch that was sure stays so when it is taken up again, and so do the others that share its rule."""
        stored = stopping_of(self._ledger.reader, self._ledger.batch_number)
        if stored is not None and stored.stopped_at is not None:
            self.stopped = self._rule.halted = stored
        for gate in self._rule.gates.values() if self._rule.halted else ():
            gate.wake()

    def _stop(self, stopped: Stopping) -> None:
        saved = round((self._target.units - stopped.begun) * self._calls_each)
        self.stopped = replace(stopped, calls_saved=saved)
        self._ledger.put_finding(FINDING, self.stopped.as_json())

    async def _change(self) -> None:
        latch: Latch[None] = Latch(self._tasks)
        self._waiting.append(latch)
        await latch.wait()

    @property
    def _over(self) -> bool:
        return self.stopped is not None or self.begun >= self._target.units

    def _limit(self) -> int:
        """So many units may be begun by now."""
        if self.stopped is not None:
            return min(self.stopped.begun, self._target.units)
        if self._rule.next_end is None:
            return self._target.units
        if self.grouped:
            return self._blocks.from_unit(self.begun + self._stages.size)
        ahead = self._rule.next_end + AHEAD * self.lanes
        return self._blocks.from_unit(ahead) if self._target.linked else min(ahead, self._target.units)

    def _to_finish(self) -> int:
        return self._blocks.from_unit(self.begun) if self._target.linked else self.begun
