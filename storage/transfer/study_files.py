"""Copies whole batches between study files, for SQLite exports, publication and import.

A unit's id contains its batch's number, so copying shifts ids. The other file is attached to the connection that writes, and
SQLite copies the rows without Python. An imported file may be untrusted. Before anything is copied, its tables, ids and
values are checked against the schema.
"""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidepool.storage import db
from tidepool.storage.batches import checked_number
from tidepool.storage.errors import FileError
from tidepool.storage.file import (
    LimitedConnection,
    connect,
    explained,
    prepare,
    refuse_foreign_file,
    settle,
    temporary_folder,
    transaction,
    value_of,
)
from tidepool.storage.queries.damage import find_damage
from tidepool.storage.schema import CURRENT, Schema, oddities
from tidepool.storage.states import UNIT_BITS, unit_range
from tidepool.storage.transfer.formats import finished

LEFT_BEHIND = {"control"}
"""tables that are not copied: commands to a running process are meaningless in another file"""
OWN_NUMBERS = {"call", "surplus", "log_line"}
"""tables whose id is only a row number within their file"""


@contextmanager
def attached(connection: LimitedConnection, path: Path, name: str = "origin") -> Iterator[str]:
    """Attaches another study file for reading. Must not run inside a transaction."""
    connection.lift_time_limit()
    try:
        connection.execute(f"ATTACH ? AS {name}", (f"{path.resolve().as_uri()}?mode=ro",))
    except sqlite3.OperationalError as error:
        if "encoding" not in str(error):
            raise
        raise FileError(
            f"{path} is not encoded in UTF-8, so it is not a valid Tidepool file. Nothing was copied."
        ) from None
    try:
        yield name
    finally:
        connection.execute(f"DETACH {name}")


def copy_batch(connection: sqlite3.Connection, origin: str, number: int) -> int:
    """Copies batch `number` of the attached file `origin` into the open one, inside the caller's transaction.

    Returns its new number. A batch that was running in the other file becomes interrupted.
    """
    batch, prompt, study = (db.table_of(model) for model in (db.Batch, db.Prompt, db.Study))
    there = db.table_in(batch, origin)
    names = [column.name for column in batch.c if column.name != "number"]
    row = db.select(*(there.c[name] for name in names)).where(there.c.number == number)
    copy = checked_number(db.execute(connection, db.insert(batch).from_select(names, row)).lastrowid or 0)
    unfinished = db.update(batch).where(batch.c.number == copy, batch.c.status.in_(("in_progress", "pending")))
    db.execute(connection, unfinished.values(status="interrupted", paused=False, host=None))
    bounds = unit_range(number)
    shift = (copy - number) << UNIT_BITS
    for table in dict.fromkeys((*db.tables_with("batch_number"), *db.tables_with("unit_id"))):
        if table.name in LEFT_BEHIND:
            continue
        source = db.table_in(table, origin)
        names = [column.name for column in table.c if not (table.name in OWN_NUMBERS and column.name == "id")]
        copied: dict[str, db.ColumnElement[Any]] = {name: source.c[name] for name in names}
        if "unit_id" in copied:
            copied["unit_id"] = source.c.unit_id + shift
        if "batch_number" in copied:
            copied["batch_number"] = db.literal(copy)
        if table.name == "unit":
            copied["id"] = source.c.id + shift
        rows = db.select(*copied.values())
        if "batch_number" in copied:
            rows = rows.where(source.c.batch_number == number)
        else:
            rows = rows.where(source.c.unit_id.between(*bounds))
        if table.name in OWN_NUMBERS and table.name != "call":
            rows = rows.order_by(source.c.id)
        db.execute(connection, db.insert(table).from_select(names, rows))
    calls, prompts, studies = (db.table_in(model, origin) for model in (db.table_of(db.Call), prompt, study))
    used = db.select(calls.c.prompt).where(calls.c.unit_id.between(*bounds), calls.c.prompt.is_not(None))
    ignore = db.insert(prompt).prefix_with("OR IGNORE")
    db.execute(connection, ignore.from_select(list(prompt.c), db.select(prompts).where(prompts.c.hash.in_(used))))
    study_ids = db.select(there.c.study_id).where(there.c.number == number)
    ignore = db.insert(study).prefix_with("OR IGNORE")
    db.execute(connection, ignore.from_select(list(study.c), db.select(studies).where(studies.c.id.in_(study_ids))))
    return copy


def export_sqlite(database: Path, batches: Sequence[sqlite3.Row], target: Path) -> list[Path]:
    if target.exists():
        raise FileError(f"{target} already exists and may be a study. Choose another file with -o, or move it away.")
    with finished(target) as unfinished:
        try:
            _copy_batches(database, [batch["number"] for batch in batches], unfinished)
        except (sqlite3.Error, FileError) as error:
            raise FileError(
                f"Cannot write {target}: {error.__cause__ or error}. Choose another path with -o."
            ) from error
    return [target]


