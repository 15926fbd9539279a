"""Creates, runs and resumes studies. A run has one cell or several, new or stored, and all runs use the same code.

Each cell is a batch. A config without a [design] is a study of one cell, and has no row in `studies`. The cells of a run share a session:
accounts, budget, limits, waves, provider batches and one lock.
"""

import asyncio
import gc
import shlex
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tidepool.engine.branching.replay import BranchStudy, study_to_run
from tidepool.engine.config import ceilings
from tidepool.engine.config.cluster import Cluster, split_cluster_overrides
from tidepool.engine.config.freezing import freeze, load_frozen, with_overrides
from tidepool.engine.config.loading import cluster_for
from tidepool.engine.config.sections import Config, FrozenConfig, Providers, ProviderSettings
from tidepool.engine.config.sections import Study as StudyInCode
from tidepool.engine.design.cells import PlannedCell, PlannedStudy, plan_study
from tidepool.engine.design.statistics import StudySummary, status_of, summarise_study
from tidepool.engine.errors import FileError, NotFound, UsageError
from tidepool.engine.events import BatchEnded, BatchStarted, Event, Listener, Logged, ServersNamed, UnitsExpected
from tidepool.engine.gate import (
    Admission,
    TrustQuestion,
    admit,
    adopt,
    design_text,
    judge,
    judge_together,
    mark_trusted,
    plannable,
    question_for,
    refuse_changed,
    rewrite_configs,
    servers_to_name,
)
from tidepool.engine.registries import program_version
from tidepool.engine.results.batch_summary import Summary
from tidepool.engine.results.summary import headline_of, summarise
from tidepool.engine.runtime.accounts import OpenAccounts
from tidepool.engine.runtime.plans import Plan
from tidepool.engine.runtime.session import RunControl, RunningBatch, Session, SessionOutcome, verdict
from tidepool.engine.studies.study import Study, study_from
from tidepool.engine.trust.foreign_keys import foreign_provider_keys
from tidepool.engine.trust.record import trust_record
from tidepool.storage import batches, studies
from tidepool.storage.file import prepare, reading, settle, writing
from tidepool.storage.states import BatchStatus, StopCode

# -- new runs ----------------------------------------------------------------------------------------------------------


async def run_batch(
    study: Config | StudyInCode,
    database: str | Path = "tidepool.db",
    *,
    on_event: Listener | None = None,
    control: RunControl | None = None,
) -> Summary:
    """Runs a study to its end and returns its summary. Invalid input raises an error before anything is sent or written."""
    path = Path(database)
    planned = _single_cell(study, path)
    summary = await run_planned(planned, path, on_event=on_event, control=control, cluster=study.cluster)
    return cast(Summary, summary)


async def run_study(
    study: Config | StudyInCode,
    database: str | Path = "tidepool.db",
    *,
    on_event: Listener | None = None,
    control: RunControl | None = None,
) -> StudySummary:
    """Runs a study with a [design] to its end: every cell and replicate, side by side, within one budget and one set of
    limits. Invalid input raises an error before anything is sent or written.
    """
    path = Path(database)
    config = study.as_config() if isinstance(study, StudyInCode) else study
    planned = plan_study(config, path)
    summary = await run_planned(planned, path, on_event=on_event, control=control, cluster=config.cluster)
    return cast(StudySummary, summary)


async def run_planned(
    planned: PlannedStudy,
    path: Path,
    *,
    on_event: Listener | None = None,
    control: RunControl | None = None,
    cluster: Cluster | None = None,
) -> Summary | StudySummary:
    """Runs prepared cells: of a config, of another file, or a branch. `cluster` has the workers for live requests, if it is set."""
    cells = [RunningBatch(study) for study in _studies_of(planned)]
    folder = await asyncio.to_thread(_check, planned)
    if on_event:
        for words in planned.warnings:
            on_event(Logged("warning", words))
    run = _Run(path, planned.name, cells, on_event, control or RunControl(), bool(planned.design))
    return await run.to_end(lambda: _write(path, planned, folder), cluster)


def create_batch(study: Config | StudyInCode, database: str | Path) -> str:
    """Checks and stores a new pending batch, which `resume_batch` runs in another process."""
    path = Path(database)
    return create_planned(_single_cell(study, path), path)


