"""Uses another study file: `tidepool import` merges it, and `tidepool run FILE.db#BATCH` runs a batch or study of it again.

The file may be untrusted. An imported batch is read and resumed like any other, but never serves as cache, and loses the addresses of
servers unless the trust record knows it. A rerun uses only configs, which are complete. It passes the same gate as a resume before anything
is sent or run, and becomes a new batch of the user's own.
"""

import dataclasses
import json
import shlex
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidepool.engine.config.entity_types import entity_type_from
from tidepool.engine.config.freezing import freeze, load_frozen
from tidepool.engine.config.library import agent_of, entity_of
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.config.toml_files import apply_override
from tidepool.engine.design.cells import PlannedCell, PlannedStudy
from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.exports.toml import refuse_branch
from tidepool.engine.gate import (
    Admission,
    TrustQuestion,
    design_text,
    judge,
    judge_together,
    plannable,
    question_for,
    shown,
)
from tidepool.engine.kinds import load_kind
from tidepool.engine.studies.study import study_from
from tidepool.engine.trust.foreign_keys import foreign_provider_keys, without_foreign
from tidepool.engine.trust.record import trust_record
from tidepool.storage import library, studies
from tidepool.storage.batches import all_batches, find_batch
from tidepool.storage.file import connect, explained
from tidepool.storage.transfer.study_files import Imported, foreign_file, merge


@dataclass(frozen=True, slots=True)
class StudyInFile:
    file: Path
    reference: str
    """an id, a unique prefix of one, `last` or `last~1`"""


def study_in_file(text: str) -> StudyInFile | None:
    """The study of `FILE.db#BATCH`; None if it is the path of a config, which may contain a # too."""
    file, sign, reference = text.rpartition("#")
    if not sign or Path(text).exists():
        return None
    if not file or not reference:
        raise UsageError(f"{text!r} is not FILE.db#BATCH. Write a study file, then #, then an id or `last`.")
    return StudyInFile(Path(file), reference)


def import_file(database: Path, other: Path) -> Imported:
    with foreign_file(other) as path:
        with closing(connect(path, read_only=True)) as connection:
            configs = {str(batch["id"]): _config_to_store(other, batch) for batch in all_batches(connection)}
        _check_library(other, path)
        imported = merge(database, path, {batch_id: config for batch_id, (config, _) in configs.items()})
    return dataclasses.replace(imported, left_out={one: lost for one in imported.batches if (lost := configs[one][1])})


def _config_to_store(other: Path, batch: sqlite3.Row) -> tuple[str, list[str]]:
    """The config to store here, and the keys that it loses."""
    try:
        config = load_frozen(batch["config"])
    except UsageError as error:
        raise FileError(f"{other}: the config of batch {batch['id']} cannot be used: {error}") from None
    if config.batch.kind != batch["kind"]:
        raise FileError(
            f"{other}: batch {batch['id']} is stored as another kind of study than its config says, so it is not imported."
        )
    if trust_record().knows(batch["id"], batch["config"]):
        return batch["config"], []
    data = json.loads(batch["config"])
    removed = list(foreign_provider_keys(data))
    stored = without_foreign(data, ((path, None) for path in removed))
    return json.dumps(stored, ensure_ascii=False), [shown(".".join(map(str, path))) for path in removed]


def _check_library(other: Path, path: Path) -> None:
    """Rejects entries that would break a screen or a study later."""
    try:
        with closing(connect(path, read_only=True)) as connection:
            entities, agents = library.list_entities(connection), library.list_agents(connection)
            stored: list[library.StoredEntity | library.StoredAgent] = [*entities, *agents]
            if damaged := [entry.id for entry in stored if entry.damaged]:
                raise UsageError(f"the entry {damaged[0]!r} is damaged.")
            for entity in entities:
                entity_of(entity)
            for agent in agents:
                agent_of(agent)
            for kind in library.list_types(connection):
                if entity_type_from(kind.definition, f"type {kind.name}").name != kind.name:
                    raise UsageError(f"type {kind.name}: its stored name and its definition differ.")
    except (UsageError, ValueError, TypeError, RecursionError) as error:
        raise FileError(f"{other}: its library cannot be used: {error}") from None


PARTICIPANTS = {"agent_ids": "agents", "entity_ids": "entities", "entity_file": "entities"}
"""keys that name participants elsewhere → the keys with their stored content"""
MEANING = "If you answer yes, it runs as a new batch of your own. The file itself stays untrusted."


@dataclass(frozen=True, slots=True)
class RerunPart:
    """A batch of the file, and the config to run."""

    batch_id: str
    stored: str
    """its config, exactly as in the file"""
    config: FrozenConfig
    levels: Mapping[str, str]
    replicate: int
    folder: Path
    """where paths in `--set` start, and where the files of its code are"""


