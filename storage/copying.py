"""A whole batch from one study file into another: exports and imports are the same renumbering.

A unit's id holds its batch's number, so copying is shifting ids. Both files must be of today's version (`file.prepare`);
the other one is attached to the connection that writes, and SQLite moves the rows without Python seeing them.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidepool.storage.batches import checked_number
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
    from sqlalchemy import insert, literal, select, update

    from tidepool.storage.sql import execute, table_in, table_of, tables_with
    from tidepool.storage.tables import Batch, Call, Prompt, Study

    batch, prompt, study = (table_of(one) for one in (Batch, Prompt, Study))
    there = table_in(batch, origin)
    names = [column.name for column in batch.c if column.name != "number"]
    row = select(*(there.c[name] for name in names)).where(there.c.number == number)
    copy = checked_number(execute(connection, insert(batch).from_select(names, row)).lastrowid or 0)
    stopped = update(batch).where(batch.c.number == copy, batch.c.status.in_(("in_progress", "pending")))
    execute(connection, stopped.values(status="interrupted", paused=False, host=None))
    bounds = (unit_id(number, 0), unit_id(number + 1, 0) - 1)
    shift = (copy - number) << UNIT_BITS
    for table in dict.fromkeys((*tables_with("batch_number"), *tables_with("unit_id"))):
        if table.name in LEFT_BEHIND:
            continue
        source = table_in(table, origin)
        names = [column.name for column in table.c if not (table.name in OWN_NUMBERS and column.name == "id")]
        moved = {name: source.c[name] for name in names}
        if "unit_id" in moved:
            moved["unit_id"] = source.c.unit_id + shift
        if "batch_number" in moved:
            moved["batch_number"] = literal(copy)
        if table.name == "unit":
            moved["id"] = source.c.id + shift
        rows = select(*moved.values())
        if "batch_number" in moved:
            rows = rows.where(source.c.batch_number == number)
        else:
            rows = rows.where(source.c.unit_id.between(*bounds))
        if table.name in OWN_NUMBERS and table.name != "call":
            rows = rows.order_by(source.c.id)
        execute(connection, insert(table).from_select(names, rows))
    calls, prompts, studies = (table_in(one, origin) for one in (table_of(Call), prompt, study))
    used = select(calls.c.prompt).where(calls.c.unit_id.between(*bounds), calls.c.prompt.is_not(None))
    ignore = insert(prompt).prefix_with("OR IGNORE")
    execute(connection, ignore.from_select(list(prompt.c), select(prompts).where(prompts.c.hash.in_(used))))
    own = select(there.c.study_id).where(there.c.number == number)
    ignore = insert(study).prefix_with("OR IGNORE")
    execute(connection, ignore.from_select(list(study.c), select(studies).where(studies.c.id.in_(own))))
    return copy
