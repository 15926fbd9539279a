"""Reads units with their messages and ratings, page by page."""

import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from tidepool.storage.file import value_of
from tidepool.storage.states import MOST_UNITS, sequence_number_of, unit_id, unit_range

Record = TypeVar("Record")
LAST_MOMENT = 253_402_300_799
"""the end of the year 9999, the last date that Python can represent"""


def whole(record: Record) -> Record:
    """Returns the dataclass unchanged. Raises if a value does not have its field's type, or is a number that cannot be shown."""
    for name, kinds, moment in _fields(cast(Any, type(record))):
        value: Any = getattr(record, name)
        if not isinstance(value, kinds):
            raise TypeError(f"{name} is not of type {kinds[0].__name__}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is not a finite number")
        if moment and isinstance(value, float | int) and not 0 <= value <= LAST_MOMENT:
            raise ValueError(f"{name} is not a valid time")
    return record


@cache
def _fields(kind: Any) -> tuple[tuple[str, tuple[type, ...], bool], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (one.name, _kinds(hints[one.name]), one.name == "at" or one.name.endswith("_at")) for one in fields(kind)
    )


def _kinds(hint: Any) -> tuple[type, ...]:
    if get_origin(hint) in (tuple, list, dict):
        return (get_origin(hint),)
    parts = get_args(hint) or (hint,)
    return tuple(kind for part in parts for kind in ((float, int) if part is float else (part or NoneType,)))


T = TypeVar("T", list[Any], dict[str, Any])
PAGE = 500
SPOKEN_PAGE = 5_000


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
    """a judge's ratings by persona"""


class SpokenPage(NamedTuple):
    """A page of consecutive units, with only the columns that statistics need."""

    units: Sequence[int]
    """their ids, ascending"""
    statuses: Sequence[str]
    kinds: Sequence[str]
    casts: Sequence[list[str]]
    messages: tuple[Sequence[int], Sequence[str], Sequence[bytes]]
    """units, speakers and texts (in UTF-8) of the messages, in no particular order"""
    ratings: Sequence[tuple[int, str, float | None]]
    """unit, persona and rating by a judge"""


def units_in_pages(connection: sqlite3.Connection, batch_number: int, size: int = PAGE) -> Iterator[StoredUnit]:
    """Yields all units in the order of their sequence numbers."""
    first = 1
    while page := units_from(connection, batch_number, first, size):
        yield from page
        first = page[-1].sequence_number + 1


