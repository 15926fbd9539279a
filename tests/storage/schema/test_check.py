"""A study file that would act by itself is not opened."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from tidepool.storage.errors import FileError
from tidepool.storage.file import prepare, reading, writing

TURNS_BAD = "CREATE TRIGGER turns_bad AFTER UPDATE OF status ON batch BEGIN UPDATE batch SET config = '{}'; END"


@pytest.mark.parametrize("disguise", ["trigger", "table", "index", "view", "TRIGGER"])
def test_a_file_with_a_trigger_is_refused_and_left_as_it_is(database: Path, disguise: str) -> None:
    prepare(database)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(TURNS_BAD)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET type = ? WHERE type = 'trigger'", (disguise,))
        connection.commit()
    before = sha256(database.read_bytes()).hexdigest()
    for opened in (reading, writing):
        with pytest.raises(FileError, match="turns_bad"), opened(database):
            pytest.fail("it was opened")
    assert sha256(database.read_bytes()).hexdigest() == before
