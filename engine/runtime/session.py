"""One process's run of a batch, or of several that belong together: from the opened accounts to the end of the study, or
to an interruption."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.config.sections import FrozenConfig, as_overrides, limit_change
from tidepool.engine.errors import FileError, TidepoolError, UsageError
from tidepool.engine.events import CallsExpected, Listener, ProvidersRest, TransportPlanned
from tidepool.engine.runtime.accounts import Account, Budget, OpenAccounts
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.context import RunContext, SharedRun, Tasks
from tidepool.engine.runtime.plans import Plan, merge_plans, transport_plan
from tidepool.engine.runtime.scheduler import BatchScheduler
from tidepool.engine.runtime.services import SERVICES, ExpectedWaves, stages_of
from tidepool.engine.runtime.stop_rules import Gate
from tidepool.engine.trust.record import ReplySeals
from tidepool.storage import batches
from tidepool.storage.batches import HEARTBEAT_SECONDS
from tidepool.storage.file import connect
from tidepool.storage.ledger import Ledger, beat, commands_for, mark_command_read, set_paused
from tidepool.storage.queries.summary import Money, money_by_provider
from tidepool.storage.states import BatchStatus, StopCode, batch_number_of, sequence_number_of
from tidepool.storage.writer import Writer

if TYPE_CHECKING:
    from tidepool.engine.studies.study import Study

# -- control -----------------------------------------------------------------------------------------------------------


LOOK_SECONDS = 0.25
MOST_SHOWN = 2_000
"""calls in flight that a heartbeat lists"""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ends before its study does."""

    code: StopCode
    words: str = ""
    """the code in words, if it says more, such as which signal"""
    cancel_batches: bool = False
    """provider batches are cancelled instead of left running"""
    fault: TidepoolError | None = None

    @property
    def reason(self) -> str:
        """The reason in words."""
        return str(self.fault) if self.fault is not None else self.words or self.code.value


async def _ignored(changes: Sequence[str]) -> None:
    return None


class RunControl:
    """Lets the caller stop a run; `on_stop` decides about its provider batches."""

    def __init__(self, on_stop: str = "leave") -> None:
        self.on_stop = on_stop
        self.requested: Stop | None = None
        """the first stop request"""
        self.on_request: Callable[[], None] = lambda: None
        """called with it: no call is sent from then on, however long the rest of the stop takes"""
        self.on_limits: Callable[[Sequence[str]], Awaitable[None]] = _ignored
        """called with changed limits in the form of `--set`, so that a resume uses them too"""
        self._event = asyncio.Event()
        self._started = time.monotonic()
        self._rested = False

    def stop(self, stop: Stop | None = None) -> None:
        """Ends the run after the requests in flight. It can be resumed."""
        if self.requested is None:
            self.requested = stop or Stop(StopCode.STOPPED, cancel_batches=self.on_stop == "cancel")
            self._event.set()
            self.on_request()

    def stop_for(self, code: StopCode, words: str = "") -> None:
        self.stop(Stop(code, words, cancel_batches=self.on_stop == "cancel"))

    async def stopped(self) -> Stop:
        await self._event.wait()
        assert self.requested is not None
        return self.requested

    async def watch(self, leading: RunContext, playing: Callable[[], Sequence[tuple[RunContext, float]]]) -> None:
        """Writes heartbeats and reads commands from the file, until cancelled. Commands to a study are stored with its first batch.

        `playing` returns the running batches, each with its seconds in earlier sessions.
        """
        ledger = leading.ledger
        last_beat = 0.0
        commands_read = set[int]()
        """commands that were read; the file records this only after the next commit"""
        while True:
            if time.monotonic() - last_beat >= HEARTBEAT_SECONDS:
                last_beat = time.monotonic()
                for context, earlier_seconds in playing():
                    self.beat(context, earlier_seconds)
            for number, command, arguments in commands_for(ledger.reader, ledger.batch_number):
                if number in commands_read:
                    continue
                commands_read.add(number)
                mark_command_read(ledger.writer, number)
                if leading.run.closing or not isinstance(arguments, dict):
                    continue
                if command == "limits":
                    if changed := change_limits(leading, arguments):
                        await self.on_limits(as_overrides(changed))
                else:
                    self._obey(leading, command, arguments)
            await asyncio.sleep(LOOK_SECONDS)

    def beat(self, context: RunContext, earlier_seconds: float) -> None:
        accounts = context.accounts
        resting = {name: rest for name, account in accounts.items() if (rest := account.resting()) is not None}
        if resting or self._rested:
            context.emit(ProvidersRest(tuple(resting.items())))
            self._rested = bool(resting)
        beat(
            context.ledger.writer,
            context.ledger.batch_number,
            seconds=earlier_seconds + time.monotonic() - self._started,
            peak_concurrency=sum(account.limiter.peak for account in accounts.values()),
            in_flight=[
                [sequence_number_of(unit), wave]
                for account in accounts.values()
                for (unit, _), wave in list(account.in_flight.items())[:MOST_SHOWN]
                if batch_number_of(unit) == context.ledger.batch_number
            ],
            limits={
                "providers": {name: _limits_of(account) for name, account in accounts.items()},
                "asks": sorted(context.asks),
                "budget_usd": context.budget.cap,
                "reserved_usd": context.budget.reserved,
            },
        )

    def _obey(self, context: RunContext, command: str, arguments: dict[str, Any]) -> None:
        match command:
            case "stop":
                on_stop = arguments.get("on_stop", self.on_stop)
                self.stop(Stop(StopCode.STOPPED, cancel_batches=on_stop == "cancel"))
            case "pause" | "continue":
                paused = command == "pause"
                context.pause(paused)
                for number in context.run.ledgers:
                    set_paused(context.ledger.writer, number, paused)
                context.log("info", "Paused." if paused else "Continued.")
            case "give up":
                context.run.give_up(str(arguments.get("order")))
            case _:
                context.log("warning", f"Unknown command {command!r} was ignored.")


