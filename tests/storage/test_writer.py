"""Rule 12: one writer, whole groups at once, and nobody goes on before the commit."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import bindparam
from sqlmodel import col, delete, update

from tests.support.state import query
from tidepool.storage.errors import FileError
from tidepool.storage.file import LimitedConnection, connect, prepare, reading, settle
from tidepool.storage.tables import LibraryType
from tidepool.storage.writer import Writer, compile_statement, insert_into, update_by

INSERT = insert_into(LibraryType, "name", "definition", "created_at")
RENAME = update_by(LibraryType, ["name"], ["definition"])
FORGET = compile_statement(delete(LibraryType).where(col(LibraryType.name) == bindparam("name")), rank=2)
COUNT = compile_statement(
    update(LibraryType).values(created_at=col(LibraryType.created_at) + bindparam("more")), rank=1
)


async def started(database: Path) -> Writer:
    prepare(database)
    writer = Writer(database)
    await writer.open()
    return writer


@pytest.fixture
async def writer(database: Path) -> AsyncIterator[Writer]:
    writer = await started(database)
    yield writer
    await writer.close()


@pytest.fixture
def reader(database: Path, writer: Writer) -> Iterator[sqlite3.Connection]:
    with closing(connect(database)) as connection:
        yield connection


def names(reader: sqlite3.Connection) -> list[str]:
    return [row[0] for row in reader.execute("SELECT name FROM library_type ORDER BY rowid")]


async def test_what_was_put_is_on_disk_when_committed_returns(writer: Writer, reader: sqlite3.Connection) -> None:
    writer.put(INSERT, ("a", "", 0.0))
    assert names(reader) == []
    await writer.committed()
    assert names(reader) == ["a"]


async def test_many_stories_share_one_commit(writer: Writer, reader: sqlite3.Connection) -> None:
    """`data_version` changes once for every commit of somebody else."""
    commits = 0
    last = reader.execute("PRAGMA data_version").fetchone()[0]

    async def story(number: int) -> None:
        nonlocal commits, last
        writer.put(INSERT, (str(number), "", 0.0))
        await writer.committed()
        if (now := reader.execute("PRAGMA data_version").fetchone()[0]) != last:
            commits, last = commits + 1, now

    await asyncio.gather(*(story(number) for number in range(500)))
    assert commits <= 3 and len(names(reader)) == 500


async def test_rows_that_come_one_by_one_share_a_commit_while_many_are_outside(
    writer: Writer, reader: sqlite3.Connection
) -> None:
    async def commits_of(rows: int) -> int:
        seen = {reader.execute("PRAGMA data_version").fetchone()[0]}
        for number in range(rows):
            writer.put(INSERT, (f"{writer.calls_in_flight} {number}", "", 0.0))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            seen.add(reader.execute("PRAGMA data_version").fetchone()[0])
        await writer.committed()
        return len(seen)

    alone = await commits_of(20)
    writer.calls_in_flight = 100
    assert await commits_of(20) <= 3 < 10 < alone
    assert len(names(reader)) == 40


async def test_within_a_group_lower_ranks_run_first(writer: Writer, reader: sqlite3.Connection) -> None:
    writer.put(FORGET, ("gone",))
    writer.put(RENAME, ("new", "kept"))
    writer.put(INSERT, ("kept", "old", 0.0))
    writer.put(INSERT, ("gone", "old", 0.0))
    await writer.committed()
    assert reader.execute("SELECT name, definition FROM library_type").fetchall()[0][:] == ("kept", "new")
    assert names(reader) == ["kept"]


async def test_counters_are_committed_with_the_rows_they_count(database: Path, writer: Writer) -> None:
    rows = 0

    def count() -> None:
        nonlocal rows
        if rows:
            writer.put(COUNT, (rows,))
            rows = 0

    writer.before_commit.append(count)
    writer.put(INSERT, ("a", "", 0.0))
    rows += 1
    await writer.committed()
    assert query(database, "SELECT created_at FROM library_type") == [(1.0,)]


async def test_a_group_with_a_row_that_cannot_be_written_is_not_written_at_all(database: Path) -> None:
    writer = await started(database)
    told: list[FileError] = []
    writer.on_failure = told.append
    writer.put(INSERT, ("good", "", 0.0))
    await writer.committed()
    writer.put(INSERT, ("new", "", 0.0))
    writer.put(INSERT, ("good", "", 0.0))
    with pytest.raises(FileError, match="UNIQUE"):
        await writer.committed()
    with pytest.raises(FileError, match="UNIQUE"):
        await writer.committed()
    with pytest.raises(FileError):
        await writer.close()
    assert len(told) == 1
    assert query(database, "SELECT name FROM library_type") == [("good",)]


@pytest.mark.parametrize("value", ["half \ud83d", 2**70, object()])
async def test_a_value_that_sqlite_cannot_hold_is_told_and_hangs_nobody(database: Path, value: object) -> None:
    writer = await started(database)
    writer.put(INSERT, ("a", value, 0.0))
    with pytest.raises(FileError):
        await asyncio.wait_for(writer.committed(), 5)
    with pytest.raises(FileError):
        await writer.close()


async def test_when_the_disk_is_full_whoever_waits_is_told_and_what_was_committed_is_safe(database: Path) -> None:
    writer = await started(database)
    pages = query(database, "PRAGMA page_count")[0][0]
    await writer._connection.execute(f"PRAGMA max_page_count = {pages + 5}")
    written = 0
    with pytest.raises(FileError, match=r"is full\. Everything committed so far is safe"):
        while True:
            writer.put(INSERT, (str(written), "x" * 1000, 0.0))
            await writer.committed()
            written += 1
    with pytest.raises(FileError):
        await writer.close()
    assert query(database, "SELECT count(*) FROM library_type") == [(written,)]
    assert written > 0


async def test_a_writer_whose_task_is_cancelled_from_outside_hangs_nobody(database: Path) -> None:
    """As when a caller's own loop ends and cancels every task in it."""
    writer = await started(database)
    writer.put(INSERT, ("a", "", 0.0))
    waiting = writer.committed()
    writer._task.cancel()
    with pytest.raises(FileError, match="cancelled"):
        await asyncio.wait_for(waiting, 5)
    with pytest.raises(FileError):
        await asyncio.wait_for(writer.close(), 5)


