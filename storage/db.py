"""Helpers for rare changes of a study file: the tables, SQLAlchemy's statements and a few functions.

Importing SQLModel takes half a second, and most modules of storage also serve commands that only read. They import this
module, which loads SQLModel when one of its names is first used.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement as ColumnElement
    from sqlalchemy import MetaData as MetaData
    from sqlalchemy import Table as Table
    from sqlalchemy import bindparam as bindparam
    from sqlalchemy import delete as delete
    from sqlalchemy import exists as exists
    from sqlalchemy import func as func
    from sqlalchemy import insert as insert
    from sqlalchemy import literal as literal
    from sqlalchemy import select as select
    from sqlalchemy import text as text
    from sqlalchemy import update as update
    from sqlalchemy.sql.dml import UpdateBase
    from sqlmodel import SQLModel as SQLModel
    from sqlmodel import col as col

    from tidepool.storage.tables import *  # noqa: F403
    from tidepool.storage.writer import table_of as table_of
else:

    def __getattr__(name: str) -> Any:
        import sqlalchemy
        import sqlmodel

        from tidepool.storage import tables, writer

        for module in (tables, writer, sqlalchemy, sqlmodel):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(name)


def table_in(table: "Table", schema: str) -> "Table":
    """Returns the same table in a file that is attached as `schema`."""
    from sqlalchemy import MetaData

    return table.to_metadata(MetaData(), schema=schema)


def tables_with(column: str) -> "list[Table]":
    """Returns the tables with a column of this name."""
    from tidepool.storage.tables import Batch

    return [table for table in Batch.metadata.sorted_tables if column in table.c]


def execute(
    connection: sqlite3.Connection, statement: "UpdateBase", rows: Iterable[Mapping[str, Any]] | None = None
) -> sqlite3.Cursor:
    """Runs a statement. With `rows`, runs it once for each row, by the names of its parameters or columns."""
    from tidepool.storage.writer import compile_sql

    if rows is None:
        compiled = compile_sql(statement)
        return connection.execute(str(compiled), [compiled.params[name] for name in compiled.positiontup or ()])
    listed = list(rows)
    if not listed:
        return connection.cursor()
    compiled = compile_sql(statement, list(listed[0]) if statement.is_insert else None)
    names = compiled.positiontup or ()
    return connection.executemany(
        str(compiled), [[{**compiled.params, **row}[name] for name in names] for row in listed]
    )


def add(connection: sqlite3.Connection, row: "SQLModel") -> int:
    """Inserts one row with the defaults of its class. Returns its rowid."""
    from sqlalchemy import insert

    values = {name: value for name, value in row.model_dump().items() if value is not None}
    return int(execute(connection, insert(type(row)).values(values)).lastrowid or 0)


def insert_rows(
    connection: sqlite3.Connection, table: "type[SQLModel]", rows: Iterable[Mapping[str, Any]], conflict: str
) -> None:
    """Inserts rows. `conflict` is IGNORE or REPLACE."""
    from sqlalchemy import insert

    execute(connection, insert(table).prefix_with(f"OR {conflict}"), rows)


def change(
    connection: sqlite3.Connection, table: "type[SQLModel]", where: Mapping[str, Any], **values: Any
) -> sqlite3.Cursor:
    """Sets `values` in the rows that match `where`."""
    from sqlalchemy import update

    return execute(connection, update(table).filter_by(**where).values(**values))


def remove(connection: sqlite3.Connection, table: "type[SQLModel]", **where: Any) -> sqlite3.Cursor:
    """Deletes the rows that match `where`."""
    from sqlalchemy import delete

    return execute(connection, delete(table).filter_by(**where))
