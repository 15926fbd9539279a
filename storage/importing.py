"""Batches and library of another study file into this one, each once.

The other file may be a stranger's. It is opened read-only and never upgraded in place; before anything is copied its
tables must be tables like ours, its ids must be ids, and every value of the kind its column holds.
"""

import re
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidepool.storage.batches import BATCH_TABLES, MOST_BATCHES, UNIT_TABLES, delete_rows, find_batch
from tidepool.storage.copying import attached, copy_batch
from tidepool.storage.errors import FileError
from tidepool.storage.file import (
    APPLICATION_ID,
    connect,
    explain,
    explained,
    prepare,
    refuse_strangers,
    settle,
    transaction,
)
from tidepool.storage.lock_files import BATCH_ID
from tidepool.storage.locks import holding
from tidepool.storage.schema import migrations
from tidepool.storage.schema.check import oddities
from tidepool.storage.schema.statements import statements
from tidepool.storage.states import BatchStatus
from tidepool.storage.unit_ids import UNIT_BITS

LIBRARY_TABLES = ("library_entity", "library_type", "library_agent")
SHELVES = {"entities": "library_entity", "types": "library_type", "agents": "library_agent"}

_HOLDS = {"INTEGER": ("integer",), "BOOLEAN": ("integer",), "FLOAT": ("real", "integer"), "BLOB": ("blob",)}
"""declared type → what SQLite calls the values that fit; anything else is text"""
_JSON = {
    "batch": ("origin",),
    "study": ("design",),
    "outcome": ("details",),
    "answer": ("details",),
    "code": ("details",),
    "record": ("content",),
    "unit": ("participants", "details"),
    "genome": ("parents", "details"),
    "training_update": ("details",),
    "finding": ("content",),
    "provider_batch": ("calls",),
    "progress": ("in_flight", "limits"),
    "library_entity": ("attributes",),
    "library_type": ("definition",),
    "library_agent": ("definition",),
}
"""columns that hold JSON"""
_STATES = tuple(BatchStatus)
_LIBRARY_ID = re.compile(r"[\w. -]{1,200}\Z")


@dataclass(frozen=True, slots=True)
class OtherBatch:
    """A batch of the file that is to be imported."""

    id: str
    kind: str
    name: str
    config: str


@dataclass(frozen=True, slots=True)
class Imported:
    batches: list[str]
    known: list[str]
    """batches that were here already, and left as they are"""
    entities: int
    types: int
    agents: int


@contextmanager
def opened_other(other: Path) -> Iterator[Path]:
    """The other file, or an upgraded copy of it where it is older; checked."""
    if not other.is_file() or not other.stat().st_size:
        raise FileError(f"There is no study file {other}. Check the path.")
    with tempfile.TemporaryDirectory(prefix="tidepool-import-") as folder:
        with explained(other):
            with closing(connect(other, read_only=True)) as connection:
                version = refuse_strangers(other, connection)
                _refuse_odd_tables(other, connection, version)
            path = other if version == migrations.newest() else _upgraded_copy(other, Path(folder), version)
            with closing(connect(path, read_only=True)) as connection:
                _refuse_what_is_not_ours(other, connection)
        yield path


def _refuse_odd_tables(other: Path, connection: sqlite3.Connection, version: int) -> None:
    """Whatever else it holds stays behind: nothing but the rows of our tables comes over."""
    odd = next((one for one in oddities(connection, version) if one.in_table), None)
    if odd is not None:
        raise FileError(f"{other}: {odd.words}. The file was changed; it is not imported.")


def other_batches(path: Path) -> list[OtherBatch]:
    with closing(connect(path, read_only=True)) as connection:
        rows = connection.execute("SELECT id, kind, name, config FROM batch ORDER BY number").fetchall()
    return [OtherBatch(*row) for row in rows]


def merge(path: Path, other: Path, configs: Mapping[str, str], *, replace: bool = False) -> Imported:
    """Copies what is not here yet. `configs` holds each batch's config as it is to be kept here."""
    prepare(path)
    if path.resolve() == other.resolve():
        raise FileError(f"{other} is the file that is open: there is nothing to import.")
    new: list[str] = []
    with explained(path), closing(connect(path)) as connection, attached(connection, other) as origin:
        numbers = {row[0]: row[1] for row in connection.execute(f"SELECT id, number FROM {origin}.batch")}
        for batch_id, config in configs.items():
            if not replace and _is_here(connection, batch_id):
                continue
            # There is never none of a batch that is replaced, nor two; whoever runs another one waits for this one alone.
            with holding(path, batch_id), transaction(connection):
                if _is_here(connection, batch_id):
                    if not replace:  # another import was faster
                        continue
                    delete_rows(connection, find_batch(connection, batch_id)["number"])
                _copy_over(connection, origin, numbers[batch_id], config)
                new.append(batch_id)
        with transaction(connection):
            added = {shelf: _copy_shelf(connection, origin, table) for shelf, table in SHELVES.items()}
    settle(path)
    return Imported(new, [batch_id for batch_id in configs if batch_id not in new], **added)


def _is_here(connection: sqlite3.Connection, batch_id: str) -> bool:
    return connection.execute("SELECT 1 FROM main.batch WHERE id = ?", (batch_id,)).fetchone() is not None


