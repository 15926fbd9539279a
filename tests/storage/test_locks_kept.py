"""Whatever this process does with the file, the locks of its open connections stay: nobody can take the WAL away."""

import subprocess
import sys
from pathlib import Path

from tidepool.storage.file import connect, prepare, reading, writing

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
