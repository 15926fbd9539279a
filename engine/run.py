"""A batch's life: made, begun, played, ended; or stopped, and taken up again."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tidepool.engine.config.loading import apply_override, config_from, load_frozen
from tidepool.engine.config.presets import full_names
from tidepool.engine.config.sections import Config
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.core.budget import Budget
from tidepool.engine.core.gc_tuning import CalmGarbageCollector
from tidepool.engine.core.open_accounts import OpenAccounts
from tidepool.engine.core.run_control import RunControl, Stop
from tidepool.engine.errors import FileError, NotFound, RunError, TidepoolError, UsageError
from tidepool.engine.events import BatchEnded, BatchStarted, Listener
from tidepool.engine.library.contents import with_library
from tidepool.engine.results.summary import summarise
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.trust import refuse_strange_servers
from tidepool.engine.trust_record import trust_record
from tidepool.storage import batches, locks
from tidepool.storage.file import connect, prepare, reading, settle
from tidepool.storage.ledger import Ledger
from tidepool.storage.writer import Writer

DRAIN_SECONDS = 10.0
MODEL_KEYS = {"encoder", "judge", "model", "models", "mutator", "target"}
"""where a study names models"""


async def run_batch(
    study: Config,
    database: str | Path = "tidepool.db",
    *,
    on_event: Listener | None = None,
    control: RunControl | None = None,
) -> dict[str, Any]:
    """Runs a study to its end and returns its summary. Bad input raises before anything is called or written."""
    path = Path(database)
    kind = load_kind(study.batch.kind)
    config = kind.freeze(with_library(study, path), Path.cwd())
    async with OpenAccounts(kind, config) as accounts:
        batch_id = await asyncio.to_thread(_written_down, path, config)
        accounts.name_batch(batch_id)
        return await _run(path, batch_id, config, accounts, on_event, control or RunControl(), resumed=False)


def enlist(study: Config, database: str | Path) -> str:
    """A new batch that waits: checked and written down, to be run by `resume_batch` in a process of its own."""
    path = Path(database)
    return _written_down(path, load_kind(study.batch.kind).freeze(with_library(study, path), Path.cwd()))


def _written_down(path: Path, config: Config) -> str:
    """What the user's own config asks for is trusted from then on, by its id and this very config."""
    prepare(path)
    text = frozen(config)
    batch_id = batches.create_batch(
        path,
        kind=config.batch.kind,
        name=config.batch.name,
        description=config.batch.description,
        seed=config.batch.seed,
        config=text,
        version=program_version(),
    )
    trust_record().vouch(batch_id, text)
    return batch_id


async def resume_batch(
    reference: str,
    database: str | Path = "tidepool.db",
    *,
    overrides: Iterable[str] = (),
    on_event: Listener | None = None,
    control: RunControl | None = None,
    trust: bool = False,
) -> dict[str, Any]:
    """Goes on with a batch that stopped, and retries failed units; buys nothing twice.

    Servers that only the file names are refused before anything is sent, unless `trust` says that they are known.
    """
    path = Path(database)
    with reading(path) as connection:
        batch = batches.find_batch(connection, reference)
    changes = tuple(overrides)
    config = _with_overrides(load_frozen(batch["config"]), changes)
    if batch["status"] == "completed":
        raise NotFound(f"Batch {batch['id']} is completed: there is nothing to resume.")
    kind = load_kind(config.batch.kind)
    vouched = refuse_strange_servers(batch["id"], batch["config"], config, kind.models(config), changes, trusted=trust)
    async with OpenAccounts(kind, config) as accounts:
        accounts.name_batch(batch["id"])
        return await _run(
            path,
            batch["id"],
            config,
            accounts,
            on_event,
            control or RunControl(),
            resumed=True,
            rewrite=_Rewrite(changes, batch["config"], vouched) if changes else None,
        )


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """What `--set` does to the frozen config of a batch that goes on."""

    changes: Sequence[str]
    before: str
    vouched: bool
    """the batch is the user's own, and stays it"""

    def write(self, path: Path, batch_id: str, config: Config) -> None:
        after = frozen(config)
        batches.rewrite_config(path, batch_id, after, self.changes)
        if self.vouched:
            trust_record().renew(batch_id, self.before, after)


def config_to_resume(reference: str, database: str | Path, overrides: Iterable[str] = ()) -> Config:
    with reading(Path(database)) as connection:
        batch = batches.find_batch(connection, reference)
    return _with_overrides(load_frozen(batch["config"]), overrides)


