"""The one verb, `ask`, and the units whose stories use it.

    ask ─► ledger: answered already? ─► ordered already? ─► cache ─► live, or gathered into a wave
                                                                          │
    story goes on ◄── committed to the ledger ◄───────────────────────────┘

A reply is committed under its address before its story sees it, so a resumed run replays the same coroutines: what
was answered comes back at once, and the rest goes on.
"""

import asyncio
import sqlite3
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from tidepool.engine.call import Call, Reply
from tidepool.engine.config.sections import Config
from tidepool.engine.core.accounts import Account
from tidepool.engine.core.budget import Budget
from tidepool.engine.core.call_rows import answered, lost, mismatch, reply_of
from tidepool.engine.core.live import LiveCall
from tidepool.engine.core.services import SERVICES, Admission, units_at_once
from tidepool.engine.core.tasks import Latch, Tasks, for_ever
from tidepool.engine.core.unit import Pending, Unit, UnitPlan, UnitResult
from tidepool.engine.errors import CallFailed, RunError, TidepoolError
from tidepool.engine.events import (
    CallAnswered,
    CallLost,
    CallRetried,
    Event,
    Listener,
    Logged,
    UnitEnded,
    UnitsExpected,
)
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError
from tidepool.engine.streams import seed_of
from tidepool.storage.ledger import Ledger, Remembered
from tidepool.storage.text import storable

T = TypeVar("T")

UNITS_PER_LOOK = 1_000
"""units taken up together: their part of the ledger is read at once"""


