"""No query holds the user up: Ctrl+C is heard while SQLite works, and what takes too long is ended and told."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tidepool.storage.errors import FileError
from tidepool.storage.file import LIMIT_VARIABLE, connect, prepare, reading

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
READS = f"""
import sys
from pathlib import Path
from tidepool.storage.file import reading
with reading(Path(sys.argv[1])) as connection:
    print("reading", flush=True)
    connection.execute("{ENDLESS}").fetchall()
"""


def test_ctrl_c_is_heard_in_the_middle_of_a_query(database: Path) -> None:
    prepare(database)
    with subprocess.Popen(
        [sys.executable, "-c", READS, str(database)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stderr and process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.stderr.read()
    assert process.returncode == -signal.SIGINT


def test_a_query_that_takes_too_long_is_ended_and_told(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(database)
    monkeypatch.setenv(LIMIT_VARIABLE, "0.05")
    with pytest.raises(FileError, match=f"took too long.*{LIMIT_VARIABLE}"), reading(database) as connection:
        connection.execute(ENDLESS).fetchall()


def test_the_limit_is_for_each_query_and_time_between_rows_is_nobodys(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(database)
    monkeypatch.setenv(LIMIT_VARIABLE, "0.3")
    monkeypatch.setattr("tidepool.storage.file.LONGEST_LOOK", 0.0)  # as where all the time goes by between rows
    with reading(database) as connection:
        rows = connection.execute(ENDLESS.replace("count(*) FROM n", "i FROM n LIMIT 900000"))
        assert sum(1 for _ in rows) == 900_000


def test_a_text_without_end_is_not_read(database: Path) -> None:
    prepare(database)
    with pytest.raises(FileError, match="more than 65 MiB"), reading(database) as connection:
        connection.execute("SELECT length(replace(hex(zeroblob(60000000)), '0', '000'))").fetchone()


def test_nothing_in_a_file_can_be_called(database: Path) -> None:
    prepare(database)
    with closing(connect(database)) as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone()[0] == 0
        with pytest.raises(sqlite3.OperationalError, match="not authorized"):
            connection.execute("SELECT load_extension(?)", (os.devnull,))