def program_version() -> str:
    try:
        return version("tidepool-lab")
    except PackageNotFoundError:
        return "unknown"


def frozen(config: Config) -> str:
    """As the file keeps it: a preset may stand for another model one day, a batch goes on with its own."""
    data = config.as_written()
    section = data.get(config.batch.kind, {})
    judge = section.get("judge")
    for place in (section, *data.get("agents", ()), *([judge] if isinstance(judge, dict) else ())):
        for key in MODEL_KEYS & place.keys():
            place[key] = full_names(place[key])
    return json.dumps(data, ensure_ascii=False)


def _with_overrides(config: Config, overrides: Iterable[str]) -> Config:
    """`--set` on resume: what is asked is frozen, only how it is asked may change."""
    data = config.as_written()
    for override in overrides:
        if not override.startswith(("service.", "providers.")):
            raise UsageError(
                f"--set {override}: with --resume only service.* and providers.* may change, the study may not."
            )
        apply_override(data, override)
    return config_from(data, source="--set")


async def _run(
    path: Path,
    batch_id: str,
    config: Config,
    accounts: OpenAccounts,
    on_event: Listener | None,
    control: RunControl,
    *,
    resumed: bool,
    rewrite: _Rewrite | None = None,
) -> dict[str, Any]:
    with locks.holding(path, batch_id), CalmGarbageCollector():
        await asyncio.to_thread(_begin, path, batch_id, simulated=accounts.simulated, resumed=resumed)
        if rewrite:
            await asyncio.to_thread(rewrite.write, path, batch_id, config)
        stop, reason = await _stopped_or_done(path, batch_id, config, accounts, on_event, control, resumed=resumed)
        status, reason = await asyncio.to_thread(_end, path, batch_id, stop, reason)
        if on_event:
            on_event(BatchEnded(status, reason))
    await asyncio.to_thread(settle, path)
    if stop is not None and stop.fault is not None:
        raise stop.fault
    if stop is not None and stop.reason == "cancelled":
        raise asyncio.CancelledError
    return summarise(path, batch_id)


async def _stopped_or_done(
    path: Path,
    batch_id: str,
    config: Config,
    accounts: OpenAccounts,
    on_event: Listener | None,
    control: RunControl,
    *,
    resumed: bool,
) -> tuple[Stop | None, str | None]:
    """Plays the batch; returns what stopped it, if anything did, and the study's own reason for its end."""
    stop: Stop | None
    try:
        writer = Writer(path)
        await writer.open()
        reader = connect(path)
        try:
            session = _Session(path, batch_id, config, accounts, writer, reader, control, on_event)
            stop = await session.play(resumed)
        finally:
            lost = await _closed(writer)
            reader.close()
    except asyncio.CancelledError:
        return Stop("cancelled"), None
    except TidepoolError as fault:
        return Stop("fault", fault=fault), None
    if lost is not None and stop is None:
        stop = Stop("fault", fault=lost)
    return stop, session.run.reason


async def _closed(writer: Writer) -> FileError | None:
    """Writes what is queued and lets go of the file; what could not be written is told."""
    try:
        await writer.close()
    except FileError as error:
        return error
    return None