def copy_to_publish(
    database: Path, configs: Mapping[int, str], target: Path, private: Mapping[str, str], designs: Mapping[str, str]
) -> None:
    """Copies batches for publication, without the name of the host that ran them.

    `configs` holds the config to publish for each batch number, and `designs` the design for each study. `private` maps texts
    that messages may contain to their replacements.
    """
    _copy_batches(database, list(configs), target)
    with closing(connect(target)) as connection, transaction(connection):
        for number, config in enumerate(configs.values(), 1):
            db.change(connection, db.Batch, {"number": number}, host=None, config=config)
        for study_id, design in designs.items():
            db.change(connection, db.Study, {"id": study_id}, design=design)
        paths = (
            (db.LogLine, "message"),
            (db.Unit, "error"),
            (db.Call, "error"),
            (db.Batch, "reason"),
            (db.Study, "design"),
            (db.StudyCell, "level"),
            (db.Call, "served_model"),  # a server may report a path
            (db.Outcome, "served_model"),
            (db.Finding, "content"),
        )
        for private_text, instead in private.items():
            for table, name in paths:
                column = getattr(table, name)
                affected = db.update(table).where(db.func.instr(column, private_text) > 0)
                db.execute(connection, affected.values({name: db.func.replace(column, private_text, instead)}))
    settle(target)


def _copy_batches(database: Path, numbers: Sequence[int], copy: Path) -> None:
    prepare(copy)
    with closing(connect(copy)) as connection, attached(connection, database) as origin, transaction(connection):
        for number in numbers:
            copy_batch(connection, origin, number)


SHELVES = {"entities": "library_entity", "types": "library_type", "agents": "library_agent"}


@dataclass(frozen=True, slots=True)
class Imported:
    batches: list[str]
    known: list[str]
    """batches that already existed and stayed unchanged"""
    entities: int
    types: int
    agents: int
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """keys that were removed from the config of each batch, because they are allowed only in the user's own batches"""


@contextmanager
def foreign_file(other: Path, schema: Schema = CURRENT) -> Iterator[Path]:
    """Yields the other file after checking it, or an upgraded copy if it is older."""
    if not other.is_file() or not other.stat().st_size:
        raise FileError(f"There is no study file {other}. Check the path.")
    with explained(other), closing(connect(other, read_only=True)) as connection:
        old = refuse_foreign_file(other, connection, schema.version) < schema.version
        if not old:
            _refuse_odd_tables(other, connection)
    with _upgraded(other, schema) if old else nullcontext(other) as path:
        with explained(other), closing(connect(path, read_only=True)) as connection:
            connection.lift_time_limit()
            if damage := find_damage(connection):
                raise FileError(
                    f"{other}: {damage}. The file is damaged or was changed, so it was not imported. Ask for another copy."
                )
        yield path


@contextmanager
def _upgraded(other: Path, schema: Schema) -> Iterator[Path]:
    """Yields an upgraded copy of an older file."""
    with temporary_folder(Path(tempfile.gettempdir())) as folder:
        copy = folder / "copy.db"
        with explained(other), closing(connect(other, read_only=True)) as connection:
            connection.lift_time_limit()
            connection.execute("VACUUM INTO ?", (str(copy),))
        prepare(copy, schema=schema)
        yield copy


def _refuse_odd_tables(other: Path, connection: sqlite3.Connection) -> None:
    """Raises if a table differs. Other unknown objects are ignored, because only rows of our tables are copied."""
    odd = next((message for message, in_table in oddities(connection) if in_table), None)
    if odd is not None:
        raise FileError(f"{other}: {odd}. The file was changed, so it was not imported. Ask for another copy.")


def merge(path: Path, other: Path, configs: Mapping[str, str]) -> Imported:
    """Copies batches and library items that do not exist yet. `configs` holds the config to store for each batch."""
    prepare(path)
    if path.resolve() == other.resolve():
        raise FileError(f"{other} is the open file itself. Choose another file to import.")
    new: list[str] = []
    with explained(path), closing(connect(path)) as connection, attached(connection, other) as origin:
        numbers = {row[0]: row[1] for row in connection.execute(f"SELECT id, number FROM {origin}.batch")}
        for batch_id, config in configs.items():
            with transaction(connection):  # one transaction per batch, so that running batches wait only briefly
                if value_of(connection, "SELECT 1 FROM main.batch WHERE id = ?", (batch_id,)) is not None:
                    continue
                number = copy_batch(connection, origin, numbers[batch_id])
                db.change(connection, db.Batch, {"number": number}, imported=True, host=None, config=config)
                new.append(batch_id)
        with transaction(connection):
            added = {shelf: _copy_shelf(connection, origin, table) for shelf, table in SHELVES.items()}
    settle(path)
    known = [batch_id for batch_id in configs if batch_id not in new]
    return Imported(new, known, added["entities"], added["types"], added["agents"])


def _copy_shelf(connection: sqlite3.Connection, origin: str, table: str) -> int:
    """Copies library items. Existing ids and names stay unchanged."""
    before = connection.total_changes
    here = db.SQLModel.metadata.tables[table]
    there = db.select(db.table_in(here, origin)).order_by(db.text("rowid"))
    db.execute(connection, db.insert(here).prefix_with("OR IGNORE").from_select(list(here.c), there))
    return connection.total_changes - before
