"""Batches in a study file of their own: readable, resumable and importable like any other."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tidepool.storage.copying import attached, copy_batch
from tidepool.storage.errors import FileError
from tidepool.storage.exporting.files import finished
from tidepool.storage.file import connect, prepare, settle, transaction

TELLING = (
    *(("log_line", "message"), ("unit", "error"), ("call", "error"), ("batch", "reason")),
    *(("study", "design"), ("study_cell", "level")),
    # Rows of older versions, which stored the path that a server reported; findings count replies by it.
    *(("call", "served_model"), ("outcome", "served_model"), ("finding", "content")),
)
"""columns that may hold the path of a file"""


def export_sqlite(database: Path, batches: Sequence[sqlite3.Row], target: Path) -> list[Path]:
    if target.exists():
        raise FileError(f"{target} exists already, and might be a study. Name another file with -o, or move it away.")
    with finished(target) as unfinished:
        try:
            _copy(database, [batch["number"] for batch in batches], unfinished)
        except (sqlite3.Error, FileError) as error:
            raise FileError(
                f"Cannot write {target}: {error.__cause__ or error}. Choose another place with -o."
            ) from error
    return [target]


def copy_to_publish(
    database: Path, configs: Mapping[int, str], target: Path, private: Mapping[str, str], designs: Mapping[str, str]
) -> None:
    """Batches by number, each with the config that is to be read of it, and studies with their designs; without the name of
    the machine that ran them. `private` are texts that messages may hold, with what is to stand there."""
    _copy(database, list(configs), target)
    with closing(connect(target)) as connection, transaction(connection):
        for number, config in enumerate(configs.values(), 1):
            connection.execute("UPDATE batch SET host = NULL, config = ? WHERE number = ?", (config, number))
        connection.execute("UPDATE progress SET limits = json_remove(limits, '$.hands')")  # they name cluster nodes
        for study_id, design in designs.items():
            connection.execute("UPDATE study SET design = ? WHERE id = ?", (design, study_id))
        for words, instead in private.items():
            for table, column in TELLING:
                connection.execute(
                    f"UPDATE {table} SET {column} = replace({column}, ?, ?) WHERE instr({column}, ?)",
                    (words, instead, words),
                )
    settle(target)


def _copy(database: Path, numbers: Sequence[int], copy: Path) -> None:
    prepare(copy)
    with closing(connect(copy)) as connection, attached(connection, database) as origin, transaction(connection):
        for number in numbers:
            copy_batch(connection, origin, number)
