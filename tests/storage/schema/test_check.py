"""A study file that is not made as Tidepool makes it is not opened: nothing in it acts, nor stands in a table's place."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.all_kinds import BATCHES, file_of_all_kinds
from tidepool.engine.publishing.reuse import import_file
from tidepool.storage.errors import FileError
from tidepool.storage.file import prepare, reading, writing

TURNS_BAD = "CREATE TRIGGER turns_bad AFTER UPDATE OF status ON batch BEGIN UPDATE batch SET config = '{}'; END"
BY_HAND = "PRAGMA writable_schema = ON;"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS x FROM n"

ADDED = {
    "a trigger": (f"{TURNS_BAD};", "trigger 'turns_bad'"),
    "a view": ("CREATE VIEW mine AS SELECT 1;", "view 'mine'"),
    "a table": ("CREATE TABLE mine (a);", "table 'mine'"),
    "an index": ("CREATE INDEX mine ON batch (name);", "index 'mine'"),
    "an index on an expression": ("CREATE INDEX mine ON batch (hex(name));", "index 'mine'"),
    "a virtual table": ("CREATE VIRTUAL TABLE mine USING fts5(a);", "table 'mine'"),
    "a name with quotes": ("""CREATE VIEW "odd ""name" AS SELECT 1;""", "odd"),
    "a name that is markup": ("""CREATE VIEW "[red]x\x1b[2J" AS SELECT 1;""", "red"),
}
"""what a file has too much: it stays behind when its batches are imported"""
CHANGED = {
    "a view in a table's place": (f"DROP TABLE finding; CREATE VIEW finding AS {ENDLESS};", "finding"),
    "a virtual table in a table's place": (
        "DROP TABLE finding; CREATE VIRTUAL TABLE finding USING fts5(a);",
        "finding",
    ),
    "a missing table": ("DROP TABLE finding;", "table finding is missing"),
    "one column more": ("ALTER TABLE finding ADD COLUMN mood;", "finding"),
    "another name of a column": ("ALTER TABLE wave RENAME COLUMN cached TO hidden;", "wave"),
    "a generated column": ("ALTER TABLE finding ADD COLUMN more AS (hex(content));", "finding"),
    "a check": ("DROP TABLE sit_out; CREATE TABLE sit_out (a CHECK (a > random()));", "sit_out"),
    "no limit on what may be empty": (
        f"{BY_HAND} UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'batch';",
        "batch",
    ),
    "two names for one place": (
        f"{BY_HAND} UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'prompt') "
        "WHERE name = 'library_type';",
        "twice",
    ),
}
"""one of our tables is not what it should be: nothing is imported"""
BESIDE = {
    "an index that is missing": ("DROP INDEX call_by_key;", "index call_by_key is missing"),
    "another view of ours": ("DROP VIEW waves; CREATE VIEW waves AS SELECT 1;", "waves"),
    "an index made otherwise": ("DROP INDEX call_by_key; CREATE INDEX call_by_key ON call (text);", "call_by_key"),
    "a virtual table": ("CREATE VIRTUAL TABLE extra USING fts5(text);", "extra"),
}


def changed(path: Path, script: str) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return file_of_all_kinds(tmp_path / "theirs.db")


def assert_refused(path: Path, words: str, before: str) -> None:
    for opened in (reading, writing):
        with pytest.raises(FileError, match=words) as told, opened(path):
            pytest.fail("it was opened")
        assert str(path) in str(told.value)
    assert sha256(path.read_bytes()).hexdigest() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", [*ADDED, *CHANGED, *BESIDE])
def test_what_is_not_as_we_make_it_is_named_and_the_file_left_as_it_is(file: Path, name: str) -> None:
    script, words = {**ADDED, **CHANGED, **BESIDE}[name]
    assert_refused(file, words, changed(file, script))


@pytest.mark.parametrize("disguise", ["table", "index", "view", "TRIGGER", "batches"])
def test_a_trigger_is_found_under_every_name(file: Path, disguise: str) -> None:
    changed(file, TURNS_BAD)
    before = changed(file, f"{BY_HAND} UPDATE sqlite_schema SET type = '{disguise}' WHERE type = 'trigger';")
    assert_refused(file, "turns_bad", before)


@pytest.mark.parametrize("version", [0, -1, -(2**31)])
def test_a_version_there_is_not_is_told_without_a_copy(file: Path, version: int) -> None:
    assert_refused(file, f"version {version}", changed(file, f"PRAGMA user_version = {version}"))


def test_what_sqlite_counts_is_ours(file: Path) -> None:
    changed(file, "ANALYZE;")
    with reading(file) as connection:
        assert connection.execute("SELECT count(*) FROM batches").fetchone()[0] == BATCHES


@pytest.mark.parametrize("name", [*ADDED, *BESIDE])
def test_import_brings_the_batches_of_a_file_that_holds_more_than_ours(file: Path, name: str) -> None:
    before = changed(file, {**ADDED, **BESIDE}[name][0])
    new = file.with_name("new.db")
    assert len(import_file(new, file).batches) == BATCHES
    prepare(new)
    assert sha256(file.read_bytes()).hexdigest() == before


@pytest.mark.parametrize("name", CHANGED)
def test_import_refuses_tables_that_are_not_ours(file: Path, name: str) -> None:
    changed(file, CHANGED[name][0])
    with pytest.raises(FileError, match="not imported"):
        import_file(file.with_name("new.db"), file)
