"""Batches in a study file of their own: readable, resumable and importable like any other."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tidepool.storage.copying import attached, copy_batch
from tidepool.storage.errors import FileError
from tidepool.storage.exporting.files import finished
from tidepool.storage.file import connect, prepare, settle, transaction


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
    from sqlalchemy import func
    from sqlmodel import col, update

    from tidepool.storage.sql import execute
    from tidepool.storage.tables import Batch, Call, LogLine, Progress, Study, StudyCell, Unit

    _copy(database, list(configs), target)
    with closing(connect(target)) as connection, transaction(connection):
        for number, config in enumerate(configs.values(), 1):
            execute(connection, update(Batch).where(col(Batch.number) == number).values(host=None, config=config))
        # Limits name the nodes of a cluster.
        execute(connection, update(Progress).values(limits=func.json_remove(Progress.limits, "$.hands")))
        for study_id, design in designs.items():
            execute(connection, update(Study).where(col(Study.id) == study_id).values(design=design))
        paths = (
            (LogLine, "message"),
            (Unit, "error"),
            (Call, "error"),
            (Batch, "reason"),
            (Study, "design"),
            (StudyCell, "level"),
        )
        for words, instead in private.items():
            for table, name in paths:
                column = getattr(table, name)
                holds = update(table).where(func.instr(column, words) > 0)
                execute(connection, holds.values({name: func.replace(column, words, instead)}))
    settle(target)


def _copy(database: Path, numbers: Sequence[int], copy: Path) -> None:
    prepare(copy)
    with closing(connect(copy)) as connection, attached(connection, database) as origin, transaction(connection):
        for number in numbers:
            copy_batch(connection, origin, number)
