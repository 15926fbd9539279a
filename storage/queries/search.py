"""Full-text search over what was said: an FTS5 index beside the ledger, filled in chunks behind the batch or at the
first search, never by a trigger (that would cost every call). It holds no text of its own (external content), and its
rows carry the ids of the calls, so results come in the order in which they were said, page by page, without ranking.

How far it is filled is what it holds: the highest id in its own bookkeeping table.
"""

import re
import sqlite3
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidepool.storage.file import value_of, writing
from tidepool.storage.schema import CREATE_SEARCH_INDEX, SEARCH_INDEX
from tidepool.storage.states import MOST_UNITS, unit_range

CHUNK = 2_000
"""calls indexed in one transaction: some tens of milliseconds"""
PAGE = 100
AROUND = 16
"""characters shown before a hit"""

_EXISTS = f"SELECT 1 FROM sqlite_master WHERE name = '{SEARCH_INDEX}'"
_CREATE = CREATE_SEARCH_INDEX.replace("TABLE", "TABLE IF NOT EXISTS", 1)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which conversations, or which messages, are wanted."""

    words: str = ""
    show: str = "all"
    """all, revealed, kept, failed"""
    agent: str | None = None
    wave: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that has all the words."""

    call_id: int
    sequence_number: int
    turn: int | None
    wave: int
    speaker: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class Filled:
    """How much of the file's ledger can be searched."""

    upto: int
    last: int

    @property
    def complete(self) -> bool:
        return self.upto >= self.last

    @property
    def share(self) -> float:
        return self.upto / self.last if self.last else 1.0


def filled(connection: sqlite3.Connection) -> Filled:
    last = value_of(connection, "SELECT id FROM call WHERE status = 'answered' ORDER BY id DESC LIMIT 1")
    return Filled(_mark(connection), last or 0)


def fill_some(path: Path, chunk: int = CHUNK) -> Filled:
    """Indexes the next calls, in one short transaction. Failed ones have no text, and may be deleted by a resume."""
    with writing(path) as connection:
        connection.execute(_CREATE)
        mark = _mark(connection)
        connection.execute(
            "INSERT INTO message_search (rowid, text) "
            "SELECT id, text FROM call WHERE id > ? AND status = 'answered' ORDER BY id LIMIT ?",
            (mark, chunk),
        )
        return filled(connection)


def forget(connection: sqlite3.Connection, first_unit: int, last_unit: int) -> None:
    """Takes calls out of the index; to be done before they are deleted, since the index keeps no text."""
    if value_of(connection, _EXISTS) is None:
        return
    connection.execute(
        "INSERT INTO message_search (message_search, rowid, text) "
        "SELECT 'delete', id, text FROM call WHERE unit_id BETWEEN ? AND ? AND id <= ? AND status = 'answered'",
        (first_unit, last_unit, _mark(connection)),
    )


def drop(path: Path) -> None:
    """Takes the index away, of a file that somebody else filled; the next search makes it anew from what was said."""
    with writing(path) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {SEARCH_INDEX}")


def _mark(connection: sqlite3.Connection) -> int:
    if value_of(connection, _EXISTS) is None:
        return 0
    return value_of(connection, "SELECT max(id) FROM message_search_docsize") or 0


_TERM = re.compile(r'"([^"]+)"?|(\S+)')
SHORTEST_BEGINNING = 3
"""letters before a `*`: the beginnings of half the language would take seconds to gather"""


def search_words(text: str) -> list[str]:
    """What is looked for: words, beginnings of words (`harb*`), and phrases in double quotes."""
    found = (phrase or word.rstrip("*") for phrase, word in _TERM.findall(text))
    return [word for word in found if re.search(r"\w", word)]


def match_of(text: str) -> str:
    """An FTS5 expression in which whatever was typed is quoted, so that nothing in it is an operator."""
    terms = []
    for phrase, word in _TERM.findall(text):
        term = (phrase or word.rstrip("*")).replace('"', "")
        if re.search(r"\w", term):
            beginning = word.endswith("*") and len(term) >= SHORTEST_BEGINNING
            terms.append(f'"{term}"{"*" if beginning else ""}')
    return " AND ".join(terms)


