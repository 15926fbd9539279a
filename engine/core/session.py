"""One process's turn at a batch: from its opened accounts to the study's end, or to what stops it."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.core.accounts import Account
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.core.budget import Budget
from tidepool.engine.core.context import RunContext
from tidepool.engine.core.expected_waves import ExpectedWaves
from tidepool.engine.core.open_accounts import OpenAccounts
from tidepool.engine.core.run_control import RunControl, Stop
from tidepool.engine.core.services import SERVICES
from tidepool.engine.errors import FileError, RunError, TidepoolError
from tidepool.engine.events import BatchStarted, CallsExpected, Listener, TransportPlanned
from tidepool.engine.studies.planned_calls import Plan
from tidepool.engine.studies.transport_plan import transport_plan
from tidepool.storage import batches
from tidepool.storage.file import connect
from tidepool.storage.ledger import Ledger
from tidepool.storage.states import BatchStatus, StopCode
from tidepool.storage.writer import Writer

DRAIN_SECONDS = 10.0

Play = Callable[[BatchRun], Awaitable[None]]
"""a study from its first question to its last"""


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """What a turn came to: `stop` is what ended it early, `reason` the study's own rule that ended it."""

    stop: Stop | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SessionVerdict:
    """What the file says of a batch when nobody runs it any more."""

    status: BatchStatus
    reason: str | None = None
    stop_code: StopCode | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What a process takes up: a batch of a file, its frozen config, its accounts, and who listens and steers."""

    path: Path
    batch_id: str
    config: FrozenConfig
    plan: Plan
    accounts: OpenAccounts
    control: RunControl
    listener: Listener | None
    resumed: bool
    own: bool = True
    """the batch is the user's own: made here, or adopted; else nothing at a provider is cancelled by what its file says"""
    servers: tuple[str, ...] = ()
    """in words, those that are not the providers' usual ones"""

    async def taken(self, play: Play) -> SessionOutcome:
        """Plays the batch, whatever happens, and lets go of the file."""
        try:
            writer = Writer(self.path)
            await writer.open()
            reader = connect(self.path)
            try:
                session = _Session(self, writer, reader)
                stop = await session.play(play)
            finally:
                lost = await _closed(writer)
                reader.close()
        except asyncio.CancelledError:
            return SessionOutcome(Stop(StopCode.CANCELLED))
        except TidepoolError as fault:
            return SessionOutcome(Stop(StopCode.FAULT, fault=fault))
        if lost is not None and stop is None:
            stop = Stop(StopCode.FAULT, fault=lost)
        return SessionOutcome(stop, session.run.reason)


def verdict(outcome: SessionOutcome, *, calls: int, completed: int, failed: int) -> SessionVerdict:
    """A batch's state after a turn, by what stopped it and how many of its calls and units there are."""
    if (stop := outcome.stop) is not None:
        began = stop.fault is None or calls
        return SessionVerdict(BatchStatus.INTERRUPTED if began else BatchStatus.FAILED, stop.reason, stop.code)
    if not failed:
        status = BatchStatus.COMPLETED
    else:
        status = BatchStatus.PARTIAL if completed else BatchStatus.FAILED
    return SessionVerdict(status, outcome.reason, StopCode.RULE if outcome.reason else None)


async def _closed(writer: Writer) -> FileError | None:
    """Writes what is queued and lets go of the file; what could not be written is told."""
    try:
        await writer.close()
    except FileError as error:
        return error
    return None


