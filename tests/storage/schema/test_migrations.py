"""A file of an older version is upgraded on opening, in one transaction, after a copy is put beside it.

There is one version so far, so the steps here are invented.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.state import change, end_state, query
from tests.support.studies import game
from tidepool.engine.run import run_batch
from tidepool.storage import batches
from tidepool.storage.errors import FileError
from tidepool.storage.file import prepare
from tidepool.storage.schema import CURRENT, Schema
from tidepool.storage.transfer.study_files import foreign_file

OLD = CURRENT.version
MOOD = "mood TEXT NOT NULL DEFAULT 'calm'"


def add_mood(connection: sqlite3.Connection) -> None:
    connection.execute(f"ALTER TABLE unit ADD COLUMN {MOOD}")


def drop_old_column(connection: sqlite3.Connection) -> None:
    """A view names this column: it must not stand in the way of the step."""
    connection.execute("ALTER TABLE unit DROP COLUMN error")


def broken(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM call")
    connection.execute("SELECT * FROM nowhere")


LAST = "    details VARCHAR,\n    PRIMARY KEY (id)\n);\n\nCREATE INDEX unit_by_batch"
WITH_MOOD = CURRENT.text.replace(LAST, LAST.replace("VARCHAR,", f"VARCHAR, {MOOD},"))
NEXT = Schema(WITH_MOOD, (*CURRENT.steps, add_mood))
THEN = Schema(
    WITH_MOOD.replace(
        "    status VARCHAR NOT NULL,\n    error VARCHAR,\n    sealed", "    status VARCHAR NOT NULL,\n    sealed"
    ).replace("u.participants, u.status, u.error", "u.participants, u.status, NULL AS error"),
    (*NEXT.steps, drop_old_column),
)


def backups(database: Path) -> list[str]:
    return sorted(path.name for path in database.parent.iterdir() if ".v" in path.name)


async def test_each_missing_step_is_taken_once_and_what_the_file_holds_stays(database: Path) -> None:
    await run_batch(game(5, 2), database)
    before = end_state(database)
    prepare(database, schema=THEN)
    prepare(database, schema=THEN)
    assert query(database, "PRAGMA user_version") == [(OLD + 2,)]
    assert query(database, "SELECT DISTINCT mood FROM unit") == [("calm",)]
    assert end_state(database) == before
    copy = database.with_name(f"study.db.v{OLD}.bak")
    assert backups(database) == [copy.name]
    assert query(copy, "PRAGMA user_version") == [(OLD,)] and end_state(copy) == before


async def test_a_copy_that_is_there_is_not_overwritten_and_what_the_wal_holds_is_copied(database: Path) -> None:
    await run_batch(game(2, 1), database)
    earlier = database.with_name(f"study.db.v{OLD}.bak")
    earlier.write_text("somebody's own")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE batch SET name = 'in the wal'")
        connection.commit()
        prepare(database, schema=NEXT)
    assert earlier.read_text() == "somebody's own"
    for path in (database, database.with_name(f"study.db.v{OLD}.2.bak")):
        assert query(path, "SELECT name FROM batches") == [("in the wal",)]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (Schema(NEXT.text, (add_mood, broken)), "nowhere"),
        (Schema(CURRENT.text, (add_mood,)), "the table unit has another definition"),
    ],
)
async def test_an_upgrade_that_fails_rolls_everything_back(database: Path, schema: Schema, words: str) -> None:
    await run_batch(game(5, 2), database)
    before = end_state(database)
    with pytest.raises(FileError, match=words):
        prepare(database, schema=schema)
    assert query(database, "PRAGMA user_version") == [(OLD,)]
    assert end_state(database) == before and backups(database) == []
    prepare(database, schema=NEXT)
    assert query(database, "PRAGMA user_version") == [(OLD + 1,)]


async def test_no_file_is_upgraded_while_a_batch_runs_in_it(database: Path) -> None:
    summary = await run_batch(game(2, 1), database)
    change(database, "UPDATE batch SET status = 'in_progress'")
    with batches.holding(database, summary["batch_id"]), pytest.raises(FileError, match="is running in it"):
        prepare(database, schema=NEXT)
    assert query(database, "PRAGMA user_version") == [(OLD,)] and backups(database) == []


async def test_an_older_file_is_imported_from_a_copy_of_its_own(database: Path) -> None:
    await run_batch(game(2, 1), database)
    before = database.read_bytes()
    with foreign_file(database, NEXT) as copy:
        assert query(copy, "SELECT DISTINCT mood FROM unit") == [("calm",)]
    assert database.read_bytes() == before and backups(database) == []


OPENS = """
import os, sys
from pathlib import Path
from tests.storage.schema.test_migrations import NEXT, Schema, add_mood
from tidepool.storage.file import prepare
print("ready", flush=True)
sys.stdin.readline()
prepare(Path(sys.argv[1]), schema=Schema(NEXT.text, (STEP,)))
"""


def opening(database: Path, step: str = "add_mood") -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", OPENS.replace("STEP", step), str(database)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def test_of_several_processes_that_open_an_old_file_one_upgrades_it_and_all_can_use_it(database: Path) -> None:
    prepare(database)
    several = [opening(database) for _ in range(3)]
    for one in several:
        assert one.stdin
        one.stdin.write("go\n")
        one.stdin.flush()
    assert [one.communicate(timeout=60)[0] or one.returncode for one in several] == [0, 0, 0]
    assert query(database, "PRAGMA user_version") == [(OLD + 1,)]
    assert backups(database) == [f"study.db.v{OLD}.bak"]


@pytest.mark.parametrize(
    "step", ["lambda connection: os._exit(9)", "lambda connection: (add_mood(connection), os._exit(9))"]
)
async def test_a_process_that_dies_while_it_upgrades_leaves_the_old_file(database: Path, step: str) -> None:
    await run_batch(game(5, 2), database)
    before = end_state(database)
    dying = opening(database, step)
    dying.communicate("go\n", timeout=60)
    assert dying.returncode == 9
    assert query(database, "PRAGMA user_version") == [(OLD,)] and end_state(database) == before
    prepare(database, schema=NEXT)
    assert query(database, "PRAGMA user_version") == [(OLD + 1,)] and backups(database) == [f"study.db.v{OLD}.bak"]
