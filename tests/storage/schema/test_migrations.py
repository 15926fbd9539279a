"""A file of an older version is upgraded on opening, in one transaction, after a copy is put beside it."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.state import end_state, query
from tests.support.studies import game
from tidepool.engine.run import run_batch
from tidepool.storage import locks
from tidepool.storage.errors import FileError
from tidepool.storage.file import prepare
from tidepool.storage.lock_files import is_held
from tidepool.storage.schema.migrations import newest

NOW = newest()
OLD = Path(__file__).parents[2] / "fixtures" / "v1" / "secret_game_killed.db"
OPENS = "import sys; from pathlib import Path; from tidepool.storage.file import prepare; "


def add_mood(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE unit ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'")


def rename_the_text(connection: sqlite3.Connection) -> None:
    """Views name this column: they must not stand in the way of the step."""
    connection.execute("ALTER TABLE unit RENAME COLUMN mood TO temper")
    connection.execute("ALTER TABLE finding DROP COLUMN content")


def broken(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM call")
    connection.execute("SELECT * FROM nowhere")


async def test_each_missing_step_is_taken_once_and_what_the_file_holds_stays(database: Path) -> None:
    await run_batch(game(5, 2), database)
    before = end_state(database)
    steps = {NOW + 1: add_mood, NOW + 2: rename_the_text}
    prepare(database, steps=steps)
    prepare(database, steps=steps)
    assert query(database, "PRAGMA user_version") == [(NOW + 2,)]
    assert query(database, "SELECT DISTINCT temper FROM unit") == [("calm",)]
    assert end_state(database) == before


async def test_a_copy_of_the_old_version_is_put_beside_before_anything_changes(database: Path) -> None:
    await run_batch(game(5, 2), database)
    prepare(database, steps={NOW + 1: add_mood})
    copy = database.with_name(f"study.db.v{NOW}.bak")
    assert query(copy, "PRAGMA user_version") == [(NOW,)]
    assert end_state(copy) == end_state(database)


async def test_a_copy_that_is_there_already_is_not_taken_for_this_one(database: Path) -> None:
    await run_batch(game(5, 2), database)
    earlier = database.with_name(f"study.db.v{NOW}.bak")
    earlier.write_text("somebody's own")
    prepare(database, steps={NOW + 1: add_mood})
    assert earlier.read_text() == "somebody's own"
    assert end_state(database.with_name(f"study.db.v{NOW}.2.bak")) == end_state(database)


async def test_a_step_that_fails_rolls_everything_back(database: Path) -> None:
    await run_batch(game(5, 2), database)
    before = end_state(database)
    with pytest.raises(FileError, match="nowhere"):
        prepare(database, steps={NOW + 1: add_mood, NOW + 2: broken})
    assert query(database, "PRAGMA user_version") == [(NOW,)]
    assert end_state(database) == before
    assert not query(database, "SELECT 1 FROM pragma_table_info('unit') WHERE name = 'mood'")
    assert not [path for path in database.parent.iterdir() if ".v" in path.name], (
        "no copy is left of what did not change"
    )
    prepare(database, steps={NOW + 1: add_mood})
    assert query(database, "PRAGMA user_version") == [(NOW + 1,)]


async def test_no_file_is_upgraded_while_a_batch_runs_in_it(database: Path) -> None:
    summary = await run_batch(game(2, 1), database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE batch SET status = 'in_progress'")
    with locks.holding(database, summary["batch_id"]), pytest.raises(FileError, match="runs in it"):
        prepare(database, steps={NOW + 1: add_mood})
    assert query(database, "PRAGMA user_version") == [(NOW,)]
    assert not list(database.parent.glob("*.bak"))


async def test_a_study_that_was_killed_is_upgraded_with_what_its_wal_holds(database: Path) -> None:
    await run_batch(game(2, 1), database)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE batch SET name = 'in the wal'")
        connection.commit()
        prepare(database, steps={NOW + 1: add_mood})
    assert query(database, "SELECT name FROM batches") == [("in the wal",)]
    assert query(database.with_name(f"study.db.v{NOW}.bak"), "SELECT name FROM batches") == [("in the wal",)]


async def test_while_a_file_is_upgraded_nobody_begins_with_a_batch_of_it(database: Path) -> None:
    """An older program that opened the file before would go on in tables that it does not know."""
    batch_id = (await run_batch(game(2, 1), database))["batch_id"]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE batch SET status = 'interrupted'")
    held: list[bool] = []

    def step(connection: sqlite3.Connection) -> None:
        held.append(is_held(database, batch_id))

    prepare(database, steps={NOW + 1: step})
    assert held == [True] and not is_held(database, batch_id)
    assert not list(database.parent.glob("*.lock"))


def started(database: Path, program: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", OPENS + program, str(database)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )


def test_of_several_processes_that_open_an_old_file_one_upgrades_it_and_all_can_use_it(database: Path) -> None:
    shutil.copy(OLD, database)
    program = "print('ready', flush=True); sys.stdin.readline(); prepare(Path(sys.argv[1]))"
    several = [started(database, program) for _ in range(3)]
    for one in several:
        assert one.stdout and one.stdout.readline() == "ready\n"
    for one in several:
        assert one.stdin
        one.stdin.write("go\n")
        one.stdin.flush()
    assert [one.communicate(timeout=60)[0] or one.returncode for one in several] == [0, 0, 0]
    (copy,) = (path for path in database.parent.iterdir() if ".v1" in path.name)
    assert (query(copy, "PRAGMA user_version"), query(database, "PRAGMA user_version")) == ([(1,)], [(NOW,)])


@pytest.mark.parametrize("moment", ["before its step", "after its step"])
def test_a_process_that_dies_while_it_upgrades_leaves_the_old_file(database: Path, moment: str) -> None:
    shutil.copy(OLD, database)
    content = [query(OLD, f"SELECT * FROM {table} ORDER BY 1") for table in ("batch", "call", "outcome")]
    step = "lambda connection: os._exit(9)" if moment == "before its step" else "lambda c: (STEPS[2](c), os._exit(9))"
    dying = f"import os; from tidepool.storage.schema.migrations import STEPS; prepare(Path(sys.argv[1]), steps={{2: {step}}})"
    with started(database, dying) as process:
        assert process.wait(timeout=60) == 9
    assert query(database, "PRAGMA user_version") == [(1,)]
    assert [query(database, f"SELECT * FROM {table} ORDER BY 1") for table in ("batch", "call", "outcome")] == content
    prepare(database)
    assert query(database, "PRAGMA user_version") == [(NOW,)]
    assert [path.name for path in database.parent.iterdir() if ".v1" in path.name] == ["study.db.v1.bak"]


def test_an_upgrade_that_was_killed_after_its_copy_got_its_name_leaves_no_second_copy(database: Path) -> None:
    shutil.copy(OLD, database)
    prepare(database)
    shutil.copy(OLD, database)  # as it is where the transaction was never committed
    prepare(database)
    assert [path.name for path in database.parent.iterdir() if ".v1" in path.name] == ["study.db.v1.bak"]
