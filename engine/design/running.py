"""A study's life: its cells made together, run side by side in one process, and taken up again as one.

Each cell is a batch like any other; what they share is the session: budget, limits, waves, provider batches, one lock.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidepool.engine.config.freezing import load_frozen, with_overrides
from tidepool.engine.config.loading import cluster_for
from tidepool.engine.config.sections import Config, FrozenConfig, Providers, ProviderSettings, Study
from tidepool.engine.design.cells import (
    PlannedStudy,
    plan_study,
    refuse_too_many,
    rules_of,
)
from tidepool.engine.design.statistics import StudySummary, status_of, summarise_study
from tidepool.engine.errors import FileError, NotFound
from tidepool.engine.events import BatchEnded, BatchStarted, Event, Listener, Logged, UnitsExpected
from tidepool.engine.run import Run, allow, locate_user_code, name_servers, new_batch, relocate_user_code
from tidepool.engine.runtime.accounts import OpenAccounts
from tidepool.engine.runtime.cluster_section import Cluster, split_cluster_overrides
from tidepool.engine.runtime.session import RunControl, RunningBatch, Session
from tidepool.engine.studies.kinds import KindSpec, load_kind
from tidepool.engine.trust.foreign_keys import foreign_provider_keys
from tidepool.engine.trust.gate import Admission, admit, design_text, servers_of
from tidepool.engine.trust.record import trust_record
from tidepool.storage import studies
from tidepool.storage.file import prepare, reading, settle
from tidepool.storage.states import BatchStatus


async def run_study(
    study: Config | Study,
    database: str | Path = "tidepool.db",
    *,
    on_event: Listener | None = None,
    control: RunControl | None = None,
) -> StudySummary:
    """Runs a study with a [design] to its end: every cell and replicate, side by side, within one budget and one set of
    limits. Bad input raises before anything is called or written.
    """
    path = Path(database)
    config = study.as_config() if isinstance(study, Study) else study
    planned = plan_study(config, path)
    return await run_planned(planned, path, on_event=on_event, control=control, cluster=config.cluster)


async def run_planned(
    planned: PlannedStudy,
    path: Path,
    *,
    on_event: Listener | None = None,
    control: RunControl | None = None,
    cluster: Cluster | None = None,
) -> StudySummary:
    """A study whose cells are known: of a config, or of another file."""
    study_id = await asyncio.to_thread(_create_study, path, planned)
    if on_event:
        for words in planned.warnings:
            on_event(Logged("warning", words))
    return await _run_cells(study_id, path, (), on_event, control, fresh=True, cluster=cluster)


def create_study(config: Config, database: str | Path) -> str:
    """A new study that waits, to be run by `resume_study` in a process of its own."""
    path = Path(database)
    return _create_study(path, plan_study(config, path))


def _create_study(path: Path, planned: PlannedStudy) -> str:
    """Refuses what no run would take, then writes all cells at once."""
    refuse_too_many(planned.name, len(planned.cells))
    kind = load_kind(planned.config.batch.kind)
    folders = []
    for cell in planned.cells:
        kind.plan(cell.config)
        folders.append(locate_user_code(planned.folder, kind, cell.config))
    rules_of(kind, [(cell.config, cell.levels, cell.replicate) for cell in planned.cells])
    shared_config(kind, [cell.config for cell in planned.cells])
    new = [studies.NewCell(new_batch(cell.config), cell.replicate, cell.levels) for cell in planned.cells]
    prepare(path)
    study_id, batch_ids = studies.create_study(path, planned.name, planned.design, new)
    configs = {batch_id: cell.batch.config for batch_id, cell in zip(batch_ids, new, strict=True)}
    trust_record().mark_trusted({**configs, study_id: design_text(planned.design)})
    if folder := next(filter(None, folders), None):
        for batch_id in batch_ids:
            trust_record().store_folder(batch_id, folder)
    return study_id


@dataclass(frozen=True, slots=True)
class _JudgedCell:
    """A batch of the study, as it is judged."""

    cell: studies.StoredCell
    config: FrozenConfig
    admission: Admission

    @property
    def ended(self) -> bool:
        return bool(self.cell.batch["status"] == BatchStatus.COMPLETED)


async def resume_study(
    reference: str,
    database: str | Path = "tidepool.db",
    *,
    overrides: Iterable[str] = (),
    on_event: Listener | None = None,
    control: RunControl | None = None,
    trust: bool = False,
) -> StudySummary:
    """Goes on with all cells that are not completed, and retries failed units; buys nothing twice."""
    cluster, changes = split_cluster_overrides(overrides)
    return await _run_cells(reference, Path(database), changes, on_event, control, trust=trust, cluster=cluster)


async def _run_cells(
    reference: str,
    path: Path,
    changes: Sequence[str],
    on_event: Listener | None,
    control: RunControl | None,
    *,
    trust: bool = False,
    fresh: bool = False,
    cluster: Cluster | None = None,
) -> StudySummary:
    with reading(path) as connection:
        study = studies.find_study(connection, reference)
        cells = studies.cells_of(connection, study.id)
        refuse_too_many(study.id, len(cells))
        if all(cell.batch["status"] == BatchStatus.COMPLETED for cell in cells):
            raise NotFound(f"Study {study.id} is completed: there is nothing to resume.")
        judged = _judge_cells(connection, cells, changes)
    running = [item for item in judged if not item.ended]
    allow([item.admission for item in running], path, trust)
    kind = load_kind(cells[0].batch["kind"])
    for item in running:
        await asyncio.to_thread(relocate_user_code, kind, item.config, item.cell.batch["id"])
    models = set().union(*(kind.models(item.config) for item in running))
    shared = shared_config(kind, [item.config for item in running])
    units: dict[str, int] = {}
    if on_event:
        on_event(BatchStarted(study.id, kind.name, study.name, resumed=not fresh))
    servers = dict.fromkeys(line for item in running for line in name_servers(kind, item.config, None))
    rules = rules_of(kind, [(item.config, item.cell.levels, item.cell.replicate) for item in judged])
    control = control or RunControl()
    async with OpenAccounts(models, shared, cluster_for(cluster), control.stopped) as accounts:
        accounts.name_batch(study.id)
        turns = [
            RunningBatch(
                item.cell.batch["id"],
                item.config,
                kind.plan(item.config),
                _listener_for(item.cell.batch["id"], on_event, units),
                resumed=not fresh,
                runs_code=bool(kind.code(item.config)),
                servers=tuple(servers),
                ended=item.ended,
                rule=rule,
                cell=position if rule is not None and len(rule.cells) > 1 else 0,
            )
            for position, (item, rule) in enumerate(zip(judged, rules, strict=True))
        ]
        run = Run(Session(path, study.id, turns, accounts, control), [item.admission for item in judged], changes)
        await run.run_to_end(kind.play)
    if on_event:
        with reading(path) as connection:
            ended = [cell.batch for cell in studies.cells_of(connection, study.id)]
        status, reason = status_of(path, ended)
        on_event(BatchEnded(status, reason))
    try:
        run.raise_fault()
        return summarise_study(path, study.id)
    finally:
        await asyncio.to_thread(settle, path)


def _judge_cells(
    connection: sqlite3.Connection,
    cells: Sequence[studies.StoredCell],
    changes: Sequence[str],
) -> list[_JudgedCell]:
    """Each cell as it would continue. They run in one session with one set of accounts: so unless
    all that are not at their end are the user's own, each is judged by the servers and the code of all."""
    kind = load_kind(cells[0].batch["kind"])
    judged = []
    for cell in cells:
        config = with_overrides(load_frozen(cell.batch["config"]), changes)
        judged.append(_JudgedCell(cell, config, admit(connection, cell.batch, config, kind)))
    running = [item for item in judged if not item.ended]
    configs = [item.config for item in running]
    if not running or all(item.admission.own for item in running):
        return judged
    models = set().union(*(kind.models(config) for config in configs))
    servers = tuple(servers_of(shared_config(kind, configs), models))
    code = tuple(dict.fromkeys(words for config in configs for words in kind.code(config)))
    return [
        item if item.ended else replace(item, admission=replace(item.admission, own=False, servers=servers, code=code))
        for item in judged
    ]


