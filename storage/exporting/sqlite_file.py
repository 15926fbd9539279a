"""One batch in a study file of its own: readable, resumable and importable like any other."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tidepool.storage.copying import attached, copy_batch
from tidepool.storage.errors import FileError
from tidepool.storage.exporting.files import finished
from tidepool.storage.file import connect, prepare


def export_sqlite(database: Path, batch: sqlite3.Row, target: Path) -> list[Path]:
    if target.exists():
        raise FileError(f"{target} exists already, and might be a study. Name another file with -o, or move it away.")
    with finished(target) as unfinished:
        try:
            _copy(database, batch["number"], unfinished)
        except (sqlite3.Error, FileError) as error:
            raise FileError(
                f"Cannot write {target}: {error.__cause__ or error}. Choose another place with -o."
            ) from error
    return [target]


def _copy(database: Path, number: int, copy: Path) -> None:
    prepare(copy)
    with closing(connect(copy)) as connection, attached(connection, database) as origin:
        connection.execute("BEGIN IMMEDIATE")
        copy_batch(connection, origin, number)
        connection.execute("COMMIT")