def unit_of(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> StoredUnit | None:
    page = units_from(connection, batch_number, sequence_number, 1, sequence_number)
    return page[0] if page else None


def last_unit(connection: sqlite3.Connection, batch_number: int) -> int:
    """Returns the highest sequence number; 0 if the batch has no unit yet."""
    last = value_of(connection, "SELECT max(id) FROM unit WHERE id BETWEEN ? AND ?", unit_range(batch_number, 1))
    return sequence_number_of(last or 0)


def spoken_in_pages(connection: sqlite3.Connection, batch_number: int) -> Iterator[SpokenPage]:
    """Yields all units page by page, so that only one page is in memory."""
    low, high = unit_range(batch_number, 1)
    while rows := _plain(connection.execute(_UNITS, (low, high, SPOKEN_PAGE))):
        units, statuses, kinds, participants = zip(*rows, strict=True)
        bounds = (units[0], units[-1])
        spoken = _plain(connection.execute(_SPOKEN, bounds))
        ids, speakers, contents = zip(*spoken, strict=True) if spoken else ((), (), ())
        messages = (ids, [_text(speaker) for speaker in speakers], contents)
        casts = [[str(name) for name in _read(names, list)] for names in participants]
        ratings = _plain(connection.execute(_RATINGS, bounds))
        yield SpokenPage(units, statuses, [kind or "" for kind in kinds], casts, messages, ratings)
        low = units[-1] + 1


def _plain(cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    """Fetches plain tuples, because building other rows takes longer than reading them."""
    cursor.row_factory = None
    return cursor.fetchall()


_UNITS = "SELECT id, status, interaction_type, participants FROM unit WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
_CONTENT = "CASE WHEN l.step IS NULL THEN c.text ELSE substr(c.text, l.start + 1, l.length) END"
_MESSAGES = (
    "FROM call c LEFT JOIN line l ON l.unit_id = c.unit_id AND l.step = c.step "
    "WHERE c.unit_id BETWEEN ? AND ? AND c.status = 'answered' AND (c.turn IS NOT NULL OR l.step IS NOT NULL) "
)
_SPOKEN = f"SELECT c.unit_id, coalesce(l.speaker, c.speaker), CAST({_CONTENT} AS BLOB) {_MESSAGES}"
_RATINGS = "SELECT unit_id, entity, rating FROM judgement WHERE unit_id BETWEEN ? AND ? ORDER BY unit_id, place"


def units_from(
    connection: sqlite3.Connection, batch_number: int, first: int, size: int, last: int = MOST_UNITS
) -> list[StoredUnit]:
    """Returns at most `size` units with numbers from `first` to `last`."""
    rows = connection.execute(
        "SELECT * FROM unit WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
        (unit_id(batch_number, first), unit_id(batch_number, min(last, MOST_UNITS)), size),
    ).fetchall()
    if not rows:
        return []
    bounds = (rows[0]["id"], rows[-1]["id"])
    messages, ratings = _messages(connection, bounds), _ratings(connection, bounds)
    return [_unit(row, messages[row["id"]], ratings[row["id"]]) for row in rows]


def _unit(row: sqlite3.Row, messages: list[StoredMessage], ratings: list[tuple[str, float | None]]) -> StoredUnit:
    same = ("status", "error", "game", "round", "interaction_type", "started_at", "finished_at")
    return StoredUnit(
        sequence_number=row["id"] & MOST_UNITS,
        participants=[str(name) for name in _read(row["participants"], list)],
        details=_read(row["details"], dict),
        messages=messages,
        ratings=ratings,
        **{name: row[name] for name in same},
    )


def _read(text: object, kind: type[T]) -> T:
    """Parses the JSON of a column. Returns an empty value if it is invalid."""
    try:
        content = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        content = None
    return content if isinstance(content, kind) else kind()


def _messages(connection: sqlite3.Connection, bounds: tuple[int, int]) -> dict[int, list[StoredMessage]]:
    """Returns the messages of each unit in speaking order: whole replies, or the parts of a reply."""
    messages: dict[int, list[StoredMessage]] = defaultdict(list)
    for unit, turn, speaker, content, thought, source, model in connection.execute(
        f"SELECT c.unit_id, coalesce(l.turn, c.turn), coalesce(l.speaker, c.speaker), {_CONTENT}, "
        "CASE WHEN l.thought_start IS NOT NULL THEN substr(c.text, l.thought_start + 1, l.thought_length) "
        "WHEN coalesce(l.position, 0) = 0 THEN c.thought END, "
        f"c.source, c.model {_MESSAGES} ORDER BY c.unit_id, c.wave, l.position",
        bounds,
    ).fetchall():
        message = StoredMessage(turn, _text(speaker), _text(content), _text(thought) or None, source, model)
        messages[unit].append(message)
    return messages


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _ratings(connection: sqlite3.Connection, bounds: tuple[int, int]) -> dict[int, list[tuple[str, float | None]]]:
    ratings: dict[int, list[tuple[str, float | None]]] = defaultdict(list)
    for unit, entity, rating in connection.execute(_RATINGS, bounds).fetchall():
        ratings[unit].append((entity, rating))
    return ratings


SHADOWED = {"unit": "id", "call": "unit_id", "line": "unit_id", "outcome": "unit_id", "judgement": "unit_id"}
"""tables by unit that conversation kinds read, and their column with the unit"""


@contextmanager
def only_first_units(connection: sqlite3.Connection, batch_number: int, most: int) -> Iterator[bool]:
    """Hides the units of the batch after its first `most` completed ones from queries of these tables. Yields whether any is hidden."""
    last = value_of(
        connection,
        "SELECT id FROM unit WHERE batch_number = ? AND status = 'completed' AND sequence_number > 0 ORDER BY id LIMIT 1 OFFSET ?",
        (batch_number, most - 1),
    )
    if last is None:
        yield False
        return
    connection.execute("PRAGMA query_only = OFF")  # temporary views are not written to the file
    for table, column in SHADOWED.items():
        connection.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {column} <= {int(last)}")
    connection.execute("PRAGMA query_only = ON")
    try:
        yield True
    finally:
        connection.execute("PRAGMA query_only = OFF")
        for table in SHADOWED:
            connection.execute(f"DROP VIEW temp.{table}")
        connection.execute("PRAGMA query_only = ON")