def create_planned(planned: PlannedStudy, path: Path) -> str:
    """The same for prepared cells."""
    return _write(path, planned, _check(planned))[0]


def planned_branch(branch: BranchStudy) -> PlannedStudy:
    return PlannedStudy(branch.config.batch.name, {}, [PlannedCell({}, 1, branch.config)], None, branch=branch)


def _single_cell(study: Config | StudyInCode, path: Path) -> PlannedStudy:
    config = freeze(study, path)
    folder = None if isinstance(study, StudyInCode) else study.origin.folder
    return PlannedStudy(config.batch.name, {}, [PlannedCell({}, 1, config)], folder)


def refuse_too_many(study_id: str, cells: int) -> None:
    """All cells run side by side in one process. A larger study than any config can make comes from an untrusted file."""
    if cells > ceilings.CELLS:
        raise UsageError(f"Study {study_id} has {cells:,} batches. The maximum for a run is {ceilings.CELLS:,}.")


def _studies_of(planned: PlannedStudy) -> list[Study]:
    if planned.branch is not None:
        return [planned.branch]
    return [study_from(cell.config) for cell in planned.cells]


def _check(planned: PlannedStudy) -> Path | None:
    """Rejects studies that cannot run. Returns the folder of the study's own code, if it has code to run."""
    refuse_too_many(planned.name, len(planned.cells))
    studies_planned = _studies_of(planned)
    folder = None
    for study in studies_planned:
        if study.code():
            folder = planned.folder or Path.cwd()
            study.find_code((folder, Path.cwd()))
        study.plan()
        study.stop_rule()
    shared_config([cell.config for cell in planned.cells])
    return folder


def _write(path: Path, planned: PlannedStudy, folder: Path | None) -> tuple[str, list[str]]:
    """Writes all cells at once. Returns the id of the study or the only batch, and the ids of the batches. The user's own
    config is trusted from then on, by its id and exactly this config, and its code is found in the same folder again."""
    new = [_new_batch(cell.config) for cell in planned.cells]
    prepare(path)
    if planned.design:
        cells = [
            studies.NewCell(batch, cell.replicate, cell.levels) for batch, cell in zip(new, planned.cells, strict=True)
        ]
        run_id, batch_ids = studies.create_study(path, planned.name, planned.design, cells)
        configs = {batch_id: batch.config for batch_id, batch in zip(batch_ids, new, strict=True)}
        trust_record().mark_trusted({**configs, run_id: design_text(planned.design)})
    else:
        branch = planned.branch and planned.branch.branch
        origin = branch.origin.to_json() if branch else None
        with writing(path) as connection:
            records = branch.records() if branch else ()
            run_id, _ = batches.insert_batch(connection, new[0], origin=origin, records=records)
        mark_trusted(run_id, new[0].config, origin)
        batch_ids = [run_id]
    for batch_id in batch_ids if folder is not None else ():
        trust_record().store_folder(batch_id, cast(Path, folder))
    return run_id, batch_ids


def _new_batch(config: FrozenConfig) -> batches.NewBatch:
    batch = config.batch
    return batches.NewBatch(batch.kind, batch.name, batch.description, batch.seed, config.to_json(), program_version())


# -- resumed runs ------------------------------------------------------------------------------------------------------


