"""A unit of a batch: its plan, its view of the engine, its pending calls, and the group of units that run together.

A unit that waits for a provider batch may be suspended when there are too many to keep in memory: it is nothing then but what the file says
of it. It is replayed when its provider batch has results: it asks the same under the same addresses, what was answered before is handed back
by step without building the request again, and it is attached to the provider batch that holds its request, as after a restart."""

import asyncio
import math
import sqlite3
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from random import Random
from sys import intern
from typing import TYPE_CHECKING, Any

from tidepool.engine.call import Call, Reply, stream
from tidepool.engine.errors import CallFailed, RunError
from tidepool.engine.runtime.context import Latch, RunContext
from tidepool.storage.ledger import Ledger, Remembered, UnitLine
from tidepool.storage.purchases import Address, ProviderBatchBook
from tidepool.storage.states import Source, UnitStatus, batch_number_of, sequence_number_of, unit_id

if TYPE_CHECKING:
    from tidepool.engine.runtime.provider_batch import OpenJobs, ProviderBatch


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


# -- suspending --------------------------------------------------------------------------------------------------------


class UnitSuspender:
    """Lets stories go, and brings them back."""

    def __init__(self, context: RunContext, open_jobs: "OpenJobs", records: ProviderBatchBook) -> None:
        self._context = context
        self._open = open_jobs
        self._records = records
        self._stories: dict[int, UnitGroup] = {}
        """by the number of the batch"""
        self._restored: set[ProviderBatch] = set()
        """of an earlier run: this one has not replayed the units that wait for them"""
        self._replayed: set[int] = set()
        """units that wait for such a one and were replayed because of another one"""
        self._out: tuple[range, set[int]] = range(0), set()
        """of these units those that are out"""
        context.run.window.suspend = self.suspend_units

    def register(self, batch_number: int, stories: UnitGroup) -> None:
        """The units of this batch can be replayed by this group."""
        self._stories[batch_number] = stories

    # -- letting go --------------------------------------------------------------------------------------

    def suspend_units(self, stories: int) -> None:
        """Lets go of so many, where they wait for provider batches and for nothing else: of the newest, which others come
        before."""
        calls_by_unit: dict[int, list[tuple[ProviderBatch, CollectedCall]]] = defaultdict(list)
        for job in sorted(self._open.all, key=lambda job: job.since, reverse=True):
            if job.remote_id is None or job.handler is not None:
                continue
            to_suspend: list[CollectedCall] = []
            for pending in job.waiting.values():
                if batch_number_of(pending.unit_id) not in self._stories:
                    continue
                if pending.unit.asking == 1:
                    to_suspend.append(pending)
                    stories -= 1
                else:
                    calls = calls_by_unit[pending.unit_id]
                    calls.append((job, pending))
                    stories -= len(calls) == pending.unit.asking
                if stories <= 0:
                    break
            self._suspend(job, to_suspend)
            if stories <= 0:
                break
        for unit_calls in calls_by_unit.values():
            if len(unit_calls) == unit_calls[0][1].unit.asking:
                for job, pending in unit_calls:
                    self._suspend(job, [pending])

    def _suspend(self, job: "ProviderBatch", calls: list[CollectedCall]) -> None:
        if not calls:
            return
        tasks = self._context.run.tasks
        for pending in calls:
            job.held += pending.reserved
            self._open.detach(job, pending.address)
            self._stories[batch_number_of(pending.unit_id)].suspend(pending.unit_number)
            tasks.release(pending.future, UnitSuspended())
        job.suspended.add(pending.unit_id for pending in calls)
        if job in self._restored:
            self._replayed.update(pending.unit_id for pending in calls)
        job.held_each = job.held / len(job.suspended)

    # -- bringing back -----------------------------------------------------------------------------------

    async def bring_back(self, job: "ProviderBatch") -> None:
        """The next of those who wait for it, as soon as there is room for them."""
        await self._context.run.window.wait_urgently(self._context.run.tasks)
        units = set(islice(filter(self._can_replay, job.suspended), CHUNK))
        unknown = units - self._replayed if job in self._restored else set[int]()
        for group, checked in ((unknown, True), (units - unknown, False)):
            if group:
                self._reattach(group, checked=checked)

    def can_bring_back(self, job: "ProviderBatch") -> bool:
        return not job.bringing_back and any(map(self._can_replay, job.suspended))

    def _can_replay(self, identity: int) -> bool:
        """After a restart, units come in their turn."""
        stories = self._stories.get(batch_number_of(identity))
        return stories is not None and sequence_number_of(identity) <= stories.reached

    def _reattach(self, units: set[int], *, checked: bool) -> None:
        """All that is asked by these units, whichever provider batch holds it; then their stories."""
        first, last = min(units), max(units)
        for job in self._open.all:
            if job.suspended and (suspended_units := units.intersection(job.suspended.between(first, last))):
                self._open.reattach(job, self._calls_of(job, suspended_units))
                job.suspended.discard(suspended_units)
        by_batch: dict[int, list[int]] = defaultdict(list)
        for identity in sorted(units):
            by_batch[batch_number_of(identity)].append(sequence_number_of(identity))
        for number, sequence_numbers in by_batch.items():
            if stories := self._stories.get(number):
                stories.replay_units(sequence_numbers, checked=checked)

    def _calls_of(self, job: "ProviderBatch", units: set[int]) -> Iterator[tuple[Address, str]]:
        """Its calls that these units wait for."""
        calls = [call for call in self._records.calls_of(job.id) if call[0][0] in units]
        if job not in self._restored:
            return iter(calls)
        answered = self._records.answered(address for address, _ in calls)
        return (call for call in calls if call[0] not in answered)

    # -- restarts ----------------------------------------------------------------------------------------

    def add_restored(self, job: "ProviderBatch") -> None:
        if job.suspended:
            self._restored.add(job)

    def is_out(self, batch_number: int, sequence_number: int) -> bool:
        """After a restart: a provider batch holds a call of the unit, which is replayed when that has results."""
        identity = unit_id(batch_number, sequence_number)
        if identity not in self._out[0]:
            looked_at = range(identity, identity + CHUNK)
            suspended = (job.suspended.between(looked_at[0], looked_at[-1]) for job in self._restored)
            self._out = looked_at, set(chain.from_iterable(suspended))
        return identity in self._out[1]

    def reattach_unit(self, identity: int) -> None:
        """After a restart, for a unit that runs by itself: loads the whole provider batch that holds its calls."""
        if batch_number_of(identity) in self._stories:
            return
        for job in [job for job in self._restored if identity in job.suspended]:
            everyone = set(job.suspended)
            self._open.reattach(job, self._calls_of(job, everyone))
            job.suspended.discard(everyone)

    def left_out(self, job: "ProviderBatch") -> dict[Address, str]:
        """Its calls whose units were never replayed, when the study is over."""
        return dict(self._calls_of(job, set(job.suspended))) if job.suspended else {}

    def forget(self, job: "ProviderBatch") -> None:
        """It is closed."""
        self._restored.discard(job)
