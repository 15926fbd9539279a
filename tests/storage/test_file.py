"""Opening a study file: made when missing, refused when it is not ours, and then left as it was, byte for byte."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.state import query
from tests.support.studies import game
from tidepool.engine.run import resume_batch, run_batch
from tidepool.storage.errors import FileError
from tidepool.storage.file import APPLICATION_ID, prepare, reading, refuse_foreign_file, settle, tidy_journal, writing
from tidepool.storage.schema import CURRENT


def files_beside(path: Path) -> list[str]:
    return sorted(found.name for found in path.parent.iterdir() if found.name.startswith(path.name))


def foreign(path: Path, *, application_id: int = 0, version: int = 0, wal: bool = False) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {application_id}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("CREATE TABLE theirs (a)")
        connection.execute("INSERT INTO theirs VALUES (1)")
        connection.commit()
    if wal:
        _left_in_wal(path)


def _left_in_wal(path: Path) -> None:
    """As a program leaves it that was killed: committed rows are in the -wal file only."""
    code = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1])\n"
        "connection.execute('PRAGMA journal_mode = WAL')\n"
        "connection.execute('INSERT INTO theirs VALUES (2)')\n"
        "connection.commit()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


# -- made ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["missing", "empty"])
def test_a_missing_or_blank_file_becomes_a_study_file_of_today(database: Path, before: str) -> None:
    if before == "empty":
        database.touch()
    prepare(database)
    assert query(database, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert query(database, "PRAGMA user_version") == [(CURRENT.version,)]
    assert query(database, "SELECT count(*) FROM batches") == [(0,)]
    assert files_beside(database) == [database.name]


def test_preparing_again_changes_nothing(database: Path) -> None:
    prepare(database)
    before = database.read_bytes()
    prepare(database)
    with reading(database) as connection:
        connection.execute("SELECT * FROM batches").fetchall()
    assert database.read_bytes() == before


def test_reading_never_makes_a_file(database: Path) -> None:
    with pytest.raises(FileError, match="There is no file"), reading(database):
        pass
    assert not database.exists()


def test_two_processes_that_make_the_same_file_at_once_both_find_it_whole(database: Path) -> None:
    code = "import sys, pathlib; from tidepool.storage.file import prepare; prepare(pathlib.Path(sys.argv[1]))"
    makers = [subprocess.Popen([sys.executable, "-c", code, str(database)], cwd=Path.cwd()) for _ in range(3)]
    assert [maker.wait(60) for maker in makers] == [0, 0, 0]
    assert query(database, "PRAGMA integrity_check") == [("ok",)]


def test_a_short_write_is_all_or_nothing(database: Path) -> None:
    prepare(database)
    with pytest.raises(ValueError), writing(database) as connection:
        connection.execute("INSERT INTO library_type VALUES ('a', '{}', 0)")
        raise ValueError
    assert query(database, "SELECT count(*) FROM library_type") == [(0,)]


# -- refused ---------------------------------------------------------------------------------------------


def cut_off(path: Path) -> None:
    prepare(path)
    path.write_bytes(path.read_bytes()[:50])


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda path: path.write_bytes(b"name,secret\nAda,marigold\n" * 100), "is not a SQLite database"),
    "short text": (lambda path: path.write_text("hello"), "is not a SQLite database"),
    "cut off": (cut_off, "is not a SQLite database"),
    "somebody else's": (foreign, "is a SQLite file, but not a Tidepool study"),
    "somebody else's WAL": (lambda path: foreign(path, wal=True), "is a SQLite file, but not a Tidepool study"),
    "newer": (
        lambda path: foreign(path, application_id=APPLICATION_ID, version=CURRENT.version + 1),
        "was written by a newer Tidepool",
    ),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
async def test_a_file_that_is_not_ours_is_refused_and_left_as_it_was(
    database: Path, make: Callable[[Path], object], words: str
) -> None:
    make(database)
    before = {name: (database.parent / name).read_bytes() for name in files_beside(database)}
    for attempt in (lambda: prepare(database), lambda: reading(database).__enter__()):
        with pytest.raises(FileError, match=words):
            attempt()
    with pytest.raises(FileError):
        await run_batch(game(2, 1), database)
    assert {name: (database.parent / name).read_bytes() for name in files_beside(database)} == before


async def test_a_damaged_file_is_told_in_one_sentence_and_keeps_what_it_holds(database: Path) -> None:
    await run_batch(game(20, 2), database)
    whole = database.read_bytes()
    damaged = bytearray(whole)
    damaged[4096:] = os.urandom(len(damaged) - 4096)
    database.write_bytes(damaged)
    with pytest.raises(FileError, match=r"damaged|cannot be used|not a SQLite"):
        await run_batch(game(2, 1), database)
    assert database.read_bytes() == damaged


@pytest.mark.parametrize(
    ("where", "words"),
    [("missing/study.db", "the folder .* does not exist"), ("", "cannot be"), ("/proc/study.db", "cannot be written")],
)
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, where: str, words: str) -> None:
    with pytest.raises(FileError, match=words):
        prepare(tmp_path / where)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_without_permission_is_named(database: Path) -> None:
    prepare(database)
    database.chmod(0o400)
    with pytest.raises(FileError, match="cannot be written"), writing(database) as connection:
        connection.execute("INSERT INTO library_type VALUES ('a', '{}', 0)")


# -- full ------------------------------------------------------------------------------------------------


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_on_a_full_disk_the_run_stops_with_a_clear_word_and_goes_on_when_there_is_room(tiny_disk: Path) -> None:
    database = tiny_disk / "study.db"
    study = game(300, 5, service={"name": "live"})
    with pytest.raises(
        FileError, match=r"is full\. Everything committed so far is safe\. Free some space, then resume"
    ):
        await run_batch(study, database)
    assert query(database, "PRAGMA integrity_check") == [("ok",)]
    kept = query(database, "SELECT count(*) FROM messages")[0][0]
    assert 0 < kept < 1500
    subprocess.run(["mount", "-o", "remount,size=20m", str(tiny_disk)], check=True)
    summary = await resume_batch("last", database)
    assert summary["status"] == "completed" and summary["calls"]["replayed"] == kept


def test_a_file_that_does_not_fit_at_all_leaves_nothing_behind(tiny_disk: Path) -> None:
    (tiny_disk / "large").write_bytes(b"x" * 680_000)
    with pytest.raises(FileError, match=r"full|failed"):
        prepare(tiny_disk / "study.db")
    assert not (tiny_disk / "study.db").exists()


# -- closed ----------------------------------------------------------------------------------------------


async def test_after_a_clean_close_the_study_is_a_single_plain_file(database: Path, tmp_path: Path) -> None:
    await run_batch(game(5, 2), database)
    assert files_beside(database) == [database.name]
    assert query(database, "PRAGMA journal_mode") == [("delete",)]
    copy = tmp_path / "copy.db"
    copy.write_bytes(database.read_bytes())
    with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (10,)


async def test_settling_leaves_a_file_alone_that_somebody_else_reads(database: Path) -> None:
    await run_batch(game(2, 1), database)
    with closing(sqlite3.connect(database)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN")
        other.execute("SELECT * FROM batches").fetchall()
        settle(database)
        assert other.execute("SELECT count(*) FROM batches").fetchone() == (1,)


def test_the_journal_of_a_writer_that_was_killed_early_goes_and_that_of_one_at_work_stays(tmp_path: Path) -> None:
    database = tmp_path / "study.db"
    prepare(database)
    journal = tmp_path / "study.db-journal"
    journal.write_bytes(bytes(512))
    with reading(database):
        pass
    assert journal.exists(), "SQLite itself would tidy it by now"
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("INSERT INTO control (batch_number, at, command, arguments) VALUES (1, 0, 'stop', '')")
        assert journal.exists()
        tidy_journal(database)
        assert journal.exists()
        writer.commit()
    journal.write_bytes(bytes(512))
    tidy_journal(database)
    assert files_beside(database) == ["study.db"]
    assert query(database, "SELECT command FROM control") == [("stop",)]


class Changing(sqlite3.Connection):
    """Says that the file is locked at once, as SQLite may while another connection changes the journal."""

    refusals = 3

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        if self.refusals:
            self.refusals -= 1
            raise sqlite3.OperationalError("database is locked")
        return super().execute(*arguments)


def test_a_journal_that_is_being_changed_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    prepare(path)
    with closing(sqlite3.connect(path, factory=Changing)) as connection:
        assert refuse_foreign_file(path, connection) == CURRENT.version
    with closing(sqlite3.connect(path, factory=Changing)) as connection:
        connection.refusals = 10**6
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            refuse_foreign_file(path, connection)
