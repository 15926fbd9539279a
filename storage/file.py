"""Opening a study file: made when missing, upgraded when old, refused when it is not ours or newer.

WAL while open; after a clean close a single plain file that can be copied and mailed.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from storage import migrations
from storage.errors import FileError

APPLICATION_ID = 0x7469_6465
"""Marks a SQLite file as ours in its header ("tide")."""

BUSY_SECONDS = 30


def prepare(path: Path, *, create: bool = True, steps: Mapping[int, migrations.Step] | None = None) -> None:
    """Makes sure that `path` is a study file of today's version."""
    steps = migrations.STEPS if steps is None else steps
    if not path.exists() or path.stat().st_size == 0:
        if not create:
            raise FileError(f"There is no file {path}. Run a study first, or name another file with --db.")
        _create(path, migrations.newest(steps))
        return
    with _explained(path), closing(connect(path)) as connection:
        refuse_strangers(path, connection, migrations.newest(steps))
        if migrations.version_of(connection) < migrations.newest(steps):
            _upgrade(path, connection, steps)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A plain connection in autocommit, so that no forgotten snapshot holds the WAL back."""
    # As a URI, so that files attached later may be named by one, too.
    address = path.resolve().as_uri() + ("?mode=ro" if read_only else "")
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A short-lived connection for queries; the file is left as it was."""
    prepare(path, create=False)
    with _explained(path), closing(connect(path)) as connection:
        connection.execute("PRAGMA query_only = ON")
        yield connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A short transaction: all of it or nothing. For small writes beside a running batch."""
    prepare(path)
    with _explained(path), closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def settle(path: Path) -> None:
    """Returns a file nobody else has open to a single plain one; silently leaves it where others do."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")


def _create(path: Path, version: int) -> None:
    if not path.parent.is_dir():
        raise FileError(f"Cannot make {path}: the folder {path.parent} does not exist. Create it first.")
    with _explained(path), closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        if migrations.version_of(connection) == 0:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            migrations.create(connection, version)
        connection.execute("COMMIT")


def refuse_strangers(path: Path, connection: sqlite3.Connection, newest: int | None = None) -> None:
    """Raises where the file is not ours, or newer than this program."""
    newest = migrations.newest(migrations.STEPS) if newest is None else newest
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise FileError(f"{path} is a SQLite file, but not Tidepool's. It was left as it is; name another with --db.")
    if (version := migrations.version_of(connection)) > newest:
        raise FileError(
            f"{path} was written by a newer Tidepool (file version {version}, this one knows {newest}). "
            "It was left as it is; upgrade Tidepool to open it."
        )


def _upgrade(path: Path, connection: sqlite3.Connection, steps: Mapping[int, migrations.Step]) -> None:
    copy = path.with_name(f"{path.name}.v{migrations.version_of(connection)}.bak")
    if not copy.exists():
        connection.execute("VACUUM INTO ?", (str(copy),))
    connection.execute("BEGIN IMMEDIATE")
    try:
        migrations.upgrade(connection, steps)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise FileError(explain(path, error)) from error


def explain(path: Path, error: Exception) -> str:
    """What SQLite's words mean for the person who opened `path`."""
    words = str(error)
    if "not a database" in words:
        return f"{path} is not a SQLite database. It was left as it is; name another file with --db."
    if "malformed" in words:
        return f"{path} is damaged ({words}). It was left as it is; restore a copy, or try SQLite's own .recover."
    if "full" in words:
        return f"The disk that holds {path} is full. Everything committed so far is safe; make room, then resume."
    if "readonly" in words or "unable to open" in words:
        return f"{path} cannot be written ({words}). Check the permissions of the file and its folder."
    if "locked" in words:
        return f"{path} is locked by another program ({words}). Close it there, then try again."
    return f"{path} cannot be used: {words}."
