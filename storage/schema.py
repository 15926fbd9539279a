"""The schema of a study file: its SQL, its version, the upgrade steps, and the check when a file is opened.

`schema.sql` is generated from the SQLModel classes (`tables.py`) and the views. A file may contain exactly these tables,
indexes and views, and SQLite's own tables. A file with anything else is refused, because a trigger would run when Tidepool
writes, and a view in the place of a table would run when Tidepool reads.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tidepool.storage.errors import FileError

Step = Callable[[sqlite3.Connection], None]

_OPTIONAL = {
    "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)",
    "sqlite_stat1": "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "sqlite_stat4": "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}
"""tables that SQLite itself may add to a file"""
_OWN_INDEX = re.compile(r"sqlite_autoindex_(.+)_[0-9]+")
MOST_NAMED = 3
LONGEST_NAME = 80


class SchemaStatement(NamedTuple):
    kind: str
    """table, index or view"""
    name: str
    sql: str


@dataclass(frozen=True)
class Schema:
    """The contents of a file of the newest version, and the steps that upgrade older files."""

    text: str
    steps: tuple[Step, ...] = ()
    """step n (from 0) upgrades a file of version n + 1 to version n + 2; views are dropped before and created again after"""

    @property
    def version(self) -> int:
        return 1 + len(self.steps)

    @cached_property
    def statements(self) -> tuple[SchemaStatement, ...]:
        """Each table with its indexes, then the views."""
        return tuple(_parse_statement(sql) for sql in self.text.split(";\n") if sql.strip())

    def create(self, connection: sqlite3.Connection) -> None:
        """Creates an empty file of the newest version."""
        for statement in self.statements:
            connection.execute(statement.sql)
        connection.execute(f"PRAGMA user_version = {self.version}")

    def upgrade(self, connection: sqlite3.Connection) -> None:
        """Runs each missing step inside the caller's transaction."""
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
            quoted = name.replace('"', '""')
            connection.execute(f'DROP VIEW "{quoted}"')
        for step in self.steps[version_of(connection) - 1 :]:
            step(connection)
        for statement in self.statements:
            if statement.kind == "view":
                connection.execute(statement.sql)
        connection.execute(f"PRAGMA user_version = {self.version}")


def _parse_statement(sql: str) -> SchemaStatement:
    kind, name = sql.replace(" UNIQUE ", " ", 1).split()[1:3]
    return SchemaStatement(kind.lower(), name, sql.strip())


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


STEPS: tuple[Step, ...] = ()
"""the first release is version 1; each later change of the tables adds a step here"""
CURRENT = Schema((Path(__file__).parent / "schema.sql").read_text(encoding="utf-8"), STEPS)


def refuse_odd_schema(path: Path, connection: sqlite3.Connection, schema: Schema = CURRENT) -> None:
    """Raises if the file does not match the schema exactly. Runs before the file is written or resumed."""
    found = [message for message, _ in oddities(connection, schema)]
    if found:
        more = f", and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
        raise FileError(
            f"{path} does not match the schema of a Tidepool file: {', '.join(found[:MOST_NAMED])}{more}. "
            f"Another program changed it, so it was not opened. To copy its batches into a new file, run "
            "`tidepool --db NEW.db import`."
        )


def refuse_triggers(path: Path, connection: sqlite3.Connection) -> None:
    """Raises if a trigger would run during an upgrade. The rest of an old file is checked after the upgrade."""
    tables = "SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index', 'view') OR sql LIKE '%CREATE TRIGGER%'"
    for kind, name in connection.execute(tables):
        raise FileError(
            f"{path} does not match the schema of a Tidepool file: {_describe_extra(kind, name)}. It was not changed."
        )


def oddities(connection: sqlite3.Connection, schema: Schema = CURRENT) -> Iterator[tuple[str, bool]]:
    """Yields what is missing, changed or unknown in the file, and whether one of our tables is missing or different."""
    expected = {statement.name: statement for statement in schema.statements}
    rows = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").fetchall()
    seen: set[str] = set()
    places: set[object] = set()
    for kind, name, table, place, sql in rows:
        required = expected.get(name)
        if required is None and not _is_optional(kind, name, table, sql, expected):
            yield _describe_extra(kind, name), False
        elif required is not None and (required.kind != kind or not _same_sql(required.sql, sql)):
            yield f"the {required.kind} {name} has another definition", required.kind == "table"
        elif name in seen or (place and place in places):
            yield f"{_quote(name)} exists twice", True
        seen.add(name)
        places.add(place)
    for name, (kind, _, _) in expected.items():
        if name not in seen:
            yield f"the {kind} {name} is missing", kind == "table"


def normalized(sql: str) -> str:
    """Returns a statement with uniform spaces, which SQLite and the upgrade steps write differently."""
    return re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", sql)).strip()


def _same_sql(expected: str, sql: object) -> bool:
    return isinstance(sql, str) and (expected == sql or normalized(expected) == normalized(sql))


def _is_optional(kind: object, name: object, table: object, sql: object, expected: dict[str, SchemaStatement]) -> bool:
    if not isinstance(name, str):
        return False
    if kind == "index" and sql is None:  # SQLite creates it for a PRIMARY KEY or a UNIQUE
        own = _OWN_INDEX.fullmatch(name)
        return own is not None and own[1] == table and (table in expected or table in _OPTIONAL)
    return kind == "table" and name in _OPTIONAL and _same_sql(_OPTIONAL[name], sql)


def _describe_extra(kind: object, name: object) -> str:
    kind_name = kind if kind in ("table", "index", "view", "trigger") else "object"
    acts = ", which would run when the file is written" if kind == "trigger" else ""
    return f"unknown {kind_name} {_quote(name)}{acts}"


def _quote(name: object) -> str:
    return repr(str(name)[:LONGEST_NAME])
