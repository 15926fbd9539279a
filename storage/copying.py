"""A whole batch from one study file into another: exports and imports are the same renumbering.

A unit's id holds its batch's number, so copying is shifting ids. Both files must be of today's version (`file.prepare`);
the other one is attached to the connection that writes, and SQLite moves the rows without Python seeing them.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidepool.storage.batches import BATCH_TABLES, UNIT_TABLES, number_of_new
from tidepool.storage.errors import FileError
from tidepool.storage.unit_ids import UNIT_BITS, unit_id
from tidepool.storage.watched import WatchedConnection

LEFT_BEHIND = {"control"}
"""words to a running process mean nothing elsewhere"""
OWN_NUMBERS = {"call", "surplus", "log_line"}
"""tables whose id is only a row number of their file"""


@contextmanager
def attached(connection: WatchedConnection, path: Path, name: str = "origin") -> Iterator[str]:
    """Another study file, to read from, under a name of its own. Not inside a transaction."""
    connection.take_all_the_time()
    try:
        connection.execute(f"ATTACH ? AS {name}", (f"{path.resolve().as_uri()}?mode=ro",))
    except sqlite3.OperationalError as error:
        if "encoding" not in str(error):
            raise
        raise FileError(
            f"{path} is not in UTF-8, as Tidepool's files are. It was changed; nothing was copied."
        ) from None
    try:
        yield name
    finally:
        connection.execute(f"DETACH {name}")


def copy_batch(connection: sqlite3.Connection, origin: str, number: int) -> int:
    """Copies batch `number` of the attached file `origin` into the open one, inside the caller's transaction.

    Returns its number here. A batch that was running there is interrupted here.
    """
    columns = [name for name in _columns(connection, "batch") if name != "number"]
    cursor = connection.execute(
        f"INSERT INTO main.batch ({', '.join(columns)}) SELECT {', '.join(columns)} FROM {origin}.batch WHERE number = ?",
        (number,),
    )
    copy = number_of_new(cursor)
    connection.execute(
        "UPDATE main.batch SET status = 'interrupted', paused = 0, host = NULL WHERE number = ? "
        "AND status IN ('in_progress', 'pending')",
        (copy,),
    )
    shift = (copy - number) << UNIT_BITS
    _copy(connection, origin, "unit", number, {"id": f"id + {shift}", "batch_number": str(copy)})
    for table in BATCH_TABLES:
        if table not in LEFT_BEHIND:
            changed = {"batch_number": str(copy)}
            if table == "surplus":
                changed["unit_id"] = f"unit_id + {shift}"
            _copy(connection, origin, table, number, changed)
    for table in UNIT_TABLES:
        _copy(connection, origin, table, number, {"unit_id": f"unit_id + {shift}"})
    connection.execute(
        f"INSERT OR IGNORE INTO main.prompt (hash, text) SELECT hash, text FROM {origin}.prompt WHERE hash IN "
        f"(SELECT prompt FROM {origin}.call WHERE unit_id BETWEEN ? AND ? AND prompt IS NOT NULL)",
        _bounds(number),
    )
    connection.execute(
        f"INSERT OR IGNORE INTO main.study SELECT * FROM {origin}.study WHERE id = "
        f"(SELECT study_id FROM {origin}.batch WHERE number = ?)",
        (number,),
    )
    return copy


def _copy(connection: sqlite3.Connection, origin: str, table: str, number: int, changed: dict[str, str]) -> None:
    columns = [name for name in _columns(connection, table) if not (table in OWN_NUMBERS and name == "id")]
    values = ", ".join(changed.get(name, f'"{name}"') for name in columns)
    names = ", ".join(f'"{name}"' for name in columns)
    if table in UNIT_TABLES:
        where, parameters = "unit_id BETWEEN ? AND ?", _bounds(number)
    else:
        where, parameters = "batch_number = ?", (number,)
    order = " ORDER BY id" if table in OWN_NUMBERS and table != "call" else ""
    connection.execute(
        f"INSERT INTO main.{table} ({names}) SELECT {values} FROM {origin}.{table} WHERE {where}{order}", parameters
    )


def _bounds(number: int) -> tuple[int, ...]:
    return unit_id(number, 0), unit_id(number + 1, 0) - 1


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row["name"] for row in connection.execute(f"PRAGMA main.table_info({table})")]
