"""Studies of several batches. A study has one row for its design, and each batch has its cell and replicate."""

import json
import secrets
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tidepool.storage import db
from tidepool.storage.batches import (
    NewBatch,
    by_prefix,
    delete_batch,
    find_batch,
    insert_batch,
    is_running,
    newest,
    open_provider_batches,
    parse_steps_back,
    progress_of,
    send_command,
    status_now,
)
from tidepool.storage.errors import BatchLocked, FileError, NotFound
from tidepool.storage.file import BATCH_ID, reading, writing
from tidepool.storage.states import BatchStatus

LONGEST_LEVEL = 1_000_000
"""characters of a level, which may be a whole context and which exports repeat in every row"""


@dataclass(frozen=True, slots=True)
class NewCell:
    """A batch of a study to be written."""

    batch: NewBatch
    replicate: int
    levels: Mapping[str, str]
    """by factor"""


@dataclass(frozen=True, slots=True)
class StoredStudy:
    id: str
    name: str
    design: dict[str, Any]
    created_at: float


@dataclass(frozen=True, slots=True)
class StoredCell:
    batch: sqlite3.Row
    levels: dict[str, str]

    @property
    def replicate(self) -> int:
        return int(self.batch["replicate"] or 1)


def create_study(path: Path, name: str, design: Mapping[str, Any], cells: Sequence[NewCell]) -> tuple[str, list[str]]:
    """Creates a study with its batches in one transaction. Returns its id and the ids of its batches."""
    study_id = secrets.token_hex(6)
    text = json.dumps(design, ensure_ascii=False)
    with writing(path) as connection:
        db.add(connection, db.Study(id=study_id, name=name, design=text, created_at=time.time()))
        batch_ids = []
        for cell in cells:
            batch_id, number = insert_batch(connection, cell.batch)
            batch_ids.append(batch_id)
            db.change(connection, db.Batch, {"number": number}, study_id=study_id, replicate=cell.replicate)
            for factor, level in cell.levels.items():
                db.add(connection, db.StudyCell(batch_number=number, factor=factor, level=level))
    return study_id, batch_ids


def study_of(connection: sqlite3.Connection, reference: str) -> StoredStudy | None:
    """Finds a study by its id, a unique prefix, `last` or `last~1`. Returns None if the reference is not a study."""
    if (steps_back := parse_steps_back(reference)) is not None:
        rows = newest(connection, steps_back)
        return _known(connection, rows[0]["study_id"]) if rows and rows[0]["study_id"] else None
    ids = [row["id"] for row in by_prefix(connection, "study", reference)]
    if not ids:
        return None
    batch_ids = [row["id"] for row in by_prefix(connection, "batch", reference)]
    if ids != [reference] and (len(ids) > 1 or batch_ids):
        fits = ", ".join([*ids, *batch_ids])
        raise NotFound(f"{reference!r} matches several batches and studies ({fits}). Type more of the id.")
    return _known(connection, ids[0])


def find_study(connection: sqlite3.Connection, reference: str) -> StoredStudy:
    """The same; a batch that is a cell of a study names its study too."""
    if (found := study_of(connection, reference)) is not None:
        return found
    batch = find_batch(connection, reference)
    if not batch["study_id"]:
        raise NotFound(f"Batch {batch['id']} is not part of a study with several batches.")
    return _known(connection, batch["study_id"])


def _known(connection: sqlite3.Connection, study_id: str) -> StoredStudy:
    row = connection.execute("SELECT * FROM study WHERE id = ?", (study_id,)).fetchone()
    if row is None or not BATCH_ID.match(str(study_id)):
        raise FileError(f"The study {study_id!r} of this file has no design. The file was changed; take care with it.")
    try:
        design = json.loads(row["design"])
    except ValueError:
        design = None
    if not isinstance(design, dict):
        raise FileError(
            f"The design of study {study_id} cannot be read. The file is damaged or was changed; restore a copy."
        )
    return StoredStudy(row["id"], row["name"], design, row["created_at"])


