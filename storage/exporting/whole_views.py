"""Every view of a file with all its batches, and a column for each factor that they have: the tables of a publication."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.storage.exporting.contents import ExportTable
from tidepool.storage.exporting.factors import column_of, levels_of
from tidepool.storage.exporting.rows import rows_of
from tidepool.storage.views import VIEWS, View

OF_BATCHES = "SELECT v.* FROM batches v JOIN batch b ON b.id = v.id ORDER BY b.number"
OF_STUDIES = "SELECT * FROM studies ORDER BY created_at, id"
WITHOUT_FACTORS = ("studies", "cells")

Levels = Mapping[int, Mapping[str, str]]
"""batch number → factor → level"""


def whole_tables(connection: sqlite3.Connection) -> Iterator[ExportTable]:
    batches = batches_in(connection)
    levels = {batch["number"]: levels_of(connection, batch) for batch in batches}
    factors = factor_names(connection)
    for view in VIEWS.values():
        columns = {column.name: column.type for column in view.columns}
        if view.name not in WITHOUT_FACTORS:
            columns |= dict.fromkeys(map(column_of, factors), "text")
        yield ExportTable(view.name, columns, _rows(connection, view, batches, levels, factors))


def batches_in(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """In the order in which they were made."""
    return connection.execute("SELECT * FROM batch ORDER BY number").fetchall()


def factor_names(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT DISTINCT factor FROM cells WHERE factor <> '' ORDER BY factor")
    return [str(row["factor"]) for row in rows.fetchall()]


def _rows(
    connection: sqlite3.Connection, view: View, batches: Sequence[sqlite3.Row], levels: Levels, factors: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    if view.name == "studies":
        yield from map(tuple, connection.execute(OF_STUDIES).fetchall())
        return
    behind = {batch["number"]: tuple(levels[batch["number"]].get(name) for name in factors) for batch in batches}
    if view.name == "batches":
        for row, batch in zip(connection.execute(OF_BATCHES).fetchall(), batches, strict=True):
            yield (*row, *behind[batch["number"]])
        return
    for batch in batches:
        more = () if view.name in WITHOUT_FACTORS else behind[batch["number"]]
        for row in rows_of(connection, view.name, batch):
            yield (*row, *more)