class _Session:
    """A turn with its file open."""

    def __init__(self, turn: Session, writer: Writer, reader: sqlite3.Connection) -> None:
        batch = batches.find_batch(reader, turn.batch_id)
        progress = batches.progress_of(reader, batch["number"])
        config, accounts = turn.config, turn.accounts.by_provider
        self._turn = turn
        self._control = turn.control
        ledger = Ledger(writer, reader, batch["number"])
        ledger.open_cache(config.batch.seed, config.batch.kind)
        budget = self._budgets(batches.money_by_provider(reader, batch["number"]), progress["cost_usd"], accounts)
        self._context = RunContext(config, turn.batch_id, ledger, accounts, budget, turn.listener, own=turn.own)
        self.run = BatchRun(self._context, ExpectedWaves(turn.plan))
        self._earlier_seconds = progress["seconds"]
        writer.on_failure = self._context.fail

    def _budgets(self, money: dict[str, batches.Money], spent: float, accounts: dict[str, Account]) -> Budget:
        """The batch's budget; each account gets its own part of it."""
        config = self._turn.config
        whole = Budget(config.service.budget_usd, spent, sum(part.reserved for part in money.values()))
        for name, account in accounts.items():
            part = money.get(name, batches.Money())
            account.budget = Budget(config.budget_of(name), part.spent, part.reserved, whole=whole)
        for budget in (whole, *(account.budget for account in accounts.values())):
            budget.on_exhausted = lambda: self._control.stop(Stop(StopCode.BUDGET))
        return whole

    async def play(self, play: Play) -> Stop | None:
        """The study to its end (None), or to what stopped it."""
        self._open()
        context = self._context
        watch = asyncio.create_task(self._control.watch(context, self._earlier_seconds))
        watch.add_done_callback(self._watch_ended)
        main = context.tasks.spawn(play(self.run), context.tasks.ending(self._ended))
        stopped = asyncio.ensure_future(self._control.stopped())
        try:
            ends: list[asyncio.Future[Any]] = [main, stopped, context.fault]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return await self._close(main, stopped)
        except asyncio.CancelledError:
            await self._halt(cancel_batches=False)
            return Stop(StopCode.CANCELLED)
        finally:
            watch.cancel()
            stopped.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            self._control.beat(context, self._earlier_seconds)

    def _open(self) -> None:
        context, batch, resumed = self._context, self._turn.config.batch, self._turn.resumed
        context.emit(BatchStarted(context.batch_id, batch.kind, batch.name, resumed))
        context.emit(CallsExpected(self._turn.plan.calls_expected, self._turn.plan.exact))
        context.log("info", "Resumed." if resumed else "Started.")
        for line in self._turn.servers:
            context.log("info", f"Asks {line}.")
        for account in context.accounts.values():
            account.provider.notices.listen(partial(context.log, "warning"))
            account.outage.tell = context.log
        for words in self._turn.plan.warnings:
            context.log("warning", words)
        self._tell_transport()
        if resumed:
            self.run.take_up()

    def _tell_transport(self) -> None:
        """Provider batches may take hours, and some wait for others: whoever starts a batch is told."""
        context = self._context
        apis = {name: account.provider.batches for name, account in context.accounts.items()}
        words = transport_plan(self._turn.plan, self._turn.config, apis).words
        context.emit(TransportPlanned(words))
        if SERVICES[self._turn.config.service.name].batched:
            for line in words:
                context.log("info", f"Planned: {line}.")

    def _ended(self, main: "asyncio.Task[None]") -> None:
        self._context.finished = True

    def _watch_ended(self, watch: "asyncio.Task[None]") -> None:
        """A run that nobody can steer, and that shows no heartbeat, must not go on."""
        if not watch.cancelled() and (error := watch.exception()):
            self._context.fail(error)

    async def _close(self, main: "asyncio.Task[None]", stopped: "asyncio.Future[Stop]") -> Stop | None:
        if self._context.fault.done():
            fault = self._context.fault.result()
            if not isinstance(fault, FileError):
                await self._drain()
            await self._halt(cancel_batches=False)
            return Stop(StopCode.FAULT, fault=fault)
        if main.done():
            if error := main.exception():
                await self._drain()
                await self._halt(cancel_batches=False)
                return Stop(StopCode.FAULT, fault=_fault_of(error))
            await self.run.scheduler.finish()
            return None
        stop = stopped.result()
        self._context.log("info", f"Stopping: {stop.reason}.")
        await self._drain()
        await self._halt(cancel_batches=stop.cancel_batches)
        return stop

    async def _drain(self) -> None:
        """No new calls; those at a provider may finish, for a while."""
        self._context.closing = True
        limiters = [account.limiter for account in self._context.accounts.values()]
        for limiter in limiters:
            limiter.pause(True)
        deadline = asyncio.get_running_loop().time() + DRAIN_SECONDS
        while any(limiter.in_flight for limiter in limiters) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        with suppress(TidepoolError):
            await self._context.ledger.writer.committed()

    async def _halt(self, *, cancel_batches: bool) -> None:
        self._context.closing = True
        await self.run.scheduler.stop(cancel=cancel_batches)
        await self._context.tasks.cancel()


def _fault_of(error: BaseException) -> TidepoolError:
    """What a study's own coroutine raised."""
    if isinstance(error, TidepoolError):
        return error
    fault = RunError(f"{type(error).__name__}: {error}")
    fault.__cause__ = error
    return fault