@dataclass(frozen=True, slots=True)
class Rerun:
    """A checked rerun. Nothing was sent, and nothing was written."""

    place: StudyInFile
    id: str
    name: str
    parts: tuple[RerunPart, ...]
    design: Mapping[str, Any] | None
    """of a study of several batches"""

    def refuse(self) -> None:
        """Raises an error if the batches are not the user's own, and would send requests or run code."""
        for admission in self._admissions():
            admission.refuse(f"--db {shlex.quote(str(self.place.file))} ")

    def question(self) -> TrustQuestion | None:
        """One question for everything; None if no question is needed."""
        planned = [(study_from(part.config).plan, part.config) for part in self.parts]
        return question_for(self.id, self.name, self._admissions(), planned, folder=self.parts[0].folder)

    def planned(self) -> PlannedStudy:
        """The batch, or a study's cells as in the file: replicates, levels and hypotheses are kept and frozen again."""
        cells = [PlannedCell(part.levels, part.replicate, part.config) for part in self.parts]
        if self.design is None:
            return PlannedStudy(self.parts[0].config.batch.name, {}, cells, self.parts[0].folder)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        design = {**self.design, "frozen_at": now, "batches": len(self.parts)}
        if isinstance(source := design.get("source"), Mapping) and not self._own:
            design["source"] = without_foreign(source)
        return PlannedStudy(self.name, design, cells, self.parts[0].folder)

    @property
    def _own(self) -> bool:
        parts_known = all(trust_record().knows(part.batch_id, part.stored) for part in self.parts)
        return parts_known and (self.design is None or trust_record().knows(self.id, design_text(self.design)))

    def _admissions(self) -> list[Admission]:
        own = self._own
        admissions = [Admission(part.batch_id, part.stored, own) for part in self.parts]
        return judge_together(admissions, [study_from(part.config) for part in self.parts])


def read_again(place: StudyInFile, database: Path, changes: Iterable[str] = (), *, to_plan: bool = False) -> Rerun:
    """`to_plan`: installed packages do not get values that only the file has."""
    overrides = tuple(changes)
    if fixed := next((change for change in overrides if change.startswith("design.")), None):
        raise UsageError(
            f"--set {fixed}: a study that runs from a file keeps its cells and replicates. Remove this option."
        )
    with foreign_file(place.file) as path, explained(place.file), closing(connect(path, read_only=True)) as connection:
        study = studies.study_of(connection, place.reference)
        if study is None:
            batch = find_batch(connection, place.reference)
            refuse_branch(batch)
            cells, name = [studies.StoredCell(batch, {})], str(batch["name"])
        else:
            cells, name = studies.cells_of(connection, study.id), study.name
    if not cells:
        raise UsageError(
            f"The study {place.reference!r} of {place.file} has no batches, so there is nothing to run again."
        )
    parts = tuple(_part(place, database, cell, overrides, to_plan) for cell in cells)
    if len({part.config.batch.kind for part in parts}) > 1:
        raise UsageError(
            f"The batches of study {place.reference!r} have several kinds. The file was changed or is damaged."
        )
    design = study.design if study else None
    return Rerun(place, study.id if study else str(cells[0].batch["id"]), name, parts, design)


def _part(
    place: StudyInFile, database: Path, cell: studies.StoredCell, changes: Iterable[str], to_plan: bool
) -> RerunPart:
    batch_id, stored = str(cell.batch["id"]), str(cell.batch["config"])
    is_own = trust_record().knows(batch_id, stored)
    # Code imports files from its folder. For the user's own batch, this is the original folder, not that of the file.
    folder = next(iter(trust_record().folders_of(batch_id) if is_own else ()), place.file.parent.absolute())

    def build(data: dict[str, Any]) -> FrozenConfig:
        for change in changes:
            _drop_replaced(data, change.partition("=")[0].strip())
            apply_override(data, change)
        return freeze(config_from(data, source=f"{place.file}#{batch_id}", folder=folder, stored=True), database)

    written = load_frozen(plannable(batch_id, stored) if to_plan else stored)
    frozen = build(written.as_written())
    admission = judge(batch_id, stored, study_from(frozen))
    if not admission.own and not admission.needs_trust:
        frozen = build(without_foreign(written.as_written()))
    return RerunPart(batch_id, stored, frozen, cell.levels, cell.replicate, folder)


def _drop_replaced(data: dict[str, Any], path: str) -> None:
    """Removes stored content that is replaced by a file or by library entries that `--set` names."""
    kind = load_kind(data["batch"]["kind"])
    section, _, key = path.rpartition(".")
    if section == kind.name and key in kind.files:
        for filled in kind.filled_in:
            data[section].pop(filled, None)
    if participants := PARTICIPANTS.get(key):
        data[participants] = []