def find(
    connection: sqlite3.Connection,
    batch_number: int,
    filter_by: Filter,
    after: int = 0,
    most: int = PAGE,
) -> list[Hit]:
    """The next hits after call `after`, in the order in which they were said."""
    match = match_of(filter_by.words)
    if not match or value_of(connection, _EXISTS) is None:
        return []
    conditions, values = _unit_conditions(filter_by, "c.unit_id", of_messages=True)
    rows = connection.execute(
        "SELECT c.id, c.unit_id, c.turn, c.wave, c.speaker, c.text FROM message_search s JOIN call c ON c.id = s.rowid "
        "WHERE message_search MATCH ? AND s.rowid > ? AND c.unit_id BETWEEN ? AND ? "
        f"{conditions} ORDER BY s.rowid LIMIT ?",
        (match, after, *unit_range(batch_number), *values, most),
    ).fetchall()
    words = search_words(filter_by.words)
    return [Hit(row[0], row[1] & MOST_UNITS, row[2], row[3], row[4] or "", excerpt(row[5], words)) for row in rows]


def excerpt(text: str, words: Sequence[str], around: int = AROUND, length: int = 400) -> str:
    """The part of a text around the first of the words."""
    places = [found.start() for word in words if (found := re.search(re.escape(word), text, re.IGNORECASE))]
    start = max(0, min(places, default=0) - around)
    return ("…" if start else "") + text[start : start + length]


def count_hits(connection: sqlite3.Connection, batch_number: int, filter_by: Filter, most: int = 10_000) -> int:
    """How many messages have the words, counted up to `most`; other filters are not looked at."""
    match = match_of(filter_by.words)
    if not match or value_of(connection, _EXISTS) is None:
        return 0
    hits = (
        "SELECT 1 FROM message_search s JOIN call c ON c.id = s.rowid WHERE message_search MATCH ? "
        "AND c.unit_id BETWEEN ? AND ? LIMIT ?"
    )
    return int(value_of(connection, f"SELECT count(*) FROM ({hits})", (match, *unit_range(batch_number), most)))


def matching_units(connection: sqlite3.Connection, batch_number: int, filter_by: Filter) -> "array[int]":
    """The sequence numbers of the units that pass the filter (its words apart), as plain numbers: a hundred
    thousand of them are 400 kB."""
    conditions, values = _unit_conditions(filter_by, "u.id")
    rows = connection.execute(
        f"SELECT u.id FROM unit u WHERE u.id BETWEEN ? AND ? {conditions} ORDER BY u.id",
        (*unit_range(batch_number, 1), *values),
    )
    return array("I", (row[0] & MOST_UNITS for row in rows))


def _unit_conditions(filter_by: Filter, column: str, *, of_messages: bool = False) -> tuple[str, list[object]]:
    """SQL that keeps the wanted units; `of_messages`: the rows are messages, so the wave is theirs."""
    conditions: list[str] = []
    values: list[object] = []
    wave = f" AND {'turn' if filter_by.show in ('revealed', 'kept') else 'wave'} = ?" if filter_by.wave else ""
    if filter_by.show == "revealed":
        conditions.append(f"EXISTS (SELECT 1 FROM outcome WHERE unit_id = {column} AND revealed{wave})")
        values += [filter_by.wave] if filter_by.wave else []
    elif filter_by.show == "kept":
        conditions.append(f"NOT EXISTS (SELECT 1 FROM outcome WHERE unit_id = {column} AND revealed)")
        conditions.append(f"EXISTS (SELECT 1 FROM outcome WHERE unit_id = {column})")
    elif filter_by.show == "failed":
        conditions.append(f"EXISTS (SELECT 1 FROM call WHERE unit_id = {column} AND status = 'failed'{wave})")
        values += [filter_by.wave] if filter_by.wave else []
    elif filter_by.wave and not of_messages:
        conditions.append(f"EXISTS (SELECT 1 FROM call WHERE unit_id = {column} AND wave = ?)")
        values.append(filter_by.wave)
    if filter_by.wave and of_messages:
        conditions.append("c.wave = ?")
        values.append(filter_by.wave)
    if filter_by.agent is not None:
        conditions.append(
            f"EXISTS (SELECT 1 FROM unit n, json_each(n.participants) p WHERE n.id = {column} AND p.value = ?)"
        )
        values.append(filter_by.agent)
    return "".join(f" AND {condition}" for condition in conditions), values