def _copy_over(connection: sqlite3.Connection, origin: str, number: int, config: str) -> None:
    copy = copy_batch(connection, origin, number)
    connection.execute("UPDATE main.batch SET imported = 1, host = NULL, config = ? WHERE number = ?", (config, copy))


def _copy_shelf(connection: sqlite3.Connection, origin: str, table: str) -> int:
    """What goes by the same id or name here stays as it is here."""
    before = connection.total_changes
    columns = ", ".join(row["name"] for row in connection.execute(f"PRAGMA main.table_info({table})"))
    connection.execute(
        f"INSERT OR IGNORE INTO main.{table} ({columns}) SELECT {columns} FROM {origin}.{table} ORDER BY rowid"
    )
    return connection.total_changes - before


def _upgraded_copy(other: Path, folder: Path, version: int) -> Path:
    """Its rows in a file that we made ourselves of its version's text: nothing else of it comes along."""
    copy = folder / "copy.db"
    try:
        with closing(connect(copy)) as connection, attached(connection, other) as origin, transaction(connection):
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            migrations.create(connection, version)
            for statement in statements(version):
                if statement.kind == "table":
                    connection.execute(f"INSERT INTO main.{statement.name} SELECT * FROM {origin}.{statement.name}")
            migrations.upgrade(connection, migrations.STEPS)
    except sqlite3.Error as error:
        if "full" in str(error):  # of the copy, not of the file that it is a copy of
            raise FileError(explain(copy, error)) from error
        raise
    return copy


# -- what a stranger's file must be --------------------------------------------------------------------------


def _refuse_what_is_not_ours(path: Path, connection: sqlite3.Connection) -> None:
    ours = _our_tables()
    for table in ("batch", "unit", "prompt", "study", *BATCH_TABLES, *UNIT_TABLES, *LIBRARY_TABLES):
        _refuse_other_table(path, connection, table, ours[table])
    _refuse_other_ids(path, connection)


def _our_tables() -> dict[str, dict[str, tuple[str, bool]]]:
    """Every table with the declared type of its columns, and whether they may be empty."""
    with closing(sqlite3.connect(":memory:")) as model:
        model.row_factory = sqlite3.Row
        migrations.create(model, migrations.newest())
        names = [row["name"] for row in model.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: {
                row["name"]: (row["type"], not row["notnull"]) for row in model.execute(f"PRAGMA table_info({name})")
            }
            for name in names
        }


def _refuse_other_table(
    path: Path, connection: sqlite3.Connection, table: str, columns: Mapping[str, tuple[str, bool]]
) -> None:
    row = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if row is None or row["type"] != "table" or "VIRTUAL" in (row["sql"] or "").upper().split("(")[0]:
        raise FileError(f"{path}: {table} is not the table it should be. The file was changed; it is not imported.")
    names = {column["name"] for column in connection.execute(f"PRAGMA table_info({table})")}
    if names != set(columns):
        raise FileError(f"{path}: the table {table} has other columns than it should. It is not imported.")
    conditions = [_unfit(name, declared, may_be_empty) for name, (declared, may_be_empty) in columns.items()]
    conditions += [f"({name} IS NOT NULL AND NOT json_valid({name}))" for name in _JSON.get(table, ())]
    wrong = " OR ".join(conditions)
    if connection.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
        raise FileError(f"{path}: the table {table} holds a value that does not fit its column. It is not imported.")


def _unfit(column: str, declared: str, may_be_empty: bool) -> str:
    kinds = _HOLDS.get(declared.partition("(")[0], ("text",))
    allowed = ", ".join(f"'{kind}'" for kind in (*kinds, *(("null",) if may_be_empty else ())))
    return f'typeof("{column}") NOT IN ({allowed})'


def _refuse_other_ids(path: Path, connection: sqlite3.Connection) -> None:
    for batch_id, number, status in connection.execute("SELECT id, number, status FROM batch"):
        if not BATCH_ID.match(batch_id) or not 0 < number < MOST_BATCHES or status not in _STATES:
            raise FileError(f"{path}: {batch_id[:80]!r} is no batch of ours. The file was changed; it is not imported.")
    for (study_id,) in connection.execute(
        "SELECT id FROM study UNION SELECT study_id FROM batch WHERE study_id IS NOT NULL"
    ):
        if not BATCH_ID.match(study_id):
            raise FileError(f"{path}: {study_id[:80]!r} is no study of ours. The file was changed; it is not imported.")
    stray = connection.execute(
        f"SELECT 1 FROM unit WHERE id <> (batch_number << {UNIT_BITS} | sequence_number) OR sequence_number < 0 "
        f"OR sequence_number >= 1 << {UNIT_BITS} OR batch_number NOT IN (SELECT number FROM batch) "
        "OR json_type(participants) <> 'array' OR json_type(coalesce(details, '{}')) <> 'object' "
        "OR EXISTS (SELECT 1 FROM json_each(participants) WHERE type <> 'text') LIMIT 1"
    ).fetchone()
    if stray:
        raise FileError(f"{path}: a unit does not belong to its batch. The file was changed; it is not imported.")
    for table in ("library_entity", "library_agent"):
        for (one,) in connection.execute(f"SELECT id FROM {table}"):
            if not _LIBRARY_ID.match(one):
                raise FileError(f"{path}: {one[:80]!r} is no id of the library. It is not imported.")