class _Session:
    """One process's turn at a batch."""

    def __init__(
        self,
        path: Path,
        batch_id: str,
        config: Config,
        accounts: OpenAccounts,
        writer: Writer,
        reader: Any,
        control: RunControl,
        on_event: Listener | None,
    ) -> None:
        batch = batches.find_batch(reader, batch_id)
        progress = batches.progress_of(reader, batch["number"])
        self.config = config
        self.ledger = Ledger(writer, reader, batch["number"])
        self.ledger.open_cache(config.batch.seed, config.batch.kind)
        budget = self._budgets(batches.money_by_provider(reader, batch["number"]), progress["cost_usd"], accounts)
        self.run = BatchRun(config, batch_id, self.ledger, accounts.by_provider, budget)
        self.run.listener = on_event
        self.control = control
        self._earlier_seconds = progress["seconds"]
        writer.on_failure = self.run.fail

    def _budgets(self, money: dict[str, batches.Money], spent: float, accounts: OpenAccounts) -> Budget:
        """The batch's budget; each account gets its own part of it."""
        whole = Budget(self.config.service.budget_usd, spent, sum(part.reserved for part in money.values()))
        for name, account in accounts.by_provider.items():
            part = money.get(name, batches.Money())
            account.budget = Budget(self.config.budget_of(name), part.spent, part.reserved, whole=whole)
        for budget in (whole, *(account.budget for account in accounts.by_provider.values())):
            budget.on_exhausted = lambda: self.control.stop(Stop("budget"))
        return whole

    async def play(self, resumed: bool) -> Stop | None:
        """The study to its end (None), or to what stopped it."""
        run = self.run
        run.emit(BatchStarted(run.batch_id, self.config.batch.kind, self.config.batch.name, resumed))
        run.log("info", "Resumed." if resumed else "Started.")
        for account in run.accounts.values():
            account.provider.notices.listen(partial(run.log, "warning"))
        if resumed:
            run.take_up()
            run.scheduler.take_up()
        watch = asyncio.create_task(self.control.watch(run, self._earlier_seconds))
        watch.add_done_callback(self._watch_ended)
        main = run.tasks.spawn(load_kind(self.config.batch.kind).play(run), run.tasks.ending(self._ended))
        stopped = asyncio.ensure_future(self.control.stopped())
        try:
            ends: list[asyncio.Future[Any]] = [main, stopped, run.fault]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return await self._close(main, stopped)
        except asyncio.CancelledError:
            await self._halt(cancel_orders=False)
            return Stop("cancelled")
        finally:
            watch.cancel()
            stopped.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            self.control.beat(run, self._earlier_seconds)

    def _ended(self, main: "asyncio.Task[None]") -> None:
        self.run.finished = True

    def _watch_ended(self, watch: "asyncio.Task[None]") -> None:
        """A run that nobody can steer, and that shows no heartbeat, must not go on."""
        if not watch.cancelled() and (error := watch.exception()):
            self.run.fail(error)

    async def _close(self, main: "asyncio.Task[None]", stopped: "asyncio.Future[Stop]") -> Stop | None:
        if self.run.fault.done():
            fault = self.run.fault.result()
            if not isinstance(fault, FileError):
                await self._drain()
            await self._halt(cancel_orders=False)
            return Stop("fault", fault=fault)
        if main.done():
            if error := main.exception():
                fault = error if isinstance(error, TidepoolError) else RunError(f"{type(error).__name__}: {error}")
                fault.__cause__ = error if fault is not error else fault.__cause__
                await self._drain()
                await self._halt(cancel_orders=False)
                return Stop("fault", fault=fault)
            await self.run.scheduler.finish()
            return None
        stop = stopped.result()
        self.run.log("info", f"Stopping: {stop.reason}.")
        await self._drain()
        await self._halt(cancel_orders=stop.cancel_orders)
        return stop

    async def _drain(self) -> None:
        """No new calls; those at a provider may finish, for a while."""
        self.run.closing = True
        limiters = [account.limiter for account in self.run.accounts.values()]
        for limiter in limiters:
            limiter.pause(True)
        deadline = asyncio.get_running_loop().time() + DRAIN_SECONDS
        while any(limiter.in_flight for limiter in limiters) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        with suppress(TidepoolError):
            await self.ledger.writer.committed()

    async def _halt(self, *, cancel_orders: bool) -> None:
        self.run.closing = True
        await self.run.scheduler.stop(cancel=cancel_orders)
        await self.run.tasks.cancel()


def _begin(path: Path, batch_id: str, *, simulated: bool, resumed: bool) -> None:
    """Short writes like this one go beside the loop: another batch of the same loop may be in the middle of its own."""
    if resumed:
        batches.reopen_failures(path, batch_id)
    batches.begin(path, batch_id, simulated=simulated)


def _end(path: Path, batch_id: str, stop: Stop | None, reason: str | None) -> tuple[str, str | None]:
    status, reason = _verdict(path, batch_id, stop, reason)
    batches.end(path, batch_id, status=status, reason=reason)
    return status, reason


def _verdict(path: Path, batch_id: str, stop: Stop | None, reason: str | None) -> tuple[str, str | None]:
    with reading(path) as connection:
        progress = batches.progress_of(connection, batches.find_batch(connection, batch_id)["number"])
    if stop is not None:
        if stop.fault is not None:
            return ("interrupted" if progress["calls"] else "failed"), str(stop.fault)
        return "interrupted", stop.reason
    if not progress["units_failed"]:
        return "completed", reason
    return ("partial" if progress["units_completed"] else "failed"), reason
