"""The stories of a batch's units: begun in the plan's order as far as there is room, let go while they wait for a provider
batch, and told again, from what the file has of their units, when its answers are there."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

from tidepool.engine.core.context import RunContext
from tidepool.engine.core.tasks import Latch
from tidepool.engine.core.unit import UnitPlan
from tidepool.storage.ledger import Remembered, UnitLine

Again = Callable[[UnitLine], UnitPlan]
"""the plan of a unit once more, from its row"""
RunUnit = Callable[[UnitPlan, Remembered | None, bool], Coroutine[Any, Any, bool]]
"""tells a unit's story, for the first time or again; whether it came to its end, and was not let go"""

CHUNK = 1_000
"""units taken up together: their part of the ledger is read at once"""


class Stories:
    """Units that run together, until the last of them has ended."""

    def __init__(self, context: RunContext, run_unit: RunUnit, again: Again | None) -> None:
        self._context = context
        self._run_unit = run_unit
        self._again = again
        self._room = context.room
        self._left = 1
        """units that have not ended, in memory or not; and one until all are begun"""
        self._all_ended: Latch[None] = Latch(context.tasks)
        self._alive: set[int] = set()
        """those in memory"""
        self.reached: float = 0
        """the number of the last unit that its turn came to: no later one is told, whatever an earlier run asked for it"""

    async def play(
        self, plans: Iterable[tuple[UnitPlan, Remembered | None]], is_out: Callable[[int], bool] | None
    ) -> None:
        """All of them, each as soon as there is room. Where `is_out`, a provider batch holds the unit's call: it is told
        when that brings it back."""
        tasks, room = self._context.tasks, self._room
        bounded = self._again is not None or not self._context.gathers
        for count, (plan, remembered) in enumerate(plans, 1):
            if bounded and room.stories >= room.most:
                await room.wait(tasks)
            self._left += 1
            self.reached = plan.sequence_number
            if is_out is None or not is_out(plan.sequence_number):
                self._begin(plan, remembered)
            if not count % CHUNK:
                await asyncio.sleep(0)
        self.reached = math.inf
        self._left -= 1
        if self._left:
            await self._all_ended.wait()

    def tell_again(self, numbers: Sequence[int], *, checked: bool) -> None:
        """Those of the units that are not in memory. `checked`: this run has not told them before, so that what they ask is
        held against what they asked then."""
        assert self._again is not None
        wanted = [number for number in numbers if number not in self._alive]
        for line, remembered in self._context.ledger.recall_again(wanted, whole=checked):
            self._begin(self._again(line), remembered, told_again=not checked)

    def let_go(self, number: int) -> None:
        """The unit's story ends without an end: from now on it may be told again."""
        self._alive.discard(number)

    def _begin(self, plan: UnitPlan, remembered: Remembered | None, *, told_again: bool = False) -> None:
        number, tasks = plan.sequence_number, self._context.tasks
        self._alive.add(number)
        self._room.stories += 1
        tasks.spawn(self._run_unit(plan, remembered, told_again), tasks.ending(partial(self._one_ended, number)))

    def _one_ended(self, number: int, task: "asyncio.Task[bool]") -> None:
        self._room.left()
        if not task.cancelled() and (error := task.exception()):
            self._context.fail(error)
        elif not task.cancelled() and not task.result():
            return  # let go
        self._alive.discard(number)
        self._left -= 1
        if not self._left:
            self._all_ended.set(None)
