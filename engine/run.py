"""Creates, runs and resumes batches."""

import asyncio
import shlex
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tidepool.engine.branching.kind import branching, kind_to_run
from tidepool.engine.branching.making import NewBranch
from tidepool.engine.config.freezing import freeze, load_frozen, with_overrides
from tidepool.engine.config.loading import cluster_for
from tidepool.engine.config.sections import Config, FrozenConfig, Study
from tidepool.engine.errors import NotFound
from tidepool.engine.events import BatchEnded, Listener, ServersNamed
from tidepool.engine.registries import program_version
from tidepool.engine.results.batch_summary import Summary
from tidepool.engine.results.summary import summarise
from tidepool.engine.runtime.accounts import OpenAccounts
from tidepool.engine.runtime.cluster_section import Cluster, split_cluster_overrides
from tidepool.engine.runtime.context import gc_tuned
from tidepool.engine.runtime.session import (
    Play,
    RunControl,
    RunningBatch,
    Session,
    SessionOutcome,
    SessionVerdict,
    verdict,
)
from tidepool.engine.stopping.rules import StopRule, rule_for
from tidepool.engine.studies.kinds import KindSpec, load_kind
from tidepool.engine.trust.gate import (
    Admission,
    admit,
    adopt,
    judge,
    mark_trusted,
    plannable,
    refuse_changed,
    rewrite_configs,
    servers_to_name,
)
from tidepool.engine.trust.record import trust_record
from tidepool.storage import batches, locks
from tidepool.storage.file import prepare, reading, settle, writing
from tidepool.storage.states import BatchStatus, StopCode


async def run_batch(
    study: Config | Study,
    database: str | Path = "tidepool.db",
    *,
    on_event: Listener | None = None,
    control: RunControl | None = None,
) -> Summary:
    """Runs a study to its end and returns its summary. Bad input raises before anything is called or written."""
    path = Path(database)
    folder, config = _folder_of(study), freeze(study, path)
    return await run_frozen(config, path, folder=folder, on_event=on_event, control=control, cluster=study.cluster)


async def run_frozen(
    config: FrozenConfig,
    path: Path,
    *,
    folder: Path | None = None,
    branch: NewBranch | None = None,
    on_event: Listener | None = None,
    control: RunControl | None = None,
    cluster: Cluster | None = None,
) -> Summary:
    """Runs a new batch of this config. `folder` holds the study's own code, if it has any; `branch` is what a branch continues
    from; `cluster` makes the live calls, if it is set."""
    kind = load_kind(config.batch.kind)
    if branch is not None:
        kind = branching(kind, branch.branch)
    plan, rule = kind.plan(config), None if branch is not None else stop_rule(kind, config)
    folder = await asyncio.to_thread(locate_user_code, folder, kind, config)
    servers = name_servers(kind, config, on_event)
    control = control or RunControl()
    async with OpenAccounts(kind.models(config), config, cluster_for(cluster), control.stopped) as accounts:
        batch_id = await asyncio.to_thread(_insert_batch, path, config, folder, branch)
        accounts.name_batch(batch_id)
        runs_code = bool(kind.code(config))
        running = RunningBatch(batch_id, config, plan, on_event, False, runs_code, servers, rule=rule)
        session = Session(path, batch_id, (running,), accounts, control)
        return await _run_one(Run(session), kind.play, path, running)


def create_batch(study: Config | Study, database: str | Path) -> str:
    """A new batch that waits: checked and written down, to be run by `resume_batch` in a process of its own."""
    path = Path(database)
    config = freeze(study, path)
    kind = load_kind(config.batch.kind)
    kind.plan(config)  # what no run would take is refused now
    return _insert_batch(path, config, locate_user_code(_folder_of(study), kind, config))


def create_branch(branch: NewBranch, path: Path) -> str:
    """The same for a branch."""
    branching(load_kind(branch.config.batch.kind), branch.branch).plan(branch.config)
    return _insert_batch(path, branch.config, branch=branch)


def _folder_of(study: Config | Study) -> Path | None:
    """Where its config was written."""
    return None if isinstance(study, Study) else study.origin.folder


def locate_user_code(folder: Path | None, kind: KindSpec, config: FrozenConfig) -> Path | None:
    """The folder in which the study's own code lies, where it has any and that can be run."""
    if not kind.code(config):
        return None
    kind.find_code(config, (folder or Path.cwd(), Path.cwd()))
    return folder or Path.cwd()


