"""Builds every statement that writes to a study file from the SQLModel classes (`tables.py`).

The writer's statements are compiled once: their SQL and the order of their values, which then travel as plain tuples. That
costs a few microseconds a row, where SQLAlchemy's own execution takes ten times as long. Rare changes are compiled when they
are made (`execute`, `add`). Importing this module loads SQLModel, so modules that also serve readers import it inside the
functions that write.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import MetaData, Table, bindparam
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import Insert, Update, UpdateBase
from sqlmodel import SQLModel, delete, insert, update

Row = Sequence[Any]
_DIALECT = sqlite.dialect(paramstyle="qmark")


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A compiled statement of the writer."""

    sql: str
    names: tuple[str, ...]
    """of its values, in their order: columns, or parameters"""
    rank: int
    """within a group lower ranks run first: a row is inserted before it is updated"""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """values that the statement itself says"""

    def row(self, **values: Any) -> Row:
        known = {**self.constants, **values}
        return tuple([known[name] for name in self.names])


@cache
def insert_into(table: type[SQLModel], *columns: str, conflict: str = "") -> Statement:
    """Inserts these columns; `conflict` is IGNORE or REPLACE. Values come in the table's order of columns."""
    statement = insert(table).prefix_with(f"OR {conflict}") if conflict else insert(table)
    return compile_statement(statement, rank=0, columns=columns)


def update_by(table: type[SQLModel], keys: Sequence[str], columns: Sequence[str], rank: int = 1) -> Statement:
    """Sets `columns` of the row whose `keys` have these values."""
    statement = update(table).values({name: bindparam(f"new_{name}") for name in columns})
    for name in keys:
        statement = statement.where(table_of(table).c[name] == bindparam(f"key_{name}"))
    compiled = compile_statement(statement, rank)
    return Statement(compiled.sql, tuple(name[len("new_") :] for name in compiled.names), rank)


def compile_statement(statement: Insert | UpdateBase, rank: int, columns: Sequence[str] | None = None) -> Statement:
    compiled = _compile(statement, columns)
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    return Statement(str(compiled), tuple(compiled.positiontup or ()), rank, constants)


def table_of(table: type[SQLModel]) -> Table:
    found: Table = SQLModel.metadata.tables[str(table.__tablename__)]
    return found


def table_in(table: Table, schema: str) -> Table:
    """The same table in a file that is attached under the name `schema`."""
    return table.to_metadata(MetaData(), schema=schema)


def tables_with(column: str) -> list[Table]:
    """The tables that have a column of this name."""
    return [table for table in SQLModel.metadata.sorted_tables if column in table.c]


def execute(
    connection: sqlite3.Connection,
    statement: Insert | Update | UpdateBase,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> sqlite3.Cursor:
    """Runs a rare change; `rows` runs it once for each, by the names of its parameters or columns."""
    if rows is None:
        compiled = _compile(statement)
        return connection.execute(str(compiled), [compiled.params[name] for name in compiled.positiontup or ()])
    listed = list(rows)
    if not listed:
        return connection.cursor()
    compiled = _compile(statement, list(listed[0]) if isinstance(statement, Insert) else None)
    names = compiled.positiontup or ()
    return connection.executemany(
        str(compiled), [[{**compiled.params, **row}[name] for name in names] for row in listed]
    )


def add(connection: sqlite3.Connection, row: SQLModel) -> int:
    """Inserts one row with the defaults of its class; returns its rowid."""
    values = {name: value for name, value in row.model_dump().items() if value is not None}
    return int(execute(connection, insert(type(row)).values(values)).lastrowid or 0)


def insert_rows(
    connection: sqlite3.Connection, table: type[SQLModel], rows: Iterable[Mapping[str, Any]], conflict: str
) -> None:
    """Inserts rows; `conflict` is IGNORE or REPLACE."""
    execute(connection, insert(table).prefix_with(f"OR {conflict}"), rows)


def change(
    connection: sqlite3.Connection, table: type[SQLModel], where: Mapping[str, Any], **values: Any
) -> sqlite3.Cursor:
    """Sets `values` in the rows whose columns are as `where` says."""
    return execute(connection, update(table).filter_by(**where).values(**values))


def remove(connection: sqlite3.Connection, table: type[SQLModel], **where: Any) -> sqlite3.Cursor:
    """Deletes the rows whose columns are as `where` says."""
    return execute(connection, delete(table).filter_by(**where))


def _compile(statement: Insert | UpdateBase, columns: Sequence[str] | None = None) -> SQLCompiler:
    compiled = statement.compile(
        dialect=_DIALECT, column_keys=columns and list(columns), compile_kwargs={"render_postcompile": True}
    )
    assert isinstance(compiled, SQLCompiler)
    return compiled