def _limits_of(account: Account) -> dict[str, Any]:
    """The state of an account for watchers."""
    limiter, resting = account.limiter, account.resting()
    return {
        "allowed": int(limiter.allowed),
        "in_flight": limiter.in_flight,
        "max_concurrent": limiter.ceiling,
        "requests_per_minute": limiter.requests.per_minute,
        "tokens_per_minute": limiter.tokens.per_minute,
        "resting": None if resting is None else asdict(resting),
    }


def change_limits(context: RunContext, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes limits while running, as KEY = VALUE; `providers.NAME.KEY` is for one provider. Returns the changed ones."""
    changed: dict[str, Any] = {}
    for key, value in changes.items():
        try:
            name, provider, checked = limit_change(key, value)
            accounts = context.accounts
            if provider is not None:
                if provider not in accounts:
                    raise UsageError(f"the batch sends no requests to {provider}.")
                accounts = {provider: accounts[provider]}
            _change_limit(context, name, checked, accounts, whole=provider is None)
        except (TidepoolError, ValueError, TypeError) as error:
            context.log("warning", f"The limit {key} = {value} was rejected: {error}")
        else:
            context.log("info", f"Limit changed: {key} = {value}.")
            changed[key] = checked
    return changed


def _change_limit(context: RunContext, name: str, value: Any, accounts: Mapping[str, Account], *, whole: bool) -> None:
    if name == "budget_usd" and value and any(not account.knows_prices for account in accounts.values()):
        raise UsageError("the price of a model is not known, so the budget could not be kept.")
    if name == "budget_usd" and whole:
        context.budget.change(value)
        return
    for account in accounts.values():
        account.change(name, value)


# -- session -----------------------------------------------------------------------------------------------------------


DRAIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """The outcome of a session: `stop` is what ended it early, `reason` the study's own rule that ended it."""

    stop: Stop | None
    reason: str | None = None


@dataclass
class RunningBatch:
    """A batch in this session, with its study and its listener."""

    study: "Study"
    batch_id: str = ""
    """empty: not written yet"""
    resumed: bool = False
    ended: bool = False
    """it ended before: none of it runs again, and its log covers provider batches of the others"""
    listener: Listener | None = None
    servers: tuple[str, ...] = ()
    """servers that are not the providers' usual ones, in words"""

    @property
    def config(self) -> FrozenConfig:
        return self.study.config

    @cached_property
    def plan(self) -> Plan:
        return self.study.plan()

    @property
    def providers(self) -> frozenset[str]:
        """The providers of the batch's models; a study opens the accounts of all its batches."""
        return frozenset(model.partition(":")[0] for model in self.config.models())


def verdict(
    outcome: SessionOutcome, *, calls: int, completed: int, failed: int
) -> tuple[BatchStatus, str | None, StopCode | None]:
    """The status, reason and code of a batch after a session, from what stopped it and the number of its calls and
    units."""
    if (stop := outcome.stop) is not None:
        began = stop.fault is None or calls
        return BatchStatus.INTERRUPTED if began else BatchStatus.FAILED, stop.reason, stop.code
    status = BatchStatus.COMPLETED if not failed else BatchStatus.PARTIAL if completed else BatchStatus.FAILED
    return status, outcome.reason, StopCode.RULE if outcome.reason else None


class Session:
    """One process's session with the batches of a run."""

    def __init__(
        self,
        path: Path,
        run_id: str,
        turns: Sequence[RunningBatch],
        accounts: OpenAccounts,
        control: RunControl,
        on_end: Callable[[RunningBatch, SessionOutcome], Awaitable[None]],
    ) -> None:
        """`run_id`: the study's id, or the only batch's. Messages about all batches go to the log of the first of `turns`.
        `on_end` is called with each batch that ends while others continue."""
        self._path = path
        self._turns = turns
        self._workers = accounts.workers
        self._control = control
        self._on_end = on_end
        self._accounts = accounts.by_provider
        self._shared = SharedRun(run_id, several=len(turns) > 1)
        if any(turn.study.code() for turn in turns):
            self._shared.seals = ReplySeals()
        for window in (self._shared.window, self._shared.live_window):
            window.concurrency = lambda: sum(account.limiter.ceiling for account in self._accounts.values())
        self._plan = merge_plans([turn.plan for turn in turns if not turn.ended])
        self.runs: list[BatchRun] = []
        self._mains: list[asyncio.Task[None] | None] = [None] * len(turns)
        self._ends: set[asyncio.Task[None]] = set()

    async def run(self) -> list[SessionOutcome]:
        """Runs the batches, releases the file in any case, and returns the outcome of each."""
        write_error: FileError | None = None
        try:
            writer = Writer(self._path)
            await writer.open()
            reader = connect(self._path)
            try:
                self._open_file(writer, reader)
                stop = await self._play()
            finally:
                try:
                    await writer.close()
                except FileError as error:
                    write_error = error
                reader.close()
        except asyncio.CancelledError:
            return [SessionOutcome(Stop(StopCode.CANCELLED)) for _ in self._turns]
        except TidepoolError as fault:
            return [SessionOutcome(Stop(StopCode.FAULT, fault=fault)) for _ in self._turns]
        if write_error is not None:
            stop = stop or Stop(StopCode.FAULT, fault=write_error)
            return [SessionOutcome(stop) for _ in self._turns]
        return [self._outcome(place, stop) for place in range(len(self._turns))]

    def _open_file(self, writer: Writer, reader: sqlite3.Connection) -> None:
        numbers = [int(batches.find_batch(reader, turn.batch_id)["number"]) for turn in self._turns]
        self._progress = [batches.progress_of(reader, number) for number in numbers]
        budget = self._budgets(reader, numbers)
        for turn, number in zip(self._turns, numbers, strict=True):
            ledger = Ledger(writer, reader, number)
            ledger.open_cache(turn.config.batch.seed, turn.config.batch.kind)
            context = RunContext(
                *(turn.config, turn.batch_id, ledger, self._accounts, budget, turn.listener),
                run=self._shared,
                # In a study with different transports, live cells do not delay a wave.
                tasks=None if turn.resumed or len(self._turns) == 1 or self._has_waves(turn) else Tasks(),
                asks=frozenset() if turn.ended else turn.providers,
            )
            if not self.runs:
                self._scheduler = BatchScheduler(context)
                writer.on_failure = context.fail
            if context.tasks is self._shared.tasks and self._has_waves(turn):
                self._shared.window.gathers = True
            self.runs.append(BatchRun(context, ExpectedWaves(turn.plan, self._plan), self._scheduler))
            self.runs[-1].gate = _gate(turn, context)
        self._context = self.runs[0].context

    def _has_waves(self, turn: RunningBatch) -> bool:
        """Whether its calls may wait for a wave."""
        apis = {name: account.provider.batches for name, account in self._accounts.items()}
        providers = {planned.model.partition(":")[0] for planned in turn.plan.calls}
        return SERVICES[turn.config.service.name].batched and any(apis.get(name) is not None for name in providers)

    def _budgets(self, reader: sqlite3.Connection, numbers: Sequence[int]) -> Budget:
        """The budget of the whole run; each account gets its own part of it."""
        config = next(turn.config for turn in self._turns if not turn.ended)
        money = money_by_provider(reader, numbers)
        spent = sum(progress["cost_usd"] for progress in self._progress)
        whole = Budget(config.service.budget_usd, spent, sum(amounts.reserved for amounts in money.values()))
        for name, account in self._accounts.items():
            amounts = money.get(name, Money())
            account.budget = Budget(config.budget_of(name), amounts.spent, amounts.reserved, whole=whole)
        for budget in (whole, *(account.budget for account in self._accounts.values())):
            budget.on_exhausted = lambda: self._control.stop(Stop(StopCode.BUDGET))
        return whole

    def _outcome(self, place: int, stop: Stop | None) -> SessionOutcome:
        """The outcome of one batch. A batch that ended earlier is not affected by what stopped the others."""
        main = self._mains[place]
        ended = main is not None and main.done() and not main.cancelled() and main.exception() is None
        return SessionOutcome(None if ended and len(self.runs) > 1 else stop, self.runs[place].reason)

    async def _play(self) -> Stop | None:
        """Runs the study to its end (None), or to what stopped it."""
        self._open()
        if self._control.requested is not None:  # while waiting for workers
            self._no_new_calls()
        watch = asyncio.create_task(self._control.watch(self._context, self._playing))
        watch.add_done_callback(self._context.fail_if_raised)  # without it, the run could not be controlled
        for place, (run, turn) in enumerate(zip(self.runs, self._turns, strict=True)):
            if not turn.ended:
                tasks = run.context.tasks
                self._mains[place] = tasks.spawn(
                    _play_logged(turn.study, run), tasks.ending(partial(self._ended, place))
                )
        all_runs = asyncio.gather(*filter(None, self._mains))
        # Marks an error as read. Otherwise asyncio would report it after a stop that cancels the batches.
        all_runs.add_done_callback(lambda runs: runs.cancelled() or runs.exception())
        stop_request = asyncio.ensure_future(self._control.stopped())
        self._control.on_request = self._no_new_calls
        try:
            ends: list[asyncio.Future[Any]] = [all_runs, stop_request, self._shared.fault]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return await self._close(all_runs, stop_request)
        except asyncio.CancelledError:
            await self._halt(cancel_batches=False)
            return Stop(StopCode.CANCELLED)
        finally:
            watch.cancel()
            stop_request.cancel()
            for account in self._accounts.values():
                account.errors.close()
            await asyncio.gather(watch, *self._ends, return_exceptions=True)
            for context, earlier in self._playing(to_the_end=True):
                self._control.beat(context, earlier)

    def _playing(self, *, to_the_end: bool = False) -> list[tuple[RunContext, float]]:
        """The running batches, each with its seconds in earlier sessions."""
        return [
            (run.context, progress["seconds"])
            for run, progress, main in zip(self.runs, self._progress, self._mains, strict=True)
            if main is not None and (not main.done() or (to_the_end and len(self.runs) == 1))
        ]

    def _open(self) -> None:
        turns, context = self._turns, self._context
        if (workers := self._workers) is not None:
            workers.notices.listen(partial(context.log, "warning"))
        for account in self._accounts.values():
            account.provider.notices.listen(partial(context.log, "warning"))
            account.outage.log = context.log
        for turn, run in zip(turns, self.runs, strict=True):
            if turn.ended:
                continue
            run.context.log("info", "Resumed." if turn.resumed else "Started.")
            for line in turn.servers:
                run.context.log("info", f"Sends requests to {line}.")
            for words in turn.plan.warnings:
                run.context.log("warning", words)
            if turn.resumed:
                run.resume()
        if workers is not None:
            context.log("info", workers.summary)
        exact = self._plan.exact and not any(run.gate for run in self.runs)
        context.emit(CallsExpected(self._plan.calls_expected, exact))
        self._log_transport()
        if any(turn.resumed for turn in turns):
            self._scheduler.resume()

    def _log_transport(self) -> None:
        """Logs the transport, since provider batches may take hours and some wait for others."""
        context = self._context
        apis = {name: account.provider.batches for name, account in context.accounts.items()}
        words = transport_plan(self._plan, context.config, apis, several=len(self.runs) > 1).words
        context.emit(TransportPlanned(words))
        if SERVICES[context.config.service.name].batched:
            for line in words:
                context.log("info", f"Planned: {line}.")

    def _ended(self, place: int, main: "asyncio.Task[None]") -> None:
        """Handles the end of a batch. The run continues while another batch is not done."""
        tasks = self._shared.tasks
        pairs = zip(self.runs, self._mains, strict=True)
        self._shared.finished = all(
            other is None or other is main or other.done() for run, other in pairs if run.context.tasks is tasks
        )
        if len(self.runs) > 1 and not main.cancelled() and main.exception() is None:
            end = asyncio.ensure_future(self._announce_end(place))
            self._ends.add(end)
            end.add_done_callback(self._context.fail_if_raised)

    async def _announce_end(self, place: int) -> None:
        context = self.runs[place].context
        self._control.beat(context, self._progress[place]["seconds"])
        await context.ledger.writer.committed()
        await self._on_end(self._turns[place], self._outcome(place, None))

    async def _close(self, all_runs: "asyncio.Future[Any]", stop_request: "asyncio.Future[Stop]") -> Stop | None:
        if self._shared.fault.done():
            fault = self._shared.fault.result()
            self._context.ledger.log("error", f"Stopping: {fault}")
            if not isinstance(fault, FileError):
                await self._drain()
            await self._halt(cancel_batches=False)
            return Stop(StopCode.FAULT, fault=fault)
        if all_runs.done():
            if error := all_runs.exception():
                self._context.fail(error)
                return await self._close(all_runs, stop_request)
            await self._scheduler.finish()
            return None
        stop = stop_request.result()
        for context, _ in self._playing():
            context.log("info", f"Stopping: {stop.reason}.")
        await self._drain()
        await self._halt(cancel_batches=stop.cancel_batches)
        return stop

    async def _drain(self) -> None:
        """Stops sending new calls, and gives those in flight some time to finish."""
        self._no_new_calls()
        limiters = [account.limiter for account in self._accounts.values()]
        deadline = asyncio.get_running_loop().time() + DRAIN_SECONDS
        while any(limiter.in_flight for limiter in limiters) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        with suppress(TidepoolError):
            await self._context.ledger.writer.committed()

    def _no_new_calls(self) -> None:
        self._shared.closing = True
        for account in self._accounts.values():
            account.limiter.pause(True)

    async def _halt(self, *, cancel_batches: bool) -> None:
        self._shared.closing = True
        await self._scheduler.stop(cancel=cancel_batches)
        for tasks in {id(run.tasks): run.tasks for run in self.runs}.values():
            await tasks.cancel()


async def _play_logged(study: "Study", run: BatchRun) -> None:
    try:
        await study.play(run)
    finally:
        run.log_end()


def _gate(turn: RunningBatch, context: RunContext) -> Gate | None:
    """Decides which units may start, if the batch has a [stop] rule."""
    plan = turn.plan
    if turn.ended or (rule := turn.study.stop_rule()) is None:
        return None
    stages = stages_of(turn.config, {planned.model for planned in plan.calls}, plan.units)
    return Gate(rule, stages, plan.calls_expected / max(1, plan.units), context.tasks, context.ledger)