async def resume_batch(
    reference: str,
    database: str | Path = "tidepool.db",
    *,
    overrides: Iterable[str] = (),
    on_event: Listener | None = None,
    control: RunControl | None = None,
    trust: bool = False,
) -> Summary:
    """Resumes a stopped batch, or all cells of its study that are not completed, and retries failed units. Buys nothing
    twice.

    A batch that was not created here is refused before anything is sent or run, unless `trust` makes it the user's own.
    """
    path = Path(database)
    cluster, changes = split_cluster_overrides(overrides)
    with reading(path) as connection:
        study_id, stored = _stored_cells(connection, reference)
        run_id, name = study_id or stored[0].batch["id"], stored[0].batch["name"]
        if study_id is not None:
            name = studies.find_study(connection, study_id).name
        if all(cell.batch["status"] == BatchStatus.COMPLETED for cell in stored):
            noun = "Batch" if study_id is None else "Study"
            raise NotFound(f"{noun} {run_id} is completed: there is nothing to resume.")
        cells, admissions = _judge_cells(connection, stored, changes)
    for admission in admissions:
        _allow(admission, path, trust)
    if stored[0].batch["origin"] is not None:
        with reading(path) as connection:
            cells[0].study = study_to_run(connection, stored[0].batch, cells[0].config)
    for cell in cells:
        if not cell.ended and cell.study.code():
            # Use the folder where the batch was created or trusted, since code imports files from there.
            folders = trust_record().folders_of(cell.batch_id) or [Path.cwd()]
            await asyncio.to_thread(cell.study.find_code, folders)
    ids = run_id, [cell.batch_id for cell in cells]
    run = _Run(path, name, cells, on_event, control or RunControl(), study_id is not None, changes, admissions)
    return cast(Summary, await run.to_end(lambda: ids, cluster))


resume_study = resume_batch


def _stored_cells(connection: sqlite3.Connection, reference: str) -> tuple[str | None, list[studies.StoredCell]]:
    """The study's id, None for a batch of its own, and the cells that run together."""
    study_id = studies.study_to_resume(connection, reference)
    if study_id is None:
        return None, [studies.StoredCell(batches.find_batch(connection, reference), {})]
    cells = studies.cells_of(connection, study_id)
    refuse_too_many(study_id, len(cells))
    return study_id, cells


def _judge_cells(
    connection: sqlite3.Connection, stored: Sequence[studies.StoredCell], changes: Sequence[str]
) -> tuple[list[RunningBatch], list[Admission]]:
    """Each cell as it would continue, and what the unfinished cells would do here."""
    cells, admissions = [], []
    for item in stored:
        batch, config = item.batch, with_overrides(load_frozen(item.batch["config"]), changes)
        study, ended = study_from(config), batch["status"] == BatchStatus.COMPLETED
        admission = admit(connection, batch, study)
        cells.append(RunningBatch(study, str(batch["id"]), resumed=True, ended=ended))
        if not ended:
            admissions.append(admission)
    running = [cell.study for cell in cells if not cell.ended]
    shared_config([study.config for study in running])  # raises an error if cells name different servers
    return cells, judge_together(admissions, running)


def _allow(admission: Admission, path: Path, trust: bool) -> None:
    """Before anything of this batch is sent or run: makes it the user's own, or refuses it, if it needs trust."""
    if not trust:
        admission.refuse("" if path == Path("tidepool.db") else f"--db {shlex.quote(str(path))} ")
    elif admission.needs_trust:
        adopt(path, admission.batch_id, admission.frozen)


def config_to_resume(reference: str, database: str | Path, overrides: Iterable[str] = ()) -> FrozenConfig:
    """The config that the batch would continue with, for a plan."""
    with reading(Path(database)) as connection:
        batch = batches.find_batch(connection, reference)
    return with_overrides(load_frozen(plannable(batch["id"], batch["config"])), overrides)


def refuse_untrusted(batch: sqlite3.Row) -> None:
    """Raises an error if the stored batch needs a question before it can continue. For callers that cannot ask."""
    config = load_frozen(batch["config"])
    judge(batch["id"], batch["config"], study_from(config)).refuse()


def question_about(
    path: Path, reference: str, changes: Iterable[str] = (), plan: Plan | None = None
) -> TrustQuestion | None:
    """None if no question is needed before a batch, or its study, continues with these `--set` changes, or before `plan` is
    made of it. The file's own claims are ignored: how much is answered already, and what a model costs."""
    with reading(path) as connection:
        references = [reference] if plan is not None else studies.batches_to_resume(connection, reference)
        rows = [batches.find_batch(connection, one) for one in references]
        if plan is None and all(row["status"] == BatchStatus.COMPLETED for row in rows):
            return None
        stored = [load_frozen(row["config"]) for row in rows]
        studied = [study_from(with_overrides(config, changes)) for config in stored]
        admissions = [admit(connection, row, study) for row, study in zip(rows, studied, strict=True)]
        jobs = [job for row in rows for job in batches.open_provider_batches(connection, row["number"])]
    # A yes trusts the stored configs, so servers that `--set` replaces this time are shown as well.
    admissions = judge_together(admissions, (*studied, *map(study_from, stored)))
    run_id, name = str(rows[0]["id"]), str(rows[0]["name"])

    def plan_of(place: int) -> Plan:
        with reading(path) as connection:
            return study_to_run(connection, rows[place], studied[place].config).plan()

    plans = [(lambda place=place: plan or plan_of(place), study.config) for place, study in enumerate(studied)]
    waiting = sum(job["provider"] != "simulated" for job in jobs)
    return question_for(run_id, name, admissions, plans, waiting)


