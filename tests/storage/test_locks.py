"""Rule 13: who runs a batch holds an OS lock; a heartbeat only feeds what watchers see."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.state import change, query
from tests.support.studies import game
from tidepool.engine.run import resume_batch, run_batch
from tidepool.storage import batches
from tidepool.storage.batches import delete_batch, find_batch, is_running, progress_of, status_now
from tidepool.storage.errors import BatchLocked, FileError, NotFound
from tidepool.storage.file import connect, is_held, lock_path, prepare, reading, writing
from tidepool.storage.studies import steer_any
from tidepool.tui.command.main import main

HOLD = """
import pathlib, sys
from tidepool.storage import batches
with batches.holding(pathlib.Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
async def batch_id(database: Path) -> str:
    return (await run_batch(game(2, 1), database))["batch_id"]


def holder(database: Path, batch_id: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", HOLD, str(database), batch_id]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


async def test_a_batch_that_another_process_runs_cannot_be_run_until_that_dies(database: Path, batch_id: str) -> None:
    change(database, "UPDATE batch SET status = 'in_progress', host = ?", socket.gethostname())
    with holder(database, batch_id) as process:
        assert is_held(database, batch_id)
        with pytest.raises(BatchLocked, match="is already running in another process"):
            await resume_batch(batch_id, database)
        with pytest.raises(BatchLocked, match="Stop it first"):
            delete_batch(database, batch_id)
        process.kill()
        process.wait()
    assert not is_held(database, batch_id)
    assert (await resume_batch(batch_id, database))["status"] == "completed"


def test_asking_again_and_again_whether_a_batch_runs_never_takes_it_from_who_runs_it(
    database: Path, batch_id: str
) -> None:
    """Watchers look four times a second, also at the very moment at which a run begins or ends."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def watch() -> None:
        while not stop.wait(0.001):
            is_held(database, batch_id)

    watchers = [threading.Thread(target=watch) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    try:
        for _ in range(60):
            with batches.holding(database, batch_id):
                if not is_held(database, batch_id):
                    failures.append(AssertionError("held, yet shown as free"))
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join()
    assert failures == []


async def test_a_dead_batch_is_shown_as_interrupted_at_once(database: Path, batch_id: str) -> None:
    change(database, "UPDATE batch SET status = 'in_progress', host = ?", socket.gethostname())
    change(database, "UPDATE progress SET heartbeat_at = ?", time.time())
    with reading(database) as connection:
        batch = find_batch(connection, batch_id)
        assert status_now(database, batch, progress_of(connection, batch["number"])) == "interrupted"
        assert not is_running(database, batch, progress_of(connection, batch["number"]))
    with pytest.raises(NotFound, match=r"is not running \(it is interrupted\): nothing to stop"):
        steer_any(database, batch_id, "stop")


def test_on_another_host_the_heartbeat_tells(database: Path, batch_id: str) -> None:
    change(database, "UPDATE batch SET status = 'in_progress', host = 'elsewhere'")
    for age, shown in ((1, "in_progress"), (60, "interrupted")):
        change(database, "UPDATE progress SET heartbeat_at = ?", time.time() - age)
        with reading(database) as connection:
            batch = find_batch(connection, batch_id)
            assert status_now(database, batch, progress_of(connection, batch["number"])) == shown


@pytest.mark.parametrize("beating", [True, False])
async def test_a_share_used_by_two_hosts_is_refused_while_one_runs(
    database: Path, batch_id: str, beating: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clocks of two hosts may differ: the heartbeat is watched, not compared."""
    monkeypatch.setattr(batches, "HEARTBEAT_SECONDS", 0.05)
    change(database, "UPDATE batch SET status = 'in_progress', host = 'elsewhere'")
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(0.02):
            change(database, "UPDATE progress SET heartbeat = heartbeat + 1")

    elsewhere = threading.Thread(target=beat)
    if beating:
        elsewhere.start()
    try:
        if beating:
            with pytest.raises(BatchLocked, match="on the host elsewhere"):
                await resume_batch(batch_id, database)
        else:
            assert (await resume_batch(batch_id, database))["status"] == "completed"
    finally:
        stop.set()
        if beating:
            elsewhere.join()


async def test_a_lock_does_not_travel_with_a_copy(database: Path, batch_id: str, tmp_path: Path) -> None:
    with batches.holding(database, batch_id):
        copy = tmp_path / "copy" / "study.db"
        copy.parent.mkdir()
        copy.write_bytes(database.read_bytes())
        assert not is_held(copy, batch_id)
    assert query(copy, "SELECT count(*) FROM batches") == [(1,)]


@pytest.mark.parametrize("status", ["pending", "interrupted", "completed"])
def test_a_batch_whose_lock_is_held_is_not_deleted_whatever_the_file_says_of_it(
    database: Path, batch_id: str, status: str
) -> None:
    """Its runner holds the lock before it writes that it has begun."""
    change(database, "UPDATE batch SET status = ?", status)
    with batches.holding(database, batch_id), pytest.raises(BatchLocked):
        delete_batch(database, batch_id)
    with reading(database) as connection:
        assert find_batch(connection, batch_id)["status"] == status
    delete_batch(database, batch_id)


async def test_what_was_deleted_before_its_runner_began_is_not_run_and_its_number_never_used_again(
    database: Path, batch_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(database, "UPDATE batch SET status = 'interrupted'")
    with reading(database) as connection:
        number = find_batch(connection, batch_id)["number"]
    hold = batches.holding

    @contextmanager
    def too_late(path: Path, held: str) -> Iterator[None]:
        monkeypatch.setattr(batches, "holding", hold)
        delete_batch(path, held)
        with hold(path, held):
            yield

    monkeypatch.setattr(batches, "holding", too_late)
    with pytest.raises(NotFound):
        await resume_batch(batch_id, database)
    await run_batch(game(2, 1), database)
    with reading(database) as connection:
        assert find_batch(connection, "last")["number"] > number
    assert not list(database.parent.glob("*.lock"))


def test_lock_files_that_killed_processes_left_are_tidied_away_and_those_held_stay(
    database: Path, batch_id: str
) -> None:
    left = lock_path(database, "deadbeef")
    left.touch()
    with batches.holding(database, batch_id):
        assert main(["--db", str(database), "list"]) == 0
        assert lock_path(database, batch_id).exists() and not left.exists()


async def test_a_batch_that_ends_while_one_looks_is_not_shown_as_interrupted(database: Path, batch_id: str) -> None:
    change(database, "UPDATE batch SET status = 'in_progress', host = ?", socket.gethostname())
    with reading(database) as connection:
        before = find_batch(connection, batch_id)
        progress = progress_of(connection, before["number"])
    change(database, "UPDATE batch SET status = 'completed'")
    assert status_now(database, before, progress) == "completed"


def test_a_file_that_goes_by_two_names_has_one_lock(database: Path, batch_id: str, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(database)
    with batches.holding(database, batch_id), pytest.raises(BatchLocked), batches.holding(link, batch_id):
        pytest.fail("it was held twice")
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(FileError, match=r"link\.db"):
        prepare(link)


# -- locks of connections -----------------------------------------------------------------------------


TAKE_AWAY = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0.1, isolation_level=None)
try:
    print(connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0])
except sqlite3.OperationalError as error:
    print(error)
"""


def test_opening_the_file_again_does_not_let_another_process_take_the_wal_away(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    prepare(path)
    writer = connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    watcher = connect(path)
    watcher.execute("SELECT count(*) FROM batch").fetchone()
    prepare(path)
    with reading(path):
        pass
    with writing(path):
        pass
    said = subprocess.run(
        [sys.executable, "-c", TAKE_AWAY, str(path)], capture_output=True, text=True, check=True, timeout=30
    ).stdout.strip()
    assert said in ("database is locked", "wal")
    assert watcher.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    writer.close()
    watcher.close()
