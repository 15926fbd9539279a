"""Batches and library of another study file into this one, each once.

The other file may be a stranger's. It is opened read-only and never upgraded in place; before anything is copied its
tables must be tables like ours, its ids must be ids, and every value of the kind its column holds.
"""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from tidepool.storage.batches import delete_rows, find_batch
from tidepool.storage.copying import attached, copy_batch
from tidepool.storage.errors import FileError
from tidepool.storage.file import connect, explained, prepare, refuse_strangers, settle, transaction
from tidepool.storage.locks import holding
from tidepool.storage.reading.damage import find_damage
from tidepool.storage.schema import CURRENT, Schema, oddities
from tidepool.storage.scratch.folders import scratch_in

SHELVES = {"entities": "library_entity", "types": "library_type", "agents": "library_agent"}


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
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """by batch: keys of its config that only the user's own batches have"""


@contextmanager
def opened_other(other: Path, schema: Schema = CURRENT) -> Iterator[Path]:
    """The other file, or an upgraded copy of it where it is older; checked."""
    if not other.is_file() or not other.stat().st_size:
        raise FileError(f"There is no study file {other}. Check the path.")
    with explained(other), closing(connect(other, read_only=True)) as connection:
        old = refuse_strangers(other, connection, schema.version) < schema.version
        if not old:
            _refuse_odd_tables(other, connection)
    with _upgraded(other, schema) if old else nullcontext(other) as path:
        with explained(other), closing(connect(path, read_only=True)) as connection:
            connection.take_all_the_time()
            if damage := find_damage(connection):
                raise FileError(f"{other}: {damage}. The file was changed, or is damaged; it is not imported.")
        yield path


@contextmanager
def _upgraded(other: Path, schema: Schema) -> Iterator[Path]:
    """A copy of an older file, upgraded."""
    with scratch_in(Path(tempfile.gettempdir())) as folder:
        copy = folder / "copy.db"
        with explained(other), closing(connect(other, read_only=True)) as connection:
            connection.take_all_the_time()
            connection.execute("VACUUM INTO ?", (str(copy),))
        prepare(copy, schema=schema)
        yield copy


def _refuse_odd_tables(other: Path, connection: sqlite3.Connection) -> None:
    """Whatever else it holds stays behind: nothing but the rows of our tables comes over."""
    odd = next((one for one in oddities(connection) if one.in_table), None)
    if odd is not None:
        raise FileError(f"{other}: {odd.message}. The file was changed; it is not imported.")


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
    known = [batch_id for batch_id in configs if batch_id not in new]
    return Imported(new, known, added["entities"], added["types"], added["agents"])


def _is_here(connection: sqlite3.Connection, batch_id: str) -> bool:
    return connection.execute("SELECT 1 FROM main.batch WHERE id = ?", (batch_id,)).fetchone() is not None


def _copy_over(connection: sqlite3.Connection, origin: str, number: int, config: str) -> None:
    from sqlmodel import col, update

    from tidepool.storage.sql import execute
    from tidepool.storage.tables import Batch

    copy = copy_batch(connection, origin, number)
    execute(connection, update(Batch).where(col(Batch.number) == copy).values(imported=True, host=None, config=config))


def _copy_shelf(connection: sqlite3.Connection, origin: str, table: str) -> int:
    """What goes by the same id or name here stays as it is here."""
    from sqlalchemy import insert, select, text
    from sqlmodel import SQLModel

    import tidepool.storage.tables  # noqa: F401  (registers the tables)
    from tidepool.storage.sql import execute, table_in

    before = connection.total_changes
    here = SQLModel.metadata.tables[table]
    there = select(table_in(here, origin)).order_by(text("rowid"))
    execute(connection, insert(here).prefix_with("OR IGNORE").from_select(list(here.c), there))
    return connection.total_changes - before