def shared_config(kind: KindSpec, configs: Sequence[FrozenConfig]) -> FrozenConfig:
    """What the accounts of a study are opened by: the first config, with the section of each provider as those cells have it
    that use the provider. No design can vary them, so cells that differ in a server or a key were changed in the file."""
    sections: dict[str, ProviderSettings] = {}
    for config in configs:
        for name in {model.partition(":")[0] for model in kind.models(config)}:
            section = config.providers.section(name)
            if _places(name, sections.setdefault(name, section)) != _places(name, section):
                raise FileError(
                    f"The cells of this study name different servers or keys for {name}. Its file was changed."
                )
    first = configs[0].providers
    merged = {name: first.section(name) for name in first.model_fields_set} | sections
    providers = Providers.model_validate({name: keys.model_dump(exclude_unset=True) for name, keys in merged.items()})
    return configs[0].model_copy(update={"providers": providers})


def _places(name: str, section: ProviderSettings) -> dict[str, Any]:
    keys = section.model_dump(exclude_unset=True)
    return {str(key): keys[str(key)] for *_, key in foreign_provider_keys({"providers": {name: keys}})}


def _listener_for(batch_id: str, listener: Listener | None, units: dict[str, int]) -> Listener | None:
    """What is told of each batch becomes what is told of the study: one beginning, one end, one sum of `units`."""
    if listener is None:
        return None

    def listen(event: Event) -> None:
        if isinstance(event, UnitsExpected):
            units[batch_id] = event.total
            listener(UnitsExpected(sum(units.values())))
        elif not isinstance(event, BatchStarted | BatchEnded):
            listener(event)

    return listen
