"""The schema of a study file: its text, its version, the steps that upgrade older files, and the check on open.

`schema.sql` is generated from the SQLModel classes (`tables.py`) and the views. A file may hold exactly its tables, indexes
and views, beside SQLite's own tables. A trigger would run with our own writes, and a view in a table's
place with our own reads, so a file with anything else is refused.
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
"""what SQLite itself may add to a file"""
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
    """What a file of the newest version holds, and how an older one becomes such a file."""

    text: str
    steps: tuple[Step, ...] = ()
    """the step at place n upgrades a file of version n + 1 to version n + 2; views are dropped before and made again after"""

    @property
    def version(self) -> int:
        return 1 + len(self.steps)

    @cached_property
    def statements(self) -> tuple[SchemaStatement, ...]:
        """Each table with its indexes, then the views."""
        return tuple(_parse_statement(sql) for sql in self.text.split(";\n") if sql.strip())

    def create(self, connection: sqlite3.Connection) -> None:
        """Makes an empty file of the newest version."""
        for statement in self.statements:
            connection.execute(statement.sql)
        connection.execute(f"PRAGMA user_version = {self.version}")

    def upgrade(self, connection: sqlite3.Connection) -> None:
        """Takes each missing step, inside the caller's transaction."""
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
"""the first release is version 1; a change of the tables adds its step here"""
CURRENT = Schema((Path(__file__).parent / "schema.sql").read_text(encoding="utf-8"), STEPS)


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something in a file that is not as the schema says."""

    name: str
    message: str
    in_table: bool = False
    """one of our tables is missing, or another than it should be"""


def refuse_odd_schema(path: Path, connection: sqlite3.Connection, schema: Schema = CURRENT) -> None:
    """Raises where the file does not hold exactly the schema: before it is written or resumed."""
    found = list(oddities(connection, schema))
    if found:
        more = f", and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
        raise FileError(
            f"{path} is not made as Tidepool makes its files: {', '.join(one.message for one in found[:MOST_NAMED])}{more}. It was "
            "changed by somebody, and was left as it is; `tidepool --db NEW.db import` takes its batches into another file, "
            "where their tables are as they should be."
        )


def refuse_triggers(path: Path, connection: sqlite3.Connection) -> None:
    """Raises where a trigger would act on an upgrade. The rest of an old file is checked once it is of the newest version."""
    tables = "SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index', 'view') OR sql LIKE '%CREATE TRIGGER%'"
    for kind, name in connection.execute(tables):
        raise FileError(
            f"{path} is not made as Tidepool makes its files: {_describe_extra(kind, name)}. It was left as it is."
        )


def oddities(connection: sqlite3.Connection, schema: Schema = CURRENT) -> Iterator[Oddity]:
    """What is missing, changed or too much in the file."""
    expected = {statement.name: statement for statement in schema.statements}
    rows = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").fetchall()
    seen: set[str] = set()
    places: set[object] = set()
    for kind, name, table, place, sql in rows:
        required = expected.get(name)
        if required is None and not _is_optional(kind, name, table, sql, expected):
            yield Oddity(str(name), _describe_extra(kind, name))
        elif required is not None and (required.kind != kind or not _same_sql(required.sql, sql)):
            yield Oddity(name, f"{name} is not the {required.kind} it should be", in_table=required.kind == "table")
        elif name in seen or (place and place in places):
            yield Oddity(str(name), f"{_quote(name)} is there twice", in_table=True)
        seen.add(name)
        places.add(place)
    for name, (kind, _, _) in expected.items():
        if name not in seen:
            yield Oddity(name, f"the {kind} {name} is missing", in_table=kind == "table")


def normalized(sql: str) -> str:
    """A statement without what SQLite, or a step of ours, writes otherwise for the same thing."""
    return re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", sql)).strip()


def _same_sql(expected: str, sql: object) -> bool:
    return isinstance(sql, str) and (expected == sql or normalized(expected) == normalized(sql))


def _is_optional(kind: object, name: object, table: object, sql: object, expected: dict[str, SchemaStatement]) -> bool:
    if not isinstance(name, str):
        return False
    if kind == "index" and sql is None:  # SQLite makes it for a PRIMARY KEY or a UNIQUE
        own = _OWN_INDEX.fullmatch(name)
        return own is not None and own[1] == table and (table in expected or table in _OPTIONAL)
    return kind == "table" and name in _OPTIONAL and _same_sql(_OPTIONAL[name], sql)


def _describe_extra(kind: object, name: object) -> str:
    kind_name = kind if kind in ("table", "index", "view", "trigger") else "thing"
    acts = ", which would act on its own when the file is written" if kind == "trigger" else ""
    return f"it holds a {kind_name} {_quote(name)} that is not ours{acts}"


def _quote(name: object) -> str:
    return repr(str(name)[:LONGEST_NAME])
