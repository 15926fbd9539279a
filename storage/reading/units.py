"""Units with what was said in them, read page by page: no page holds a snapshot of the file open."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidepool.storage.unit_ids import unit_id

PAGE = 500
MOST_UNITS = 2**32 - 1


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message of a transcript."""

    turn: int
    speaker: str
    content: str
    thought: str | None
    source: str
    model: str


@dataclass(frozen=True, slots=True)
class StoredUnit:
    sequence_number: int
    status: str
    error: str | None
    game: int | None
    round: int | None
    interaction_type: str | None
    participants: list[str]
    started_at: float | None
    finished_at: float | None
    details: dict[str, Any]
    messages: list[StoredMessage]
    ratings: list[tuple[str, float | None]]
    """a judge's, by entity"""


def units_in_pages(connection: sqlite3.Connection, batch_number: int, size: int = PAGE) -> Iterator[StoredUnit]:
    """All units in the order of their sequence numbers."""
    last = 0
    while page := _page(connection, batch_number, last + 1, size):
        yield from page
        last = page[-1].sequence_number


def unit_of(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> StoredUnit | None:
    page = _page(connection, batch_number, sequence_number, 1)
    return page[0] if page and page[0].sequence_number == sequence_number else None


def last_unit(connection: sqlite3.Connection, batch_number: int) -> int:
    """The highest sequence number there is; 0 where the batch has no unit yet."""
    last = connection.execute("SELECT max(id) FROM unit WHERE batch_number = ?", (batch_number,)).fetchone()[0]
    return 0 if last is None else int(last) - unit_id(batch_number, 0)


def _page(connection: sqlite3.Connection, batch_number: int, first: int, size: int) -> list[StoredUnit]:
    rows = connection.execute(
        "SELECT * FROM unit WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
        (unit_id(batch_number, first), unit_id(batch_number, MOST_UNITS), size),
    ).fetchall()
    if not rows:
        return []
    bounds = (rows[0]["id"], rows[-1]["id"])
    messages, ratings = _messages(connection, bounds), _ratings(connection, bounds)
    return [_unit(row, messages[row["id"]], ratings[row["id"]]) for row in rows]


def _unit(row: sqlite3.Row, messages: list[StoredMessage], ratings: list[tuple[str, float | None]]) -> StoredUnit:
    return StoredUnit(
        row["sequence_number"],
        row["status"],
        row["error"],
        row["game"],
        row["round"],
        row["interaction_type"],
        json.loads(row["participants"]),
        row["started_at"],
        row["finished_at"],
        json.loads(row["details"] or "{}"),
        messages,
        ratings,
    )


def _messages(connection: sqlite3.Connection, bounds: tuple[int, int]) -> dict[int, list[StoredMessage]]:
    """Whole replies, and the parts of replies that hold several messages or a thought; in order of speaking."""
    found: dict[int, list[StoredMessage]] = defaultdict(list)
    for unit, *columns in connection.execute(
        "SELECT c.unit_id, coalesce(l.turn, c.turn), coalesce(l.speaker, c.speaker), "
        "CASE WHEN l.step IS NULL THEN c.text ELSE substr(c.text, l.start + 1, l.length) END, "
        "CASE WHEN l.thought_start IS NOT NULL THEN substr(c.text, l.thought_start + 1, l.thought_length) "
        "WHEN coalesce(l.position, 0) = 0 THEN c.thought END, "
        "c.source, c.model FROM call c LEFT JOIN line l ON l.unit_id = c.unit_id AND l.step = c.step "
        "WHERE c.unit_id BETWEEN ? AND ? AND c.status = 'answered' AND (c.turn IS NOT NULL OR l.step IS NOT NULL) "
        "ORDER BY c.unit_id, c.wave, l.position",
        bounds,
    ).fetchall():
        found[unit].append(StoredMessage(*columns))
    return found


def _ratings(connection: sqlite3.Connection, bounds: tuple[int, int]) -> dict[int, list[tuple[str, float | None]]]:
    found: dict[int, list[tuple[str, float | None]]] = defaultdict(list)
    for unit, entity, rating in connection.execute(
        "SELECT unit_id, entity, rating FROM judgement WHERE unit_id BETWEEN ? AND ? ORDER BY unit_id, place", bounds
    ).fetchall():
        found[unit].append((entity, rating))
    return found
