"""The tables of an export: rows of one batch by view, page by page, with a column for each factor of its study.

An export of any size uses little memory and holds no snapshot for long. Storage does not depend on kinds of study.
`ExportContents` declares what the batches of a kind contain.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tidepool.storage.queries.learning import episode_steps, split_of
from tidepool.storage.queries.units import units_in_pages
from tidepool.storage.states import unit_id
from tidepool.storage.studies import LONGEST_LEVEL
from tidepool.storage.views import VIEWS, ColumnType


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table that is not a view. It becomes a separate CSV or Parquet file."""

    name: str
    columns: dict[str, ColumnType]
    rows: Iterable[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class ExportContents:
    views: tuple[str, ...] = ("messages",)
    """views that become a CSV or Parquet file each"""
    where_filled: tuple[str, ...] = ()
    """views by unit that only some batches of the kind fill, such as a judge's verdicts"""
    beside_units: tuple[str, ...] = ()
    """views of the batch that results.json contains next to the units"""
    of_units: tuple[str, ...] = ()
    """views by unit that results.json contains within each unit: outcomes, judgements"""
    tables: tuple[Callable[[sqlite3.Connection, sqlite3.Row], ExportTable], ...] = ()
    """further tables for exports only: a file each, and a list in results.json"""
    details: str | None = "details"
    """the key of a unit's details in results.json; "" merges them into the unit, None omits them"""


PLAIN = ExportContents()
"""for a kind with generic rows only"""


UNITS_A_PAGE = 500
FEWER_A_PAGE = {"answers": 20, "measures": 20}
"""units per page in views with hundreds of rows for each unit"""

ORDER = {
    "conversations": "id",
    "messages": "conversation_id, wave, position",
    "judgements": "conversation_id, place",
    "outcomes": "conversation_id, opener DESC",
    "verdicts": "conversation_id, opener DESC",
    "sit_outs": "game, round, agent",
    "codes": "conversation_id, side, turn, coder",
    "answers": "conversation_id, split, problem, sample, model",
    "measures": "unit, measure, participant, cluster",
    "genomes": "generation, genome_id",
    "training": "update_number",
    "waves": "wave",
    "provider_batches": "created_at, wave, remote_id",
    "records": "conversation_id, name, position",
    "batches": "id",
    "studies": "id",
    "cells": "factor",
    "log": "rowid",
}
PAGED_BY = {"conversations": "id", "measures": "unit"} | dict.fromkeys(
    ("messages", "outcomes", "judgements", "verdicts", "codes", "answers"), "conversation_id"
)
"""views by unit, which can be long, and the column with the unit"""
NAMED_BY = {"batches": ("id", "id"), "studies": ("id", "study_id")}
"""views without `batch_id`: their key column, and the matching column of the batch"""


@dataclass(frozen=True, slots=True)
class RowPage:
    first: int
    last: int
    """ids of the first and last unit, inclusive"""


def unit_pages(connection: sqlite3.Connection, batch_number: int, views: Iterable[str] = ()) -> Iterator[RowPage]:
    """Yields pages of consecutive units of a batch. The page size depends on the views to read."""
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
    """Yields the rows of a view that belong to a batch, in a stable order."""
    if view not in PAGED_BY:
        order = "" if ORDER[view] == "rowid" else f" ORDER BY {ORDER[view]}"
        key, value = NAMED_BY.get(view, ("batch_id", "id"))
        for row in connection.execute(f"SELECT * FROM {view} WHERE {key} = ?{order}", (batch[value],)):
            yield tuple(row)
        return
    for page in unit_pages(connection, batch["number"], [view]):
        yield from map(tuple, page_of(connection, view, batch, page))


def page_of(connection: sqlite3.Connection, view: str, batch: sqlite3.Row, page: RowPage) -> sqlite3.Cursor:
    """Yields the rows of a page one by one, because a unit of an untrusted file may have millions."""
    # The plus makes SQLite start with the page instead of scanning all units of the batch for each page.
    return connection.execute(
        f"SELECT * FROM {view} WHERE +batch_id = ? AND {PAGED_BY[view]} BETWEEN ? AND ? ORDER BY {ORDER[view]}",
        (batch["id"], page.first, page.last),
    )


Levels = Mapping[str, str]
"""factor → level"""
REPLICATE = "replicate"
WITHOUT_FACTORS = ("studies", "cells")
_OF_VIEWS = frozenset(column.name.casefold() for view in VIEWS.values() for column in view.columns)


def levels_of(connection: sqlite3.Connection, batch: sqlite3.Row) -> dict[str, str]:
    """Returns the level of each factor. Empty for a batch without a study."""
    query = "SELECT factor, substr(level, 1, ?) AS level FROM cells WHERE batch_id = ? ORDER BY factor"
    rows = connection.execute(query, (LONGEST_LEVEL, batch["id"]))
    return {row["factor"]: row["level"] for row in rows.fetchall() if row["factor"]}


def with_levels(table: ExportTable, batch: sqlite3.Row, levels: Levels) -> ExportTable:
    """Adds a column for the replicate and for each factor at the end of the table. A factor has the prefix `factor: ` in every
    table if any view has a column of its name."""
    if not batch["study_id"] or table.name in WITHOUT_FACTORS:
        return table
    used_names = {name.casefold() for name in table.columns}
    more: dict[str, tuple[ColumnType, Any]] = {}
    if REPLICATE not in table.columns:
        more[f"design_{REPLICATE}" if REPLICATE in used_names else REPLICATE] = "integer", batch["replicate"]
    for name, level in levels.items():
        more[f"factor: {name}" if name.casefold() in used_names | _OF_VIEWS else name] = "text", level
    columns = table.columns | {name: held for name, (held, _) in more.items()}
    behind = tuple(value for _, value in more.values())
    return ExportTable(table.name, columns, ((*row, *behind) for row in table.rows))


def view_table(connection: sqlite3.Connection, view: str, batch: sqlite3.Row) -> ExportTable:
    """Returns the rows of a view that belong to the batch, with column types."""
    types = {column.name: column.type for column in VIEWS[view].columns}
    columns = {name: types[name] for name in columns_of(connection, view)}
    table = ExportTable(view, columns, rows_of(connection, view, batch))
    return with_levels(table, batch, levels_of(connection, batch))


def tables_of(
    connection: sqlite3.Connection, batch: sqlite3.Row, views: Iterable[str], tables: Iterable[ExportTable] = ()
) -> Iterator[ExportTable]:
    """Yields the views and other tables of a batch."""
    levels = levels_of(connection, batch)
    yield from (view_table(connection, view, batch) for view in views)
    yield from (with_levels(table, batch, levels) for table in tables)


def joined(tables: Iterable[ExportTable]) -> Iterator[ExportTable]:
    """Joins the tables of several batches by name."""
    by_name: dict[str, list[ExportTable]] = {}
    for table in tables:
        by_name.setdefault(table.name, []).append(table)
    for name, parts in by_name.items():
        columns: dict[str, ColumnType] = {}
        for part in parts:  # the attributes of entities may differ
            columns |= {column: type_name for column, type_name in part.columns.items() if column not in columns}
        rows = chain.from_iterable([_in_order(part, tuple(columns)) for part in parts])
        # several batches share the row of their study
        yield ExportTable(name, columns, iter(dict.fromkeys(rows)) if name == "studies" else rows)


def _in_order(table: ExportTable, columns: tuple[str, ...]) -> Iterable[tuple[Any, ...]]:
    own = {name: place for place, name in enumerate(table.columns)}
    if columns == tuple(own):
        return table.rows
    places = [own.get(name) for name in columns]
    return (tuple(None if place is None else row[place] for place in places) for row in table.rows)


COLUMNS: dict[str, ColumnType] = {
    "batch_id": "text",
    "conversation_id": "integer",
    "episode": "integer",
    "split": "text",
    "player": "text",
    "step": "integer",
    "operator": "text",
    "query": "text",
    "rewritten": "text",
    "fell_back": "boolean",
    "model": "text",
    "reply": "text",
    "reward": "real",
}
"""split: training or heldout; player: the policy that chose; query: before the step; reward: empty for a masked step"""


def steps_table(connection: sqlite3.Connection, batch: sqlite3.Row) -> ExportTable:
    return ExportTable("steps", COLUMNS, step_rows(connection, batch))


def step_rows(connection: sqlite3.Connection, batch: sqlite3.Row) -> Iterator[tuple[Any, ...]]:
    if batch["kind"] != "mutation":
        return
    for unit in units_in_pages(connection, batch["number"]):
        episode = (batch["id"], unit_id(batch["number"], unit.sequence_number), unit.sequence_number)
        player = ", ".join(unit.participants)
        for step in episode_steps(unit.details, unit.messages):
            step_columns = (step.number, step.operator, step.query, step.rewritten, int(step.fell_back))
            split = unit.interaction_type or split_of(unit.details)
            yield (*episode, split, player, *step_columns, step.model, step.reply, step.reward)


def ratings_of(connection: sqlite3.Connection, batch_number: int) -> Iterator[sqlite3.Row]:
    """Yields a judge's ratings of personas. A rating is empty if it is unclear or missing."""
    for page in unit_pages(connection, batch_number):
        yield from connection.execute(
            "SELECT u.sequence_number, j.place, j.entity, j.rating, c.model, c.served_model, "
            "CASE WHEN json_valid(u.details) THEN "
            "json_extract(u.details, '$.entity_ids[' || (CAST(j.place AS INTEGER) - 1) || ']') END AS entity_id "
            "FROM judgement j JOIN unit u ON u.id = j.unit_id "
            "LEFT JOIN call c ON c.unit_id = j.unit_id AND c.step = 'judge.' || j.place "
            "WHERE j.unit_id BETWEEN ? AND ? ORDER BY j.unit_id, j.place",
            (page.first, page.last),
        ).fetchall()