def cells_of(connection: sqlite3.Connection, study_id: str) -> list[StoredCell]:
    """Returns the cells of a study in the order in which they were created."""
    batches = connection.execute("SELECT * FROM batch WHERE study_id = ? ORDER BY number", (study_id,)).fetchall()
    levels: dict[int, dict[str, str]] = {batch["number"]: {} for batch in batches}
    for number, factor, level in connection.execute(
        f"SELECT c.batch_number, c.factor, substr(c.level, 1, {LONGEST_LEVEL}) FROM study_cell c JOIN batch b ON b.number = c.batch_number "
        "WHERE b.study_id = ? ORDER BY c.rowid",
        (study_id,),
    ):
        levels[number][factor] = level
    return [StoredCell(batch, levels[batch["number"]]) for batch in batches]


def study_to_resume(connection: sqlite3.Connection, reference: str) -> str | None:
    """Returns the study that a reference belongs to, because its cells run together. None for a batch without a study."""
    if (study := study_of(connection, reference)) is not None:
        return study.id
    study_id = find_batch(connection, reference)["study_id"]
    return None if not study_id else str(study_id)


def batches_to_resume(connection: sqlite3.Connection, reference: str) -> list[str]:
    """Returns the ids of the batches to resume together: all incomplete batches of a study, or the single batch."""
    study_id = study_to_resume(connection, reference)
    if study_id is None:
        return [str(find_batch(connection, reference)["id"])]
    cells = cells_of(connection, study_id)
    return [cell.batch["id"] for cell in cells if cell.batch["status"] != BatchStatus.COMPLETED] or [
        cells[0].batch["id"]
    ]


def leading_batch(connection: sqlite3.Connection, reference: str) -> str:
    """Returns the batch that stores the provider batches: the first of its study, or the single batch."""
    study_id = study_to_resume(connection, reference)
    batch = find_batch(connection, reference) if study_id is None else cells_of(connection, study_id)[0].batch
    return str(batch["id"])


def steer_any(path: Path, reference: str, command: str, arguments: dict[str, Any] | None = None) -> str:
    """Sends a command to the process that runs the batch. A command to a cell goes to its study, by its first batch."""
    with reading(path) as connection:
        study_id = study_to_resume(connection, reference)
        batches = (
            [find_batch(connection, reference)]
            if study_id is None
            else [cell.batch for cell in cells_of(connection, study_id)]
        )
        progress = [progress_of(connection, batch["number"]) for batch in batches]
        if not any(map(partial(is_running, path), batches, progress)):
            state = f" (it is {status_now(path, batches[0], progress[0])})" if study_id is None else ""
            no_effect = "no limits to change" if command == "limits" else f"nothing to {command}"
            name = f"Batch {batches[0]['id']}" if study_id is None else f"Study {study_id}"
            raise NotFound(f"{name} is not running{state}: {no_effect}.")
    send_command(path, batches[0]["number"], command, arguments)
    return study_id or str(batches[0]["id"])


def delete_any(path: Path, reference: str) -> str:
    """Deletes a batch, or a study with all its batches."""
    with reading(path) as connection:
        study = study_of(connection, reference)
        batch_ids = (
            [_without_orders(connection, reference)["id"]]
            if study is None
            else [cell.batch["id"] for cell in cells_of(connection, study.id)]
        )
    for batch_id in batch_ids:
        delete_batch(path, batch_id)
    return str(batch_ids[0]) if study is None else study.id


def _without_orders(connection: sqlite3.Connection, reference: str) -> sqlite3.Row:
    """Returns a batch that can be deleted alone. Open provider batches hold paid calls of all cells of a study."""
    batch = find_batch(connection, reference)
    if batch["study_id"] and open_provider_batches(connection, batch["number"]):
        study = batch["study_id"]
        raise BatchLocked(
            f"Batch {batch['id']} is a cell of study {study}. The open provider batches of the study also hold calls of its "
            f"other cells. Resume the study first (`tidepool resume {study}`), or delete the whole study."
        )
    return batch
