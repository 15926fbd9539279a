"""A batch's life: made, begun, played, ended; or stopped, and taken up again."""

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.branching.kind import branching, kind_to_run
from tidepool.engine.branching.making import NewBranch
from tidepool.engine.cluster.section import Cluster, said_in
from tidepool.engine.config.freezing import freeze, load_frozen, with_overrides
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.sections import Config
from tidepool.engine.config.study import Study
from tidepool.engine.config.user_endpoints import hands_of
from tidepool.engine.core.gc_tuning import CalmGarbageCollector
from tidepool.engine.core.open_accounts import OpenAccounts
from tidepool.engine.core.run_control import RunControl
from tidepool.engine.core.session import Play, Session, SessionOutcome, SessionVerdict, Turn, verdict
from tidepool.engine.errors import NotFound
from tidepool.engine.events import BatchEnded, Listener, ServersNamed
from tidepool.engine.results.batch_summary import Summary
from tidepool.engine.results.summary import summarise
from tidepool.engine.stopping.stop_rule import StopRule, rule_for
from tidepool.engine.studies.kinds import KindSpec, load_kind
from tidepool.engine.trust.adoption import refuse_changed, take_over
from tidepool.engine.trust.record import trust_record
from tidepool.engine.trust.servers import TrustVerdict, judged, servers_to_tell, without_words_to_packages
from tidepool.engine.version import program_version
from tidepool.storage import batches, locks
from tidepool.storage.control import limits_said
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
    play: Play | None = None,
    folder: Path | None = None,
    branch: NewBranch | None = None,
    on_event: Listener | None = None,
    control: RunControl | None = None,
    cluster: Cluster | None = None,
) -> Summary:
    """`play` leads the study in place of its kind; in `folder` lies code of its own, if there is any; `branch` is what the
    config goes on from, where it is a branch's; `cluster` who makes the live calls, if this was said."""
    kind = load_kind(config.batch.kind)
    if branch is not None:
        kind = branching(kind, branch.branch)
    plan, rule = kind.plan(config), None if branch is not None else stop_rule(kind, config)
    folder = await asyncio.to_thread(found_code, folder, kind, config)
    servers = name_servers(kind, config, on_event)
    control = control or RunControl()
    async with OpenAccounts(kind.models(config), config, hands_of(cluster), control.stopped) as accounts:
        batch_id = await asyncio.to_thread(_written_down, path, config, folder, branch)
        accounts.name_batch(batch_id)
        turn = Turn(batch_id, config, plan, on_event, resumed=False, servers=servers, rule=rule)
        return await _run(Session(path, batch_id, (turn,), accounts, control), play or kind.play)


def enlist(study: Config | Study, database: str | Path) -> str:
    """A new batch that waits: checked and written down, to be run by `resume_batch` in a process of its own."""
    path = Path(database)
    config = freeze(study, path)
    kind = load_kind(config.batch.kind)
    kind.plan(config)  # what no run would take is refused now
    return _written_down(path, config, found_code(_folder_of(study), kind, config))


def enlist_branch(branch: NewBranch, path: Path) -> str:
    """The same for a branch."""
    branching(load_kind(branch.config.batch.kind), branch.branch).plan(branch.config)
    return _written_down(path, branch.config, branch=branch)


def _folder_of(study: Config | Study) -> Path | None:
    """Where its config was written."""
    return None if isinstance(study, Study) else study.origin.folder


def found_code(folder: Path | None, kind: KindSpec, config: FrozenConfig) -> Path | None:
    """The folder in which the study's own code lies, where it has any and that can be run."""
    if not kind.code(config):
        return None
    kind.find_code(config, (folder or Path.cwd(), Path.cwd()))
    return folder or Path.cwd()


def find_code_again(kind: KindSpec, config: FrozenConfig, batch_id: str, path: Path) -> None:
    """Where it lay, where one stands, or beside the study file."""
    if kind.code(config):
        kind.find_code(config, (*trust_record().folders_of(batch_id), Path.cwd(), path.absolute().parent))


def _written_down(path: Path, config: FrozenConfig, folder: Path | None = None, branch: NewBranch | None = None) -> str:
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
    if branch is None or branch.own:
        vouch(batch_id, new.config, folder)
    return batch_id


def new_batch(config: FrozenConfig) -> batches.NewBatch:
    about = config.batch
    return batches.NewBatch(about.kind, about.name, about.description, about.seed, config.to_json(), program_version())


def vouch(batch_id: str, config: str, folder: Path | None) -> None:
    """A batch that was made here is the user's own."""
    trust_record().vouch(batch_id, config)
    if folder is not None:
        trust_record().keep_folder(batch_id, folder)


async def resume_batch(
    reference: str,
    database: str | Path = "tidepool.db",
    *,
    overrides: Iterable[str] = (),
    on_event: Listener | None = None,
    control: RunControl | None = None,
    trust: bool | str = False,
) -> Summary:
    """Goes on with a batch that stopped, and retries failed units; buys nothing twice.

    Servers that only the file names are refused before anything is sent, unless `trust` says that they are known: those
    of whatever config the file has, or of the one with this hash alone.
    """
    return await resume_led(
        reference, Path(database), overrides=overrides, on_event=on_event, control=control, trust=trust
    )


