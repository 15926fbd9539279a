"""Numbered steps from one version of the file to the next.

A new file is made at once from the text of the newest version; an old one takes each missing step, in one transaction,
after a copy was put beside it. Views are taken away before and made anew at the end, so no step mentions them, and none
stands in its way. An upgraded file has the very schema of a new one.
"""

import sqlite3
from collections.abc import Callable, Mapping

from tidepool.storage.schema.statements import NEWEST, statements

Step = Callable[[sqlite3.Connection], None]

FIRST_VERSION = 1

_ADDED_BY_2 = {
    "progress": (
        "in_flight_usd FLOAT DEFAULT 0 NOT NULL",
        "reasoning_tokens INTEGER DEFAULT 0 NOT NULL",
        "cut INTEGER DEFAULT 0 NOT NULL",
        "unusable INTEGER DEFAULT 0 NOT NULL",
        "usage_missing INTEGER DEFAULT 0 NOT NULL",
    ),
    "call": (
        "finish_reason VARCHAR",
        "served_model VARCHAR",
        "thought TEXT",
        "reasoning_tokens INTEGER DEFAULT 0 NOT NULL",
        "usage_missing BOOLEAN DEFAULT 0 NOT NULL",
    ),
    "surplus": ("reason VARCHAR",),
    "outcome": (
        "scenario INTEGER",
        "secret VARCHAR",
        "uncertain BOOLEAN",
        "model VARCHAR",
        "served_model VARCHAR",
        "details VARCHAR",
    ),
}
_NEW_IN_2 = ("study", "study_cell", "problem", "answer", "code", "record")


def _to_2(connection: sqlite3.Connection) -> None:
    """Columns are added where they stand, however long the table; only `batch`, which is short, is made anew: its numbers
    are never used again from now on, and SQLite cannot change that in place."""
    for table, columns in _ADDED_BY_2.items():
        for column in columns:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    made = {statement.name: statement.sql for statement in statements(2) if statement.kind == "table"}
    kept = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(batch)"))
    connection.execute("ALTER TABLE batch RENAME TO batch_of_version_1")
    connection.execute(made["batch"])
    connection.execute(f"INSERT INTO batch ({kept}) SELECT {kept} FROM batch_of_version_1 ORDER BY number")
    connection.execute("DROP TABLE batch_of_version_1")
    for table in _NEW_IN_2:
        connection.execute(made[table])


def _to_3(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE call ADD COLUMN seal BLOB")


STEPS: dict[int, Step] = {2: _to_2, 3: _to_3}
"""STEPS[n] brings a file of version n - 1 to version n."""


def newest(steps: Mapping[int, Step] = STEPS) -> int:
    return max(steps, default=FIRST_VERSION)


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def create(connection: sqlite3.Connection, version: int) -> None:
    """An empty file, of the text of this version; of the newest, where steps beyond it are tried."""
    for statement in statements(min(version, NEWEST)):
        connection.execute(statement.sql)
    connection.execute(f"PRAGMA user_version = {version}")


def upgrade(connection: sqlite3.Connection, steps: Mapping[int, Step]) -> None:
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
        quoted = name.replace(chr(34), chr(34) * 2)
        connection.execute(f'DROP VIEW "{quoted}"')
    for number in range(version_of(connection) + 1, newest(steps) + 1):
        steps[number](connection)
    for statement in statements():
        if statement.kind == "view":
            connection.execute(statement.sql)
    connection.execute(f"PRAGMA user_version = {newest(steps)}")
