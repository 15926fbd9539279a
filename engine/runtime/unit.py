"""A unit of a batch: its plan, its view of the engine, its pending calls, and the group of units that run together.

A unit that waits for a provider batch may be suspended: it is dropped from memory and replayed when its answer is there. It
asks the same under the same addresses, and what was answered before is handed back to it by step, without building the
request again.
"""

import asyncio
import math
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from sys import intern
from typing import Any

from tidepool.engine.call import Call, Reply, stream
from tidepool.engine.errors import CallFailed, RunError
from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.tasks import Latch
from tidepool.storage.ledger import Ledger, Remembered, UnitLine
from tidepool.storage.purchases import Address
from tidepool.storage.states import Source, UnitStatus, sequence_number_of


@dataclass(slots=True)
class PendingCall:
    """A call that was asked and is not answered yet."""

    unit_id: int
    """of the unit that asks, whichever batch of the run it belongs to"""
    call: Call
    key: bytes
    seed: int
    asked_at: float
    reserved: float = 0.0
    """what the budget holds for it"""
    in_flight_id: int = 0
    """the number under which the file knows that it left; 0: it did not"""

    @property
    def unit_number(self) -> int:
        return sequence_number_of(self.unit_id)

    @property
    def address(self) -> Address:
        return self.unit_id, self.call.step


@dataclass(slots=True)
class CollectedCall(PendingCall):
    """A pending call whose story is parked until a provider batch answers it."""

    future: "asyncio.Future[Reply | None]" = field(kw_only=True)
    """its reply; None: its story is to buy it live"""
    unit: "Unit" = field(kw_only=True)
    """whose story it is"""


FEW_STEPS = 16
"""most units ask no more than this, and a short list takes a fifth of the memory of a set"""


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """A unit to run: its story, and what the file says about it."""

    sequence_number: int
    story: "Callable[[Unit], Awaitable[Any]]"
    participants: Sequence[str] = ()
    game: int | None = None
    round: int | None = None
    interaction_type: str | None = None
    details: str | None = None
    awaited: bool = False
    """another unit, or the study, reads its result"""
    together: int = 0
    """how many units go at its pace, where some wait for others; 0: all of the study"""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What a unit came to: the value its story returned, or the error that ended it."""

    value: Any = None
    error: str | None = None


_REPLAY = Source.REPLAY.value
_IN_PROGRESS = UnitStatus.IN_PROGRESS.value
_NOTHING: dict[str, sqlite3.Row] = {}
"""shared by the units that remember nothing: a hundred thousand empty dictionaries are not nothing"""


class UnitSuspended(BaseException):
    """Ends a story that waits for a provider batch. It is no failure, so nothing that heals failures may catch it."""


class Unit:
    """A unit's own view of the engine: it asks, draws from its own random stream, and keeps what it finds."""

    __slots__ = (
        "_ask",
        "_context",
        "_remembered",
        "_steps",
        "asking",
        "is_replay",
        "measured",
        "number",
        "settled",
        "together",
    )

    def __init__(
        self,
        context: RunContext,
        ask: "Ask",
        number: int,
        remembered: Remembered | None,
        together: int = 0,
        *,
        is_replay: bool = False,
    ) -> None:
        self.number = number
        self.together = together
        self.is_replay = is_replay
        """this run has played it before, as far as it remembers"""
        self.asking = 0
        """questions of it that are under way"""
        self.settled = remembered is not None and remembered.status != _IN_PROGRESS
        """its end is in the file already: this run only replays it"""
        self.measured = 0
        """values that it has measured"""
        self._context = context
        self._ask = ask
        self._remembered: dict[str, sqlite3.Row] = remembered.entries if remembered else _NOTHING
        self._steps: list[str] | set[str] = []

    def ask(self, call: Call) -> Coroutine[Any, Any, Reply]:
        return self._replay_reply(call.step) if self.has_replayed(call.step) else self._ask(self, call)

    def replayed_reply(self, step: str) -> Reply | None:
        """What was answered before, for a unit that is replayed: then no request is sent, nor even built."""
        if not self.is_replay or (row := self._remembered.get(step)) is None:
            return None
        _, _, text, error, finish_reason, served_model = row
        if error is not None:
            raise CallFailed(error)
        return Reply(text, 0, 0, 0.0, 0.0, _REPLAY, None, finish_reason, served_model)

    async def _replay_reply(self, step: str) -> Reply:
        reply = self.replayed_reply(step)
        assert reply is not None
        return reply

    def has_replayed(self, step: str) -> bool:
        """Whether this run has seen the answer to this step before, so that what follows from it is written already."""
        return self.is_replay and step in self._remembered

    def ask_through(self, ask: "Ask") -> None:
        """From now on its questions come to this first: a branch answers some of them itself."""
        self._ask = ask

    def measure(self, name: str, value: float | None, of: str | None = None, cluster: str | None = None) -> None:
        """Keeps what was measured, of one participant or of the unit as a whole. None: it could not be measured.

        Values with the same cluster are not independent of one another.
        """
        if not self.settled:
            values = {"measure": name, "participant": of, "value": value, "cluster": cluster}
            self.ledger.put_measure(self.number, self.measured, values)
        self.measured += 1

    def stream(self, *address: object) -> Random:
        return stream(self._context.seed, self.number, *address)

    @property
    def ledger(self) -> Ledger:
        return self._context.ledger

    def claim_step(self, step: str) -> None:
        steps = self._steps
        if step in steps:
            raise RunError(f"Unit {self.number} asked twice under the address {step!r}: this is a bug in the study.")
        if isinstance(steps, set):
            steps.add(step)
        elif len(steps) < FEW_STEPS:
            steps.append(intern(step))
        else:
            self._steps = {*steps, step}

    def remembers(self, step: str) -> bool:
        """Whether the ledger has this step, so that asking it is a replay."""
        return step in self._remembered

    def recall(self, step: str) -> sqlite3.Row | None:
        return self._remembered.pop(step, None)