async def test_the_wal_does_not_grow_without_end_under_a_reader_in_autocommit(
    database: Path, writer: Writer, reader: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 14: only the lock holder checkpoints, and short reads do not hold it back."""
    monkeypatch.setattr("tidepool.storage.writer.CHECKPOINT_ROWS", 200)
    wal = database.with_name(database.name + "-wal")
    largest = 0
    for round_ in range(20):
        for number in range(200):
            writer.put(INSERT, (f"{round_}/{number}", "x" * 500, 0.0))
        await writer.committed()
        reader.execute("SELECT count(*) FROM library_type").fetchone()
        largest = max(largest, wal.stat().st_size)
    assert largest < 3_000_000 < 20 * 200 * 500 * 2


async def test_writers_that_open_and_settle_one_file_at_the_same_moment_wait_for_each_other(database: Path) -> None:
    prepare(database)

    async def come_and_go(number: int) -> None:
        for visit in range(5):
            writer = Writer(database)
            await writer.open()
            writer.put(INSERT, (f"{number}.{visit}", "", 0.0))
            await writer.close()
            await asyncio.to_thread(settle, database)

    await asyncio.gather(*(come_and_go(number) for number in range(6)))
    assert query(database, "SELECT count(*) FROM library_type") == [(30,)]


async def test_a_file_that_cannot_become_a_log_is_let_go_and_told_in_words(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(database)
    monkeypatch.setattr("tidepool.storage.writer.BUSY_SECONDS", 0.05)
    with closing(connect(database)) as hog:
        hog.execute("BEGIN EXCLUSIVE")
        with pytest.raises(FileError, match="locked by another program"):
            await Writer(database).open()


async def test_the_loop_does_not_wait_for_another_program_that_writes(writer: Writer, database: Path) -> None:
    with closing(connect(database)) as hog:
        hog.execute("BEGIN IMMEDIATE")
        writer.put(INSERT, ("a", "", 0.0))
        waiting = writer.committed()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        hog.execute("COMMIT")
    await waiting
    assert query(database, "SELECT name FROM library_type") == [("a",)]


async def test_a_file_that_is_opened_can_be_read_by_whoever_holds_up_the_loop(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two batches of one process begin at once: the one looks into the file just when the other's writer changes its journal."""
    prepare(database)
    begun, may_go_on, done = Event(), Event(), Event()
    plain = LimitedConnection.execute

    def execute(connection: LimitedConnection, sql: str, *more: Any) -> sqlite3.Cursor:
        if "journal_mode" not in sql:
            return plain(connection, sql, *more)
        begun.set()
        may_go_on.wait()
        try:
            return plain(connection, sql, *more)
        finally:
            done.set()

    monkeypatch.setattr(LimitedConnection, "execute", execute)
    writer = Writer(database)
    opening = asyncio.create_task(writer.open())
    await asyncio.to_thread(begun.wait)
    may_go_on.set()
    done.wait()
    with reading(database) as connection:
        assert connection.execute("SELECT count(*) FROM batch").fetchone()[0] == 0
    await opening
    await writer.close()