# -- one run -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    """One run: its accounts, its lock, its start, its end and what stopped it."""

    path: Path
    name: str
    batches: Sequence[RunningBatch]
    listener: Listener | None
    control: RunControl
    is_study: bool
    """with a [design], and a row in `studies`"""
    changes: Sequence[str] = ()
    """changed limits for stored cells"""
    admissions: Sequence[Admission] = ()
    """of stored cells, with the judged configs"""
    ended: set[str] = field(default_factory=set)
    """batches whose end is in the file"""
    units: dict[str, int] = field(default_factory=dict)
    """expected units, by batch"""

    async def to_end(
        self, place: Callable[[], tuple[str, list[str]]], cluster: Cluster | None
    ) -> Summary | StudySummary:
        """`place` writes new batches and returns the id of the run and of its batches. Accounts are checked before."""
        configs = [batch.config for batch in self.batches if not batch.ended]
        models = set().union(*(config.models() for config in configs))
        servers = self._name_servers(configs)
        async with OpenAccounts(models, shared_config(configs), cluster_for(cluster), self.control.stopped) as accounts:
            run_id, batch_ids = await asyncio.to_thread(place)
            accounts.name_batch(run_id)
            for batch, batch_id in zip(self.batches, batch_ids, strict=True):
                batch.batch_id, batch.servers, batch.listener = batch_id, servers, self._listener_for(batch_id)
            session = Session(self.path, run_id, self.batches, accounts, self.control, self._end_batch)
            with batches.holding(self.path, run_id), gc_tuned():
                await asyncio.to_thread(self._begin, accounts)
                self._tell(BatchStarted(run_id, configs[0].batch.kind, self.name, self.batches[0].resumed))
                outcomes = await session.run()
                for batch, outcome in zip(self.batches, outcomes, strict=True):
                    if not batch.ended and batch.batch_id not in self.ended:
                        await self._end_batch(batch, outcome)
        with reading(self.path) as connection:
            rows = [batches.find_batch(connection, batch_id) for batch_id in batch_ids]
        only = BatchStatus(rows[0]["status"]), rows[0]["reason"]
        self._tell(BatchEnded(*(status_of(self.path, rows) if self.is_study else only)))
        try:
            _raise_fault(outcomes)
            return summarise_study(self.path, run_id) if self.is_study else summarise(self.path, run_id)
        finally:  # last, since any open reader prevents the file from becoming a plain one
            await asyncio.to_thread(settle, self.path)

    def _begin(self, accounts: OpenAccounts) -> None:
        """Runs in a thread, like all short writes, since another batch of the same loop may be in the middle of a write."""
        running = [batch for batch in self.batches if not batch.ended]
        for admission in self.admissions:
            refuse_changed(self.path, admission.batch_id, admission.frozen)
        with writing(self.path) as connection:
            batches.discard_commands(connection, self.batches[0].batch_id)
        for batch in running:
            if batch.resumed:
                batches.reopen_failures(self.path, batch.batch_id)
            batches.begin(self.path, batch.batch_id, simulated=accounts.simulated(batch.providers))
        batch_ids = [batch.batch_id for batch in running]
        if self.changes:
            _rewrite_limits(self.path, batch_ids, self.changes, f"Resumed with {', '.join(self.changes)}.")

        async def rewrite(changes: Sequence[str]) -> None:
            await asyncio.to_thread(_rewrite_limits, self.path, batch_ids, changes)

        self.control.on_limits = rewrite

    async def _end_batch(self, batch: RunningBatch, outcome: SessionOutcome) -> None:
        await asyncio.to_thread(_end, self.path, batch.batch_id, outcome)
        self.ended.add(batch.batch_id)

    def _name_servers(self, configs: Sequence[FrozenConfig]) -> tuple[str, ...]:
        """Before any request: reports servers and keys of the configs that are not the usual ones."""
        servers = (server for config in configs for server in servers_to_name(config, config.models()))
        words = tuple(dict.fromkeys(server.in_words for server in servers))
        if words:
            self._tell(ServersNamed(words))
        return words

    def _tell(self, event: Event) -> None:
        if self.listener is not None:
            self.listener(event)

    def _listener_for(self, batch_id: str) -> Listener | None:
        """A listener for one batch that reports to the run's listener, with one total of units."""
        if self.listener is None or len(self.batches) == 1:
            return self.listener

        def listen(event: Event) -> None:
            if isinstance(event, UnitsExpected):
                self.units[batch_id] = event.total
                event = UnitsExpected(sum(self.units.values()))
            self._tell(event)

        return listen


