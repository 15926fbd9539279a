"""`--run FILE.db#BATCH`: a batch or a study out of a file once more, as a new one of the user's own.

The file may be a stranger's. It is read as `import` reads one, and nothing of it is taken but configs, which are complete in
themselves: answers of the file never stand for new ones. What only the file says of servers, keys, packages and code is
asked about or refused before anything is sent, by the rules and in the words of `--resume`; what `--set` says is the user's word.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tidepool.engine.config.freezing import freeze, load_frozen
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import Config
from tidepool.engine.config.toml_files import apply_override
from tidepool.engine.design.cells import PlannedCell, PlannedStudy
from tidepool.engine.errors import UsageError
from tidepool.engine.exports.toml import refuse_branch
from tidepool.engine.publishing.place import StudyInFile
from tidepool.engine.studies.kinds import KindSpec, load_kind
from tidepool.engine.trust.question import TrustQuestion, price_of
from tidepool.engine.trust.record import config_hash
from tidepool.engine.trust.servers import TrustVerdict, judged, without_words_to_packages
from tidepool.storage.batches import find_batch
from tidepool.storage.file import connect, explained
from tidepool.storage.importing import opened_other
from tidepool.storage.study_rows import studies

PEOPLE = {"agent_ids": "agents", "entity_ids": "entities", "entity_file": "entities"}
"""keys that name people elsewhere → where those stand that were taken in"""
MEANING = "Yes runs it as a new one of your own. The file that it comes from stays a stranger's."


@dataclass(frozen=True, slots=True)
class RerunPart:
    """A batch of the file, and what will be run of it."""

    batch_id: str
    stored: str
    """its config, letter for letter as the file has it"""
    written: Config
    config: FrozenConfig
    levels: Mapping[str, str]
    replicate: int


@dataclass(frozen=True, slots=True)
class Rerun:
    """Read and checked; nothing was called, and nothing written."""

    place: StudyInFile
    id: str
    name: str
    parts: tuple[RerunPart, ...]
    design: Mapping[str, Any] | None
    """of a study of several batches"""
    changes: tuple[str, ...]

    @property
    def kind(self) -> KindSpec:
        return load_kind(self.parts[0].config.batch.kind)

    def refuse(self, trust: bool | str) -> None:
        """Raises where the file alone names servers or code, unless they are trusted: all, or those of the configs with this
        hash."""
        trusted = trust is True or trust == config_hash(self._stored)
        for verdict in self._verdicts():
            verdict.refuse(trusted)

    def question(self) -> TrustQuestion | None:
        """One for all of it; None where nothing need be asked."""
        verdicts = list(self._verdicts())
        servers = tuple(dict.fromkeys(one for verdict in verdicts for one in verdict.strange))
        code = tuple(dict.fromkeys(words for verdict in verdicts for words in verdict.code))
        if not servers and not code:
            return None
        prices = [price_of(partial(self.kind.plan, part.config), part.config, servers) for part in self.parts]
        calls = [count for count, _ in prices if count is not None]
        costs = [cost for _, cost in prices if cost is not None]
        known = len(costs) == len(prices)
        return TrustQuestion(
            *(self.id, self.name, self._stored, servers),
            sum(calls) if len(calls) == len(prices) else None,
            sum(costs) if known else None,
            code,
        )

    def planned(self) -> PlannedStudy:
        """A study's cells as the file has them: replicates, levels and hypotheses stay, and are frozen anew."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        design = {**(self.design or {}), "frozen_at": now, "batches": len(self.parts), "added": 0}
        cells = [PlannedCell(part.levels, part.replicate, part.config) for part in self.parts]
        return PlannedStudy(self.name, design, cells, _folder(self.place))

    @property
    def _stored(self) -> str:
        return "\n".join(part.stored for part in self.parts)

    def _verdicts(self) -> Iterator[TrustVerdict]:
        kind, file = self.kind, f"--db {shlex.quote(str(self.place.file))} "
        for part in self.parts:
            models, code = kind.models(part.config), kind.code(part.config)
            yield judged(part.batch_id, part.stored, part.config, models, self.changes, code, file=file)


def read_again(place: StudyInFile, database: Path, changes: Iterable[str] = (), *, to_plan: bool = False) -> Rerun:
    """`to_plan`: no installed package hears what only the file says."""
    said = tuple(changes)
    if fixed := next((change for change in said if change.startswith("design.")), None):
        raise UsageError(f"--set {fixed}: what is run out of a file has the cells and replicates that the file has.")
    with opened_other(place.file) as path, explained(place.file), closing(connect(path, read_only=True)) as connection:
        study = studies.study_of(connection, place.reference)
        if study is None:
            batch = find_batch(connection, place.reference)
            refuse_branch(batch)
            found, name = [studies.StoredCell(batch, {})], str(batch["name"])
        else:
            found, name = studies.cells_of(connection, study.id), study.name
    if not found:
        raise UsageError(
            f"The study {place.reference!r} of {place.file} has no batches: there is nothing to run again."
        )
    parts = tuple(_part(place, database, cell, said, to_plan) for cell in found)
    if len({part.config.batch.kind for part in parts}) > 1:
        raise UsageError(f"The batches of study {place.reference!r} are of several kinds, as no study's are.")
    design = study.design if study else None
    return Rerun(place, study.id if study else str(found[0].batch["id"]), name, parts, design, said)


def _part(
    place: StudyInFile, database: Path, cell: studies.StoredCell, changes: Iterable[str], to_plan: bool
) -> RerunPart:
    batch_id, stored = str(cell.batch["id"]), str(cell.batch["config"])
    data = load_frozen(without_words_to_packages(batch_id, stored) if to_plan else stored).as_written()
    for change in changes:
        _make_room(data, change.partition("=")[0].strip())
        apply_override(data, change)
    config = config_from(data, source=f"{place.file}#{batch_id}", folder=_folder(place))
    return RerunPart(batch_id, stored, config, freeze(config, database), cell.levels, cell.replicate)


def _folder(place: StudyInFile) -> Path:
    """Where paths start that `--set` names, and where a scorer lies: beside the file, as beside a config."""
    return place.file.parent.absolute()


def _make_room(data: dict[str, Any], path: str) -> None:
    """What was taken in gives way to the file, or to the entries of the library, that are named now."""
    kind = load_kind(data["batch"]["kind"])
    section, _, key = path.rpartition(".")
    if section == kind.name and key in kind.files:
        for taken_in in kind.filled_in:
            data[section].pop(taken_in, None)
    if people := PEOPLE.get(key):
        data[people] = []
