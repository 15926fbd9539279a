"""`ask`, the central function of a run, and the units whose coroutines use it.

    ask ─► answered in the ledger? ─► at a provider? ─► in the cache? ─► send live, or gather into a wave
                                                                               │
    coroutine continues ◄── commit to the ledger ◄─────────────────────────────┘

A reply is committed under its address before the coroutine sees it. So a resumed run replays the same coroutines: stored
answers return at once, and the run continues after them.
"""

import asyncio
import sqlite3
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from tidepool.engine.call import Call, Message, Reply, seed_of
from tidepool.engine.errors import CallFailed, RunError
from tidepool.engine.events import UnitEnded, UnitsExpected
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError
from tidepool.engine.providers.replies import UnusableReply
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.context import Latch, RunContext, wait_forever
from tidepool.engine.runtime.recording import (
    CallRecorder,
    LiveCall,
    PerformanceLog,
    WaveLog,
    replay_mismatch,
    reply_from_row,
)
from tidepool.engine.runtime.scheduler import BatchScheduler
from tidepool.engine.runtime.services import SERVICES, Admission, ExpectedWaves, batch_from, units_at_once
from tidepool.engine.runtime.stop_rules import Gate
from tidepool.engine.runtime.unit import Ask, CollectedCall, PendingCall, Unit, UnitPlan, UnitResult
from tidepool.storage.ledger import Remembered
from tidepool.storage.states import FinishReason, Source, unit_id

T = TypeVar("T")

CHUNK = 1_000
"""units that start together, so that their part of the ledger is read at once"""

_FINISH = {reason.value: reason for reason in FinishReason}