def _end(path: Path, batch_id: str, outcome: SessionOutcome) -> None:
    with reading(path) as connection:
        batch = batches.find_batch(connection, batch_id)
        progress = batches.progress_of(connection, batch["number"])
        headline = headline_of(connection, batch)
    status, reason, stop_code = verdict(
        outcome, calls=progress["calls"], completed=progress["units_completed"], failed=progress["units_failed"]
    )
    batches.end(path, batch_id, status=status, reason=reason, stop_code=stop_code, headline=headline)


def _raise_fault(outcomes: Sequence[SessionOutcome]) -> None:
    stops = [outcome.stop for outcome in outcomes if outcome.stop is not None]
    if fault := next((stop.fault for stop in stops if stop.fault is not None), None):
        raise fault
    if any(stop.code is StopCode.CANCELLED for stop in stops):
        raise asyncio.CancelledError


def _rewrite_limits(path: Path, batch_ids: Sequence[str], changes: Sequence[str], note: str = "") -> None:
    """Stores new limits in the configs, which the trust record covers. A resume reads them from there, and never from the
    rows of `control`."""
    with reading(path) as connection:
        before = {batch_id: str(batches.find_batch(connection, batch_id)["config"]) for batch_id in batch_ids}
    after = {key: with_overrides(load_frozen(text), changes).to_json() for key, text in before.items()}
    rewrite_configs(path, {key: (before[key], after[key]) for key in batch_ids}, note)


def shared_config(configs: Sequence[FrozenConfig]) -> FrozenConfig:
    """The config for opening the accounts of a run: the first config, with the provider sections of the cells that use them. A
    design cannot vary these, so cells with different servers or keys were changed in the file."""
    if len(configs) == 1:
        return configs[0]
    sections: dict[str, ProviderSettings] = {}
    for config in configs:
        for name in {model.partition(":")[0] for model in config.models()}:
            section = config.providers.section(name)
            if _places(name, sections.setdefault(name, section)) != _places(name, section):
                raise FileError(
                    f"The cells of this study name different servers or keys for {name}. The study file was changed."
                )
    first = configs[0].providers
    merged = {name: first.section(name) for name in first.model_fields_set} | sections
    providers = Providers.model_validate({name: keys.model_dump(exclude_unset=True) for name, keys in merged.items()})
    return configs[0].model_copy(update={"providers": providers})


def _places(name: str, section: ProviderSettings) -> dict[str, Any]:
    keys = section.model_dump(exclude_unset=True)
    return {str(key): keys[str(key)] for *_, key in foreign_provider_keys({"providers": {name: keys}})}


_usual_thresholds: list[tuple[int, int, int]] = []
"""of the runs in progress; the last one that ends restores the first value"""


@contextmanager
def gc_tuned() -> Iterator[None]:
    """Tunes the garbage collector: scanning a hundred thousand live conversations repeatedly would cost a third of the time.

    Objects that exist before the run are frozen without a collection, which would cost a small study more than the study.
    """
    _usual_thresholds.append(gc.get_threshold())
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*_usual_thresholds.pop())
        if not _usual_thresholds:
            gc.unfreeze()