Ask = Callable[[Unit, Call], Coroutine[Any, Any, Reply]]
"""how a unit's questions are answered"""


RebuildPlan = Callable[[UnitLine], UnitPlan]
"""the plan of a unit once more, from its row"""
RunUnit = Callable[[UnitPlan, Remembered | None, bool], Coroutine[Any, Any, bool]]
"""tells a unit's story, for the first time or again; whether it came to its end, and was not let go"""

CHUNK = 1_000
"""units taken up together: their part of the ledger is read at once"""


class UnitGroup:
    """Units that run together, until the last of them has ended."""

    def __init__(self, context: RunContext, run_unit: RunUnit, rebuild_plan: RebuildPlan | None) -> None:
        self._context = context
        self._run_unit = run_unit
        self._rebuild_plan = rebuild_plan
        self._window = context.window
        self._left = 1
        """units that have not ended, in memory or not; and one until all are begun"""
        self._all_ended: Latch[None] = Latch(context.tasks)
        self._alive: set[int] = set()
        """those in memory"""
        self.reached: float = 0
        """the number of the last unit that its turn came to: no later one is replayed, whatever an earlier run asked for it"""

    async def play(
        self, plans: Iterable[tuple[UnitPlan, Remembered | None]], is_out: Callable[[int], bool] | None
    ) -> None:
        """All of them, each as soon as there is room. Where `is_out`, a provider batch holds the unit's call: it is told
        when that brings it back."""
        tasks, window = self._context.tasks, self._window
        bounded = self._rebuild_plan is not None or not window.gathers
        for count, (plan, remembered) in enumerate(plans, 1):
            if bounded and window.stories >= window.most:
                await window.wait(tasks)
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

    def replay_units(self, numbers: Sequence[int], *, checked: bool) -> None:
        """Those of the units that are not in memory. `checked`: this run has not told them before, so that what they ask is
        held against what they asked then."""
        assert self._rebuild_plan is not None
        missing = [number for number in numbers if number not in self._alive]
        for line, remembered in self._context.ledger.recall_again(missing, whole=checked):
            self._begin(self._rebuild_plan(line), remembered, is_replay=not checked)

    def suspend(self, number: int) -> None:
        """The unit is dropped from memory: from now on it may be replayed."""
        self._alive.discard(number)

    def _begin(self, plan: UnitPlan, remembered: Remembered | None, *, is_replay: bool = False) -> None:
        number, tasks = plan.sequence_number, self._context.tasks
        self._alive.add(number)
        self._window.stories += 1
        tasks.spawn(self._run_unit(plan, remembered, is_replay), tasks.ending(partial(self._one_ended, number)))

    def _one_ended(self, number: int, task: "asyncio.Task[bool]") -> None:
        self._window.left()
        if not task.cancelled() and (error := task.exception()):
            self._context.fail(error)
        elif not task.cancelled() and not task.result():
            return  # let go
        self._alive.discard(number)
        self._left -= 1
        if not self._left:
            self._all_ended.set(None)