def relocate_user_code(kind: KindSpec, config: FrozenConfig, batch_id: str) -> None:
    """In the folder where it lay when the batch was created or trusted, and nowhere else: code imports what lies beside it."""
    if kind.code(config):
        kind.find_code(config, trust_record().folders_of(batch_id) or [Path.cwd()])


def _insert_batch(path: Path, config: FrozenConfig, folder: Path | None = None, branch: NewBranch | None = None) -> str:
    """What the user's own config asks for is trusted from then on, by its id and this very config; code that it runs is
    looked for in the same folder again."""
    prepare(path)
    new = new_batch(config)
    with writing(path) as connection:
        batch_id, _ = batches.insert_batch(
            connection,
            new,
            origin=branch.branch.origin.to_json() if branch else None,
            records=branch.branch.records() if branch else (),
        )
    mark_trusted(batch_id, new.config, branch.branch.origin.to_json() if branch else None)
    if folder is not None:
        trust_record().store_folder(batch_id, folder)
    return batch_id


def new_batch(config: FrozenConfig) -> batches.NewBatch:
    batch = config.batch
    return batches.NewBatch(batch.kind, batch.name, batch.description, batch.seed, config.to_json(), program_version())


async def resume_batch(
    reference: str,
    database: str | Path = "tidepool.db",
    *,
    overrides: Iterable[str] = (),
    on_event: Listener | None = None,
    control: RunControl | None = None,
    trust: bool = False,
) -> Summary:
    """Resumes a batch that stopped, and retries failed units; buys nothing twice.

    A batch that was not created here is refused before anything is sent or run, unless `trust` makes it the user's own.
    """
    path = Path(database)
    cluster, changes = split_cluster_overrides(overrides)
    with reading(path) as connection:
        batch = batches.find_batch(connection, reference)
        config = with_overrides(load_frozen(batch["config"]), changes)
        if batch["status"] == BatchStatus.COMPLETED:
            raise NotFound(f"Batch {batch['id']} is completed: there is nothing to resume.")
        kind = kind_to_run(batch, path)
        admission = admit(connection, batch, config, kind)
    allow([admission], path, trust)
    await asyncio.to_thread(relocate_user_code, kind, config, batch["id"])
    servers = name_servers(kind, config, on_event)
    control = control or RunControl()
    async with OpenAccounts(kind.models(config), config, cluster_for(cluster), control.stopped) as accounts:
        accounts.name_batch(batch["id"])
        plan = kind.plan(config)
        running = RunningBatch(
            batch["id"],
            config,
            plan,
            on_event,
            resumed=True,
            runs_code=bool(kind.code(config)),
            servers=servers,
            rule=stop_rule(kind, config),
        )
        session = Session(path, batch["id"], (running,), accounts, control)
        return await _run_one(Run(session, [admission], changes), kind.play, path, running)


def allow(admissions: Sequence[Admission], path: Path, trust: bool) -> None:
    """Before anything of these batches is sent or run: what needs trust is adopted, or refused."""
    for admission in admissions:
        if not trust:
            admission.refuse("" if path == Path("tidepool.db") else f"--db {shlex.quote(str(path))} ")
        elif admission.needs_trust:
            adopt(path, admission.batch_id, admission.frozen)


def rewrite_limits(path: Path, batch_ids: Sequence[str], changes: Sequence[str], note: str = "") -> None:
    """New limits become part of the configs: a resume reads them from there, where the trust record covers them, and never
    from the rows of `control`."""
    with reading(path) as connection:
        before = {batch_id: str(batches.find_batch(connection, batch_id)["config"]) for batch_id in batch_ids}
    after = {key: with_overrides(load_frozen(text), changes).to_json() for key, text in before.items()}
    rewrite_configs(path, {key: (before[key], after[key]) for key in batch_ids}, note)


def stop_rule(kind: KindSpec, config: FrozenConfig) -> StopRule | None:
    if config.stop is None or kind.stopping is None:
        return None
    return rule_for(config.stop, kind.stopping(config))


def name_servers(kind: KindSpec, config: FrozenConfig, listener: Listener | None) -> tuple[str, ...]:
    """Before anything is sent: where the config sends requests, and with which key, where that is not usual."""
    words = tuple(server.in_words for server in servers_to_name(config, kind.models(config)))
    if words and listener is not None:
        listener(ServersNamed(words))
    return words


