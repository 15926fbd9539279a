"""Rows of one batch by view, page by page: an export of any size holds little memory and no snapshot for long."""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tidepool.storage.unit_ids import unit_id

UNITS_A_PAGE = 500
FEWER_A_PAGE = {"answers": 20}
"""of views with hundreds of rows by unit"""

ORDER = {
    "conversations": "id",
    "messages": "conversation_id, wave, position",
    "judgements": "conversation_id, place",
    "outcomes": "conversation_id, opener DESC",
    "verdicts": "conversation_id, opener DESC",
    "sit_outs": "game, round, agent",
    "codes": "conversation_id, side, turn, coder",
    "answers": "conversation_id, split, problem, sample, model",
    "genomes": "generation, genome_id",
    "training": "update_number",
    "waves": "wave",
    "provider_batches": "created_at, wave, remote_id",
    "records": "conversation_id, name, position",
    "cells": "factor",
    "log": "rowid",
}
PAGED_BY = {
    "conversations": "id",
    "messages": "conversation_id",
    "outcomes": "conversation_id",
    "judgements": "conversation_id",
    "verdicts": "conversation_id",
    "codes": "conversation_id",
    "answers": "conversation_id",
}
"""views with rows by unit: these can be long"""


@dataclass(frozen=True, slots=True)
class RowPage:
    first: int
    last: int
    """ids of the units, both included"""


def unit_pages(connection: sqlite3.Connection, batch_number: int, views: Iterable[str] = ()) -> Iterator[RowPage]:
    """The units of a batch in pages of neighbouring ids, of a size that suits the views they are read for."""
    size = min((FEWER_A_PAGE.get(view, UNITS_A_PAGE) for view in views), default=UNITS_A_PAGE)
    after, end = unit_id(batch_number, 0), unit_id(batch_number + 1, 0)
    while True:
        row = connection.execute(
            "SELECT min(id), max(id) FROM (SELECT id FROM unit WHERE id > ? AND id < ? ORDER BY id LIMIT ?)",
            (after, end, size),
        ).fetchone()
        if row[0] is None:
            return
        yield RowPage(row[0], row[1])
        after = row[1]


def columns_of(connection: sqlite3.Connection, view: str) -> list[str]:
    return [str(row["name"]) for row in connection.execute(f"PRAGMA table_info({view})")]


def filled(connection: sqlite3.Connection, view: str, batch: sqlite3.Row) -> bool:
    found = connection.execute(f"SELECT 1 FROM {view} WHERE batch_id = ? LIMIT 1", (batch["id"],))
    return found.fetchone() is not None


def rows_of(connection: sqlite3.Connection, view: str, batch: sqlite3.Row) -> Iterator[tuple[Any, ...]]:
    """The rows of a view that belong to a batch, in the view's columns and a stable order."""
    if view not in PAGED_BY:
        order = "" if ORDER[view] == "rowid" else f" ORDER BY {ORDER[view]}"
        for row in connection.execute(f"SELECT * FROM {view} WHERE batch_id = ?{order}", (batch["id"],)):
            yield tuple(row)
        return
    for page in unit_pages(connection, batch["number"], [view]):
        yield from map(tuple, page_of(connection, view, batch, page))


def page_of(connection: sqlite3.Connection, view: str, batch: sqlite3.Row, page: RowPage) -> sqlite3.Cursor:
    """The rows of a view by unit that belong to the units of one page, one by one: a unit of a foreign file may have millions."""
    # The plus keeps SQLite from walking all units of the batch for each page: it is to begin with the page.
    return connection.execute(
        f"SELECT * FROM {view} WHERE +batch_id = ? AND {PAGED_BY[view]} BETWEEN ? AND ? ORDER BY {ORDER[view]}",
        (batch["id"], page.first, page.last),
    )
