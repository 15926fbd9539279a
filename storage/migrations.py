"""Numbered steps from one version of the file to the next.

A new file is made from the tables at once and carries the newest version; an old one takes each missing step,
in one transaction, after a copy was put beside it. Views are taken away before and made anew at the end, so no step
mentions them, and none stands in its way.
"""

import sqlite3
from collections.abc import Callable, Mapping

Step = Callable[[sqlite3.Connection], None]

FIRST_VERSION = 1

STEPS: dict[int, Step] = {}
"""STEPS[n] brings a file of version n - 1 to version n."""


def newest(steps: Mapping[int, Step]) -> int:
    return max(steps, default=FIRST_VERSION)


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def create(connection: sqlite3.Connection, version: int) -> None:
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.schema import CreateIndex, CreateTable
    from sqlmodel import SQLModel

    import tidepool.storage.tables  # noqa: F401  (registers the tables)

    dialect = sqlite.dialect()
    for table in SQLModel.metadata.sorted_tables:
        connection.execute(str(CreateTable(table).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            connection.execute(str(CreateIndex(index).compile(dialect=dialect)))
    make_views(connection)
    connection.execute(f"PRAGMA user_version = {version}")


def upgrade(connection: sqlite3.Connection, steps: Mapping[int, Step]) -> None:
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
        quoted = name.replace(chr(34), chr(34) * 2)
        connection.execute(f'DROP VIEW "{quoted}"')
    for number in range(version_of(connection) + 1, newest(steps) + 1):
        steps[number](connection)
    make_views(connection)
    connection.execute(f"PRAGMA user_version = {newest(steps)}")


def make_views(connection: sqlite3.Connection) -> None:
    from tidepool.storage.views import VIEWS

    for name, query in VIEWS.items():
        connection.execute(f"DROP VIEW IF EXISTS {name}")
        connection.execute(f"CREATE VIEW {name} AS {query}")