def config_to_resume(reference: str, database: str | Path, overrides: Iterable[str] = ()) -> FrozenConfig:
    """The config that the batch would continue with, for a plan of it."""
    with reading(Path(database)) as connection:
        batch = batches.find_batch(connection, reference)
    return with_overrides(load_frozen(plannable(batch["id"], batch["config"])), overrides)


def refuse_untrusted(batch: sqlite3.Row) -> None:
    """Raises where the batch, as its file has it, could not continue without a question: for callers that cannot ask."""
    config = load_frozen(batch["config"])
    judge(batch["id"], batch["config"], config, load_kind(config.batch.kind)).refuse()


class Run:
    """The life of a run, of one batch or of the batches of a study: its lock, its beginning, its end and what stopped it."""

    def __init__(self, session: Session, admissions: Sequence[Admission] = (), changes: Sequence[str] = ()) -> None:
        """`admissions`: of each batch, where the run resumes them; `changes`: limits that they are resumed with."""
        self._session = replace(session, on_end=self._end_batch)
        self._admissions = admissions
        self._changes = changes
        self._outcomes: list[SessionOutcome] = []
        self.verdicts: dict[str, SessionVerdict] = {}
        """by batch, of those that were not completed before"""

    async def run_to_end(self, play: Play) -> None:
        session = self._session
        with locks.holding(session.path, session.run_id), gc_tuned():
            await asyncio.to_thread(self._begin)
            self._outcomes = await session.run(play)
            for running, outcome in zip(session.turns, self._outcomes, strict=True):
                if not running.ended and running.batch_id not in self.verdicts:
                    await self._end_batch(running, outcome)

    def _begin(self) -> None:
        """In a thread, as all short writes: another batch of the same loop may be in the middle of its own."""
        session = self._session
        running = [one for one in session.turns if not one.ended]
        for batch, admission in zip(session.turns, self._admissions, strict=False):
            if batch.resumed and not batch.ended:
                refuse_changed(session.path, batch.batch_id, admission.frozen)
        with writing(session.path) as connection:
            batches.discard_commands(connection, session.turns[0].batch_id)
        for batch in running:
            if batch.resumed:
                batches.reopen_failures(session.path, batch.batch_id)
            batches.begin(session.path, batch.batch_id, simulated=session.accounts.simulated(batch.providers))
        batch_ids = [batch.batch_id for batch in running]
        if self._changes:
            rewrite_limits(session.path, batch_ids, self._changes, f"Resumed with {', '.join(self._changes)}.")

        async def rewrite(changes: Sequence[str]) -> None:
            await asyncio.to_thread(rewrite_limits, session.path, batch_ids, changes)

        session.control.on_limits = rewrite

    async def _end_batch(self, running: RunningBatch, outcome: SessionOutcome) -> None:
        self.verdicts[running.batch_id] = await asyncio.to_thread(_end, self._session.path, running, outcome)

    def raise_fault(self) -> None:
        stops = [outcome.stop for outcome in self._outcomes if outcome.stop is not None]
        if fault := next((stop.fault for stop in stops if stop.fault is not None), None):
            raise fault
        if any(stop.code is StopCode.CANCELLED for stop in stops):
            raise asyncio.CancelledError


def _end(path: Path, running: RunningBatch, outcome: SessionOutcome) -> SessionVerdict:
    with reading(path) as connection:
        progress = batches.progress_of(connection, batches.find_batch(connection, running.batch_id)["number"])
    ended = verdict(
        outcome, calls=progress["calls"], completed=progress["units_completed"], failed=progress["units_failed"]
    )
    batches.end(path, running.batch_id, status=ended.status, reason=ended.reason, stop_code=ended.stop_code)
    return ended


async def _run_one(run: Run, play: Play, path: Path, running: RunningBatch) -> Summary:
    await run.run_to_end(play)
    ended = run.verdicts[running.batch_id]
    if running.listener:
        running.listener(BatchEnded(ended.status, ended.reason))
    try:
        run.raise_fault()
        return summarise(path, running.batch_id)
    finally:  # last of all: whoever still reads the file keeps it from becoming a plain one
        await asyncio.to_thread(settle, path)
