"""Factor columns: a batch that is a cell of a study says in every table of its export which replicate it is, and which level
each factor has there. By both, talks of one number are matched."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidepool.storage.exporting.contents import ExportTable
from tidepool.storage.exporting.rows import columns_of, rows_of
from tidepool.storage.study_rows.design_values import LONGEST_LEVEL
from tidepool.storage.views import VIEWS, ColumnType

Levels = Mapping[str, str]
"""factor → level"""
REPLICATE = "replicate"
_OF_VIEWS = frozenset(column.name.casefold() for view in VIEWS.values() for column in view.columns)


def levels_of(connection: sqlite3.Connection, batch: sqlite3.Row) -> dict[str, str]:
    """None for a batch of its own."""
    query = "SELECT factor, substr(level, 1, ?) AS level FROM cells WHERE batch_id = ? ORDER BY factor"
    rows = connection.execute(query, (LONGEST_LEVEL, batch["id"]))
    return {row["factor"]: row["level"] for row in rows.fetchall() if row["factor"]}


def column_of(factor: str) -> str:
    """Its own name, unless some view has such a column: then it says what it is, in every table alike."""
    return f"factor: {factor}" if factor.casefold() in _OF_VIEWS else factor


def with_levels(table: ExportTable, batch: sqlite3.Row, levels: Levels) -> ExportTable:
    """The table with a column more for the replicate and for each factor, behind its own."""
    if not batch["study_id"]:
        return table
    taken = {name.casefold() for name in table.columns}
    replicate = f"study {REPLICATE}" if REPLICATE in taken else REPLICATE
    named = {
        f"factor: {name}" if name.casefold() in taken else column_of(name): level for name, level in levels.items()
    }
    more: dict[str, ColumnType] = {replicate: "integer"}
    more |= dict.fromkeys(named, "text")
    return ExportTable(table.name, table.columns | more, _longer(table.rows, (batch["replicate"], *named.values())))


def _longer(rows: Iterable[tuple[Any, ...]], behind: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    return ((*row, *behind) for row in rows)


def view_table(connection: sqlite3.Connection, view: str, batch: sqlite3.Row) -> ExportTable:
    """The rows of a view that belong to the batch, typed."""
    held = {column.name: column.type for column in VIEWS[view].columns}
    columns = {name: held[name] for name in columns_of(connection, view)}
    table = ExportTable(view, columns, rows_of(connection, view, batch))
    return with_levels(table, batch, levels_of(connection, batch))


def tables_of(
    connection: sqlite3.Connection, batch: sqlite3.Row, views: Iterable[str], tables: Iterable[ExportTable]
) -> Iterator[ExportTable]:
    """Views and other tables of a batch, one after another."""
    levels = levels_of(connection, batch)
    yield from (view_table(connection, view, batch) for view in views)
    yield from (with_levels(table, batch, levels) for table in tables)