async def resume_led(
    reference: str,
    path: Path,
    *,
    play: Play | None = None,
    overrides: Iterable[str] = (),
    on_event: Listener | None = None,
    control: RunControl | None = None,
    trust: bool | str = False,
) -> Summary:
    """`play` leads the study in place of its kind."""
    with reading(path) as connection:
        batch = batches.find_batch(connection, reference)
        limits = changed_limits(connection, batch)
    cluster, changes = said_in((*limits, *overrides))
    config = with_overrides(load_frozen(batch["config"]), changes)
    if batch["status"] == BatchStatus.COMPLETED:
        raise NotFound(f"Batch {batch['id']} is completed: there is nothing to resume.")
    kind = kind_to_run(batch, path)
    verdict = judged(batch["id"], batch["config"], config, kind.models(config), changes, kind.code(config))
    verdict.refuse(trust)
    await asyncio.to_thread(find_code_again, kind, config, batch["id"], path)
    servers = name_servers(kind, config, on_event)
    control = control or RunControl()
    async with OpenAccounts(kind.models(config), config, hands_of(cluster), control.stopped) as accounts:
        accounts.name_batch(batch["id"])
        plan = kind.plan(config)
        turn = Turn(
            batch["id"],
            config,
            plan,
            on_event,
            resumed=True,
            own=verdict.own,
            servers=servers,
            rule=stop_rule(kind, config),
        )
        session = Session(path, batch["id"], (turn,), accounts, control)
        return await _run(session, play or kind.play, Resumption(verdict, changes))


def changed_limits(connection: sqlite3.Connection, batch: sqlite3.Row) -> tuple[str, ...]:
    """The limits that were changed while it ran, as `--set` would say them; a stranger's file has no say in it."""
    if not trust_record().knows(batch["id"], batch["config"]):
        return ()
    said = {key.removeprefix("service."): value for key, value in limits_said(connection, batch["number"]).items()}
    return tuple(
        f"{key if key.startswith('providers.') else f'service.{key}'}={json.dumps(value)}"
        for key, value in said.items()
    )


@dataclass(frozen=True, slots=True)
class Resumption:
    """A batch that goes on as it was judged, and what `--set` does to its frozen config."""

    verdict: TrustVerdict
    changes: Sequence[str]

    def look_again(self, path: Path) -> None:
        refuse_changed(path, self.verdict.batch_id, self.verdict.frozen)

    def rewrite(self, path: Path, config: FrozenConfig) -> None:
        if not self.changes:
            return
        batch_id, before, after = self.verdict.batch_id, self.verdict.frozen, config.to_json()
        if not self.verdict.own:
            batches.rewrite_config(path, batch_id, after, self.changes)
            return
        if self.verdict.said:
            take_over(path)
        with trust_record().renewing(batch_id, before, after):
            batches.rewrite_config(path, batch_id, after, self.changes)


def stop_rule(kind: KindSpec, config: FrozenConfig) -> StopRule | None:
    if config.stop is None or kind.stopping is None:
        return None
    return rule_for(config.stop, kind.stopping(config))


def name_servers(kind: KindSpec, config: FrozenConfig, listener: Listener | None) -> tuple[str, ...]:
    """Before anything is sent: where the config has calls go, and with which key, where that is not usual."""
    words = tuple(one.in_words for one in servers_to_tell(config, kind.models(config)))
    if words and listener is not None:
        listener(ServersNamed(words))
    return words


def config_to_resume(reference: str, database: str | Path, overrides: Iterable[str] = ()) -> FrozenConfig:
    """The config that the batch would go on with, for a plan of it: what a stranger's file tells an installed package is
    left out, since nobody knows what a package does with it even before it is asked anything."""
    with reading(Path(database)) as connection:
        batch = batches.find_batch(connection, reference)
        limits = changed_limits(connection, batch)
    stored = without_words_to_packages(batch["id"], batch["config"])
    return with_overrides(load_frozen(stored), (*limits, *overrides))


def refuse_strangers(batch: sqlite3.Row) -> None:
    """Raises where the batch, as its file has it, could not go on without a word of the user: for who cannot ask."""
    config = load_frozen(batch["config"])
    kind = load_kind(config.batch.kind)
    judged(batch["id"], batch["config"], config, kind.models(config), code=kind.code(config)).refuse(trust=False)


async def _run(session: Session, play: Play, resumption: Resumption | None = None) -> Summary:
    path, (turn,) = session.path, session.turns
    with locks.holding(path, turn.batch_id), CalmGarbageCollector():
        if resumption:
            await asyncio.to_thread(resumption.look_again, path)
        await asyncio.to_thread(begin, session, turn)
        if resumption:
            await asyncio.to_thread(resumption.rewrite, path, turn.config)
        (outcome,) = await session.taken(play)
        ended = await asyncio.to_thread(end, session, turn, outcome)
        if turn.listener:
            turn.listener(BatchEnded(ended.status, ended.reason))
    try:
        if outcome.stop is not None and outcome.stop.fault is not None:
            raise outcome.stop.fault
        if ended.stop_code is StopCode.CANCELLED:
            raise asyncio.CancelledError
        return summarise(path, turn.batch_id)
    finally:  # last of all: whoever still reads the file keeps it from becoming a plain one
        await asyncio.to_thread(settle, path)


def begin(session: Session, turn: Turn) -> None:
    """Short writes like this one go beside the loop: another batch of the same loop may be in the middle of its own."""
    if turn.resumed:
        batches.reopen_failures(session.path, turn.batch_id)
    batches.begin(session.path, turn.batch_id, simulated=session.accounts.simulated)


def end(session: Session, turn: Turn, outcome: SessionOutcome) -> SessionVerdict:
    path = session.path
    with reading(path) as connection:
        progress = batches.progress_of(connection, batches.find_batch(connection, turn.batch_id)["number"])
    ended = verdict(
        outcome, calls=progress["calls"], completed=progress["units_completed"], failed=progress["units_failed"]
    )
    batches.end(path, turn.batch_id, status=ended.status, reason=ended.reason, stop_code=ended.stop_code)
    return ended