class BatchRun:
    """A running batch."""

    def __init__(self, context: RunContext, expected: ExpectedWaves, scheduler: BatchScheduler) -> None:
        self.context = context
        self._expected = expected
        self.config = context.config
        self.seed = context.seed
        self.ledger = context.ledger
        self.tasks = context.tasks
        self.log = context.log
        self.resumed = False
        self.reason: str | None = None
        """why the study ended, if it has its own early-stop rule"""
        self.gate: Gate | None = None
        """decides which units may start, if the batch has a [stop] rule"""
        self._performance = PerformanceLog(context)
        self._wave_log = WaveLog(context, expected)
        self._waves_started = self._wave_log.started
        self._recorder = CallRecorder(context)
        self.scheduler = scheduler
        scheduler.join(context.ledger.batch_number, self._recorder)
        self._first_id = unit_id(context.ledger.batch_number, 0)
        # Bound once, since they are looked up some ten thousand times per second.
        self._ask: Ask = self.ask if context.run.in_flight_requests is None else self._ask_deduplicated
        self._enter = self._recorder.enter
        self._replay = self._recorder.replay
        self._accounts = context.accounts
        self._batched = SERVICES[self.config.service.name].batched
        self._results: dict[int, Latch[UnitResult]] = defaultdict(lambda: Latch(self.tasks))
        self.study = Unit(context, self._ask, 0, None)
        """the study itself as unit 0, for calls that belong to no unit"""

    # -- for studies -------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Resumes the batch: loads the answers of the study itself (unit 0)."""
        self.study = Unit(self.context, self._ask, 0, self.ledger.recall(0, 0).get(0))
        self.resumed = True

    def expect_units(self, total: int) -> None:
        self.ledger.set_units_total(total)
        self.context.emit(UnitsExpected(total))

    async def units(self, plans: Iterable[UnitPlan]) -> None:
        """Runs units in the order that the service defines: all together, a number at a time, or in groups. Later units may
        wait for earlier ones (`result`), but never the reverse."""
        if self.gate is not None:
            await self._through(self.gate, iter(plans))
            return
        at_once = units_at_once(self.config.service)
        match SERVICES[self.config.service.name].admission:
            case Admission.ALL:
                await self._together(plans)
            case Admission.GROUPS:
                plans = iter(plans)
                while group := list(islice(plans, at_once)):
                    await self._together(group)
            case Admission.LANES:
                shared = self._remembered(plans)
                await self.tasks.all(self._lane(shared) for _ in range(at_once or 1))

    async def result(self, sequence_number: int) -> UnitResult:
        """The result of a unit planned as `awaited`. Reading a failure makes it final, so a resume will not reopen the unit."""
        result = await self._results[sequence_number].wait()
        if result.error is not None:
            self.ledger.seal(sequence_number)
        return result

    async def all(self, stories: Iterable[Awaitable[T]]) -> list[T]:
        """Fan-out inside a unit. Use this instead of asyncio.gather, so that waves stay exact."""
        return await self.tasks.all(stories)

    async def lanes(self, stories: Iterable[Awaitable[T]], at_once: int) -> list[T]:
        """Fan-out with at most `at_once` coroutines in progress. Use this instead of a semaphore."""
        return await self.tasks.lanes(stories, at_once)

    def open_unit(self, number: int, **about: Any) -> Unit:
        """Opens a unit that the study runs itself, next to others, until it closes it; `about` has the columns of
        its row (see `UnitPlan`)."""
        remembered = self.ledger.recall(number, number).get(number) if self.resumed else None
        if remembered is None:
            self.ledger.start_unit(number, **about)
        return Unit(self.context, self._ask, number, remembered)

    def close_unit(self, unit: Unit, error: str | None = None, details: str | None = None) -> None:
        """Ends such a unit. The study has read it, so a failure is final: a resume will not reopen it."""
        if not unit.settled:
            self.ledger.end_unit(unit.number, error, details)
            if error is not None:
                self.ledger.seal(unit.number)
        self.context.emit(UnitEnded(unit.number, error))

    def expect_wave(self, wave: int, calls: Mapping[str, int]) -> None:
        """Sets the number of calls of each model in a wave, if a study knows it better than its plan."""
        self._expected.announce(wave, calls)

    def gathers(self, provider: str, calls: int) -> bool:
        """Whether a wave with this number of calls waits to be sent through the provider's batch API."""
        account = self._accounts[provider]
        enough = calls >= batch_from(self.config.service, provider, account.settings)
        return self._batched and account.provider.batches is not None and enough

    def give(self, unit: Unit, call: Call, answer: Answer) -> Reply:
        """Stores an answer without a request under the call's address. It costs nothing and does not count as a call. Its
        key is unique, so that it never serves as cache."""
        unit.claim_step(call.step)
        keyed_call = call._replace(messages=(*call.messages, Message("given", answer.text)))
        key = keyed_call.key(seed_of(self.seed, unit.number, call.step))
        if (row := unit.recall(call.step)) is not None:
            if row["key"] != key:
                raise replay_mismatch(unit.number, call.step)
            return reply_from_row(row)
        return self._recorder.give(PendingCall(self._first_id | unit.number, call, key, 0, 0.0), answer)

    def log_end(self) -> None:
        """Logs the last lines of this run of the batch."""
        self._wave_log.close()
        self._performance.write("the run")

    # -- units -------------------------------------------------------------------------------------------

    async def _together(self, plans: Iterable[UnitPlan]) -> None:
        """Starts each unit as soon as there is memory for it, and waits until the last has ended."""
        context, tasks, window = self.context, self.tasks, self.context.window
        all_ended: Latch[None] = Latch(tasks)
        left = 1  # units that have not ended, plus one until all have started

        def one_ended(task: "asyncio.Task[None]") -> None:
            nonlocal left
            window.left()
            context.fail_if_raised(task)
            left -= 1
            if not left:
                all_ended.set(None)

        ending = tasks.ending(one_ended)
        for count, (plan, remembered) in enumerate(self._remembered(plans), 1):
            if window.stories >= window.most:
                await window.wait(tasks)
            left += 1
            window.stories += 1
            tasks.spawn(self._run_unit(plan, remembered), ending)
            if not count % CHUNK:
                await asyncio.sleep(0)
        left -= 1
        if left:
            await all_ended.wait()

    async def _lane(self, shared: Iterator[tuple[UnitPlan, Remembered | None]]) -> None:
        for plan, remembered in shared:
            try:
                await self._run_unit(plan, remembered)
            except Exception as error:
                self.context.fail(error)
                raise

    async def _through(self, gate: Gate, plans: Iterator[UnitPlan]) -> None:
        """Starts units as far as an early-stop rule allows: in groups, or in a moving window."""
        if gate.grouped:
            while group := list(islice(plans, gate.next_group())):
                await self._together(group)
                await gate.ended(*(plan.sequence_number for plan in group))
        else:
            await self.tasks.all(self._gated_lane(gate, plans) for _ in range(gate.lanes))
        decision = gate.close()
        if decision.stopped_at is not None:
            self.reason = decision.words
            self.expect_units(gate.begun)

    async def _gated_lane(self, gate: Gate, plans: Iterator[UnitPlan]) -> None:
        """Plans a unit only when it may start, since planning may write its round."""
        while await gate.may_begin():
            for plan, remembered in self._remembered(islice(plans, 1)):
                await self._lane(iter([(plan, remembered)]))
                await gate.ended(plan.sequence_number)

    def _remembered(self, plans: Iterable[UnitPlan]) -> Iterator[tuple[UnitPlan, Remembered | None]]:
        plans = iter(plans)
        while chunk := list(islice(plans, CHUNK)):
            known: dict[int, Remembered] = {}
            if self.resumed:
                numbers = [plan.sequence_number for plan in chunk]
                known = self.ledger.recall(min(numbers), max(numbers))
            for plan in chunk:
                yield plan, known.pop(plan.sequence_number, None)

    async def _run_unit(self, plan: UnitPlan, remembered: Remembered | None) -> None:
        number = plan.sequence_number
        unit = Unit(self.context, self._ask, number, remembered, plan.together)
        if remembered is None:
            self.ledger.start_unit(
                number,
                game=plan.game,
                round=plan.round,
                interaction_type=plan.interaction_type,
                participants=plan.participants,
                details=plan.details,
            )
        story, awaited = plan.story(unit), plan.awaited
        del plan  # a hundred thousand units may wait here, so free what is not needed
        try:
            result = UnitResult(value=await story)
        except CallFailed as error:
            result = UnitResult(error=str(error))
        if not unit.settled:
            self.ledger.end_unit(number, result.error)
        self.context.emit(UnitEnded(number, result.error))
        if awaited:
            self._results[number].set(result)

    # -- ask ---------------------------------------------------------------------------------------------

    async def ask(self, unit: Unit, call: Call) -> Reply:
        unit.claim_step(call.step)
        seed = seed_of(self.seed, unit.number, call.step)
        key = call.key(seed)
        if (row := unit.recall(call.step)) is not None:
            return self._replay(unit.number, call, key, row)
        context = self.context
        if context.run.closing:
            await wait_forever()
        if call.wave not in self._waves_started:
            self._wave_log.start(call.wave)
        asked_at = time.monotonic()
        account, identity = self._accounts[call.provider], self._first_id | unit.number
        bought = self.scheduler.holds(identity, call.step)
        if not bought and account.settings.cache and (row := self._cached(key)) is not None:
            return await self._from_cache(PendingCall(identity, call, key, 0, asked_at), row)
        pending: PendingCall
        if bought or (self._batched and self._is_gathered(unit, call, account)):
            self.scheduler.jobs.check((identity, call.step), key)
            pending = CollectedCall(identity, call, key, seed, asked_at, future=self.tasks.park())
            self.scheduler.gather(pending)
            try:
                if (answered := await pending.future) is not None:
                    return answered
            except BaseException:
                del pending  # its future holds the error, which holds this frame: a reference cycle
                raise
        else:
            pending = PendingCall(identity, call, key, seed, asked_at)
        reply = self._enter(pending, *await self._purchase(pending))
        if context.listener is not None:
            await self.ledger.writer.committed()
            return self._recorder.announce(pending, reply)
        del call, pending, account, row  # a hundred thousand coroutines may wait here, so free the request
        await self.ledger.writer.committed()
        return reply

    async def _ask_deduplicated(self, unit: Unit, call: Call) -> Reply:
        """Asks in a study of several batches. A request that another batch is sending at the moment is not bought twice."""
        in_flight = self.context.run.in_flight_requests
        if in_flight is None or unit.remembers(call.step) or not self._accounts[call.provider].settings.cache:
            return await self.ask(unit, call)
        key = call.key(seed_of(self.seed, unit.number, call.step))
        await in_flight.turn(key, self.tasks)
        try:
            return await self.ask(unit, call)
        finally:
            in_flight.done(key)

    def _is_gathered(self, unit: Unit, call: Call, account: Account) -> bool:
        """Whether the call waits for its wave, which is expected to be large enough for a provider batch."""
        if call.operation != "chat" or not self.scheduler.gathers_for(account):
            return False
        least = batch_from(self.config.service, account.name, account.settings)
        return not least or round(self._expected.size(account.name, call.wave, unit.together)) >= least

    async def _purchase(self, pending: PendingCall) -> tuple[Answer, float, int]:
        """The provider's answer, its seconds, and the number of attempts."""
        account = self._accounts[pending.call.provider]
        live = LiveCall(account, pending, self._recorder)
        try:
            answer = await live.answer()
        except ProviderError as error:
            reply = error.answer if isinstance(error, UnusableReply) else None
            account.budget.settle(pending.reserved, (reply.cost_usd if reply is not None else None) or 0.0)
            if error.fault is ErrorClass.FATAL:
                self.context.fail(RunError(str(error)))
                await wait_forever()
            raise await self._recorder.record_failure(
                pending, error.kind, str(error), live.attempts, reply=reply
            ) from None
        if pending.reserved or answer.cost_usd:
            account.budget.settle(pending.reserved, answer.cost_usd or 0.0)
        return answer, live.seconds if answer.seconds is None else answer.seconds, live.attempts

    def _cached(self, key: bytes) -> sqlite3.Row | None:
        """A cached row. If replies run as code, only rows that this user received count, since the file may be untrusted."""
        seals = self.context.run.seals
        return self.ledger.cached(
            key, None if seals is None else lambda row: seals.admits(key, row["text"], row["seal"])
        )

    async def _from_cache(self, pending: PendingCall, row: sqlite3.Row) -> Reply:
        answer = Answer(
            row["text"],
            row["input_tokens"],
            row["output_tokens"],
            0.0,
            row["truth"],
            finish=_FINISH.get(row["finish_reason"]),
            served_model=row["served_model"],
            thought=row["thought"],
        )
        return await self._recorder.record(pending, answer, seconds=0.0, attempts=1, source=Source.CACHE)