class BatchRun:
    """A running batch."""

    def __init__(
        self, config: Config, batch_id: str, ledger: Ledger, accounts: Mapping[str, Account], budget: Budget
    ) -> None:
        from tidepool.engine.batching.scheduler import BatchScheduler

        self.config = config
        self.batch_id = batch_id
        self.seed = config.batch.seed
        self.ledger = ledger
        self.accounts = accounts
        self.budget = budget
        self.tasks = Tasks()
        self.tasks.on_idle = self.consider_leaving
        self.scheduler = BatchScheduler(self)
        self.listener: Listener | None = None
        self.closing = False
        """no new calls leave"""
        self.finished = False
        """the study has come to its end"""
        self.resumed = False
        self.paused = False
        self.reason: str | None = None
        """why the study ended, where it has a stop rule of its own"""
        self.fault: asyncio.Future[TidepoolError] = asyncio.get_running_loop().create_future()
        """what stops the whole run"""
        self._batched = SERVICES[config.service.name].batched
        self._results: dict[int, Latch[UnitResult]] = defaultdict(lambda: Latch(self.tasks))
        self._study = Unit(self, 0, None)
        self._leaving: asyncio.Handle | None = None

    # -- for studies -------------------------------------------------------------------------------------

    @property
    def study(self) -> Unit:
        """The study itself as unit 0: for calls that belong to no unit."""
        return self._study

    def take_up(self) -> None:
        """Reads back what the study itself (unit 0) was answered before."""
        self._study = Unit(self, 0, self.ledger.recall(0, 0).get(0))
        self.resumed = True

    def expect_units(self, total: int) -> None:
        self.ledger.set_units_total(total)
        self.emit(UnitsExpected(total))

    async def units(self, plans: Iterable[UnitPlan]) -> None:
        """Runs units as the service says: all together, so many at a time, or in groups. Later ones may wait for
        earlier ones (`result`), never the other way round."""
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
        """The end of a unit that was planned as `awaited`. Whoever reads a failure makes it final: a resume will not reopen it."""
        result = await self._results[sequence_number].wait()
        if result.error is not None:
            self.ledger.seal(sequence_number)
        return result

    async def all(self, stories: Iterable[Awaitable[T]]) -> list[T]:
        """Fan-out inside a story. Use this instead of asyncio.gather, so that waves stay exact."""
        return await self.tasks.all(stories)

    async def lanes(self, stories: Iterable[Awaitable[T]], at_once: int) -> list[T]:
        """Fan-out with at most so many stories begun and not ended. Use this instead of a semaphore."""
        return await self.tasks.lanes(stories, at_once)

    def open_unit(self, number: int, **about: Any) -> Unit:
        """A unit that the study leads by itself, side by side with others, until it closes it; `about` is what the
        file says of it (see `UnitPlan`)."""
        remembered = self.ledger.recall(number, number).get(number) if self.resumed else None
        if remembered is None:
            self.ledger.start_unit(number, **about)
        return Unit(self, number, remembered)

    def close_unit(self, unit: Unit, error: str | None = None, details: str | None = None) -> None:
        """The end of such a unit. The study has read it, so a failure is final: a resume will not reopen it."""
        if not unit.settled:
            self.ledger.end_unit(unit.number, error, details)
            if error is not None:
                self.ledger.seal(unit.number)
        self.emit(UnitEnded(unit.number, error))

    def gathers(self, provider: str) -> bool:
        """Whether calls of this provider wait for their wave and leave through its batch API."""
        return self._batched and self.accounts[provider].provider.batches is not None

    def log(self, level: str, message: str) -> None:
        message = storable(message)
        self.ledger.log(level, message)
        self.emit(Logged(level, message))

    def emit(self, event: Event) -> None:
        if self.listener is not None:
            self.listener(event)

    # -- units -------------------------------------------------------------------------------------------

    async def _together(self, plans: Iterable[UnitPlan]) -> None:
        left = 1
        ended: Latch[None] = Latch(self.tasks)

        def one_ended(task: "asyncio.Task[None]") -> None:
            nonlocal left
            if not task.cancelled() and (error := task.exception()):
                self.fail(error)
            left -= 1
            if not left:
                ended.set(None)

        ending = self.tasks.ending(one_ended)
        for count, (plan, remembered) in enumerate(self._remembered(plans), 1):
            left += 1
            self.tasks.spawn(self._run_unit(plan, remembered), ending)
            if not count % UNITS_PER_LOOK:
                await asyncio.sleep(0)
        left -= 1
        if left:
            await ended.wait()

    async def _lane(self, shared: Iterator[tuple[UnitPlan, Remembered | None]]) -> None:
        for plan, remembered in shared:
            try:
                await self._run_unit(plan, remembered)
            except Exception as error:
                self.fail(error)
                raise

    def _remembered(self, plans: Iterable[UnitPlan]) -> Iterator[tuple[UnitPlan, Remembered | None]]:
        plans = iter(plans)
        while chunk := list(islice(plans, UNITS_PER_LOOK)):
            known: dict[int, Remembered] = {}
            if self.resumed:
                numbers = [plan.sequence_number for plan in chunk]
                known = self.ledger.recall(min(numbers), max(numbers))
            for plan in chunk:
                yield plan, known.pop(plan.sequence_number, None)

    async def _run_unit(self, plan: UnitPlan, remembered: Remembered | None) -> None:
        number = plan.sequence_number
        unit = Unit(self, number, remembered)
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
        del plan  # a hundred thousand units may wait here: only what is still needed waits with them
        try:
            result = UnitResult(value=await story)
        except CallFailed as error:
            result = UnitResult(error=str(error))
        if not unit.settled:
            self.ledger.end_unit(number, result.error)
        self.emit(UnitEnded(number, result.error))
        if awaited:
            self._results[number].set(result)

    # -- ask ---------------------------------------------------------------------------------------------

    async def ask(self, unit: Unit, call: Call) -> Reply:
        unit.take_address(call.step)
        seed = seed_of(self.seed, unit.number, call.step)
        key = call.key(seed)
        if (row := unit.recall(call.step)) is not None:
            return self._replay(unit, call, key, row)
        if self.closing:
            await for_ever()
        asked_at = time.monotonic()
        account = self.accounts[call.provider]
        ordered = self.scheduler.knows(unit.number, call.step)
        if not ordered and account.settings.cache and (row := self.ledger.cached(key)) is not None:
            return await self._from_cache(unit, call, key, row, asked_at)
        pending = Pending(unit, call, key, seed, asked_at, None)  # type: ignore[arg-type]
        if ordered or (self._batched and self.scheduler.takes(account) and call.operation == "chat"):
            self.scheduler.check(pending)
            pending.future = self.tasks.park()
            self.scheduler.gather(pending)
            if (given := await pending.future) is not None:
                return given
        reply = self._enter(pending, *await self._purchase(pending))
        if self.listener is not None:
            await self.ledger.writer.committed()
            return self._told(pending, reply)
        del call, pending, account, row  # a hundred thousand stories may wait here: let go of what was asked
        await self.ledger.writer.committed()
        return reply

    async def _purchase(self, pending: Pending) -> tuple[Answer, float, int]:
        """The answer of the provider, its seconds, and how many attempts it took."""
        account = self.accounts[pending.call.provider]
        if account.budget.capped:
            pending.reserved = account.worst_cost(pending.call)
            await account.budget.reserve(pending.reserved)
        address = (pending.unit.number, pending.call.step)
        live = LiveCall(account, pending.call, pending.seed, address, lambda error: self._on_retry(pending, error))
        try:
            answer = await live.answer()
        except ProviderError as error:
            account.budget.settle(pending.reserved, 0.0)
            if error.fault is ErrorClass.SYSTEMIC:
                self.fail(RunError(str(error)))
                await for_ever()
            raise await self.record_failure(pending, str(error), live.attempts) from None
        if pending.reserved or answer.cost_usd:
            account.budget.settle(pending.reserved, answer.cost_usd or 0.0)
        return answer, live.seconds if answer.seconds is None else answer.seconds, live.attempts

    async def record(
        self,
        pending: Pending,
        answer: Answer,
        *,
        seconds: float,
        attempts: int,
        source: str,
        order_id: str | None = None,
    ) -> Reply:
        """Commits an answer, whatever way it came."""
        reply = self._enter(pending, answer, seconds, attempts, source, order_id)
        await self.ledger.writer.committed()
        return self._told(pending, reply)

    def _enter(
        self,
        pending: Pending,
        answer: Answer,
        seconds: float,
        attempts: int,
        source: str = "live",
        order_id: str | None = None,
    ) -> Reply:
        text = storable(answer.text)
        entry = answered(pending, answer, text, seconds, attempts, source, order_id)
        self.ledger.enter(entry, pending.asked_at)
        return Reply(text, answer.input_tokens, answer.output_tokens, answer.cost_usd, seconds, source)

    def _told(self, pending: Pending, reply: Reply) -> Reply:
        if self.listener is not None:
            call = pending.call
            self.listener(CallAnswered(pending.unit.number, call.step, call.wave, reply.source, reply.cost_usd))
        return reply

    async def record_failure(
        self, pending: Pending, error: str, attempts: int, order_id: str | None = None
    ) -> CallFailed:
        """A final failure is a row of the ledger, and replays as one."""
        error = storable(error)
        entry = lost(pending, error, attempts, order_id)
        self.ledger.enter(entry, pending.asked_at)
        await self.ledger.writer.committed()
        self.emit(CallLost(pending.unit.number, pending.call.step, pending.call.wave, error))
        return CallFailed(error)

    def _replay(self, unit: Unit, call: Call, key: bytes, row: sqlite3.Row) -> Reply:
        if row["key"] != key:
            raise mismatch(unit.number, call.step)
        if row["status"] == "failed":
            self.emit(CallLost(unit.number, call.step, call.wave, row["error"]))
            raise CallFailed(row["error"])
        self.ledger.tally.replayed()
        self.emit(CallAnswered(unit.number, call.step, call.wave, "replay", 0.0))
        return reply_of(row)

    async def _from_cache(self, unit: Unit, call: Call, key: bytes, row: sqlite3.Row, asked_at: float) -> Reply:
        pending = Pending(unit, call, key, 0, asked_at, None)  # type: ignore[arg-type]
        answer = Answer(row["text"], row["input_tokens"], row["output_tokens"], 0.0, row["truth"])
        return await self.record(pending, answer, seconds=0.0, attempts=1, source="cache")

    def _on_retry(self, pending: Pending, error: ProviderError) -> None:
        self.ledger.tally.retried()
        self.emit(CallRetried(pending.unit.number, pending.call.step, str(error)))

    # -- the whole run -----------------------------------------------------------------------------------

    def fail(self, error: BaseException) -> None:
        """Stops the run for a fault that is not one call's."""
        if not self.fault.done():
            self.fault.set_result(error if isinstance(error, TidepoolError) else _unexpected(error))

    def consider_leaving(self) -> None:
        """Where no strand can go on by itself, what was gathered leaves: soon, when the loop has come to rest."""
        if not self.tasks.busy and self._leaving is None:
            self._leaving = asyncio.get_running_loop().call_soon(self._leave)

    def _leave(self) -> None:
        self._leaving = None
        if not self.tasks.busy and not self.closing and not self.paused:
            self.scheduler.leave()

    def pause(self, paused: bool) -> None:
        self.paused = paused
        for account in self.accounts.values():
            account.limiter.pause(paused)
        self.consider_leaving()


def _unexpected(error: BaseException) -> RunError:
    wrapped = RunError(
        f"Something unexpected went wrong: {type(error).__name__}: {error}. Run again with --debug for details."
    )
    wrapped.__cause__ = error
    return wrapped
