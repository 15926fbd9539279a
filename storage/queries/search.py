"""Searches messages, and lists the units that match a filter.

Messages are scanned in the order of the ledger, up to a number of hits. A search for frequent words returns at once, and scanning
a hundred thousand conversations takes a second or two.
"""

import re
import sqlite3
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.storage.states import MOST_UNITS, unit_range

AROUND, LONGEST_EXCERPT = 16, 400
"""characters shown before a hit, and in all"""
MOST_WORDS, LONGEST_WORD = 50, 500
"""limits of one search, because SQLite limits the size of conditions"""


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects conversations or messages."""

    words: str = ""
    show: str = "all"
    """all, revealed, kept, failed"""
    agent: str | None = None
    wave: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that contains all the words."""

    sequence_number: int
    turn: int | None
    wave: int
    speaker: str
    excerpt: str


_TERM = re.compile(r'"([^"]+)"?|(\S+)')


def search_words(text: str) -> list[str]:
    """Splits a search text into words or parts of words, and phrases in double quotes."""
    found = (phrase or word.strip('"*') for phrase, word in _TERM.findall(text))
    return [word[:LONGEST_WORD] for word in found if re.search(r"\w", word)][:MOST_WORDS]


def containing(column: str, words: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Returns SQL that selects texts with all the words, and its values. SQLite ignores the case of ASCII letters only, so other
    words are searched in their usual spellings."""
    values: dict[str, str] = {}
    conditions = []
    for place, word in enumerate(words):
        spellings = {word} if word.isascii() else {word, word.lower(), word.capitalize(), word.upper()}
        escaped = [re.sub("[%_!]", r"!\g<0>", spelling) for spelling in sorted(spellings)]
        patterns = {f"word{place}_{index}": f"%{spelling}%" for index, spelling in enumerate(escaped)}
        conditions.append(" OR ".join(f"{column} LIKE :{name} ESCAPE '!'" for name in patterns))
        values |= patterns
    return " AND ".join(f"({condition})" for condition in conditions), values


def find(connection: sqlite3.Connection, batch_number: int, filter_by: Filter, most: int) -> list[Hit]:
    """Returns the first hits in the order of the calls."""
    if not (words := search_words(filter_by.words)):
        return []
    first, last = unit_range(batch_number)
    conditions, values = _unit_conditions(filter_by, "c.unit_id", of_messages=True)
    worded, patterns = containing("c.text", words)
    # The plus keeps SQLite from sorting, so that it reads the calls of the batch in the order of their ids.
    rows = connection.execute(
        "SELECT c.unit_id, c.turn, c.wave, c.speaker, c.text FROM call c WHERE c.id BETWEEN "
        "(SELECT min(id) FROM call WHERE unit_id BETWEEN :first AND :last) AND "
        "(SELECT max(id) FROM call WHERE unit_id BETWEEN :first AND :last) "
        f"AND +c.unit_id BETWEEN :first AND :last AND c.status = 'answered' AND {worded} {conditions} "
        "ORDER BY c.id LIMIT :most",
        {"first": first, "last": last, "most": most, **values, **patterns},
    ).fetchall()
    return [Hit(row[0] & MOST_UNITS, row[1], row[2], row[3] or "", excerpt(row[4], words)) for row in rows]


def excerpt(text: str, words: Sequence[str]) -> str:
    """Returns the part of a text around the first match."""
    places = [found.start() for word in words if (found := re.search(re.escape(word), text, re.IGNORECASE))]
    start = max(0, min(places, default=0) - AROUND)
    return ("…" if start else "") + text[start : start + LONGEST_EXCERPT]


def matching_units(connection: sqlite3.Connection, batch_number: int, filter_by: Filter) -> "array[int]":
    """Returns the sequence numbers of the units that match the filter, ignoring its words. A hundred thousand take 400 kB."""
    first, last = unit_range(batch_number, 1)
    conditions, values = _unit_conditions(filter_by, "u.id")
    rows = connection.execute(
        f"SELECT u.id FROM unit u WHERE u.id BETWEEN :first AND :last {conditions} ORDER BY u.id",
        {"first": first, "last": last, **values},
    )
    return array("I", (row[0] & MOST_UNITS for row in rows))


def _unit_conditions(filter_by: Filter, column: str, *, of_messages: bool = False) -> tuple[str, dict[str, Any]]:
    """Returns SQL that selects units, and its values. With `of_messages`, the rows are messages and the wave filter applies to them."""
    conditions: list[str] = []
    wave = f" AND {'turn' if filter_by.show in ('revealed', 'kept') else 'wave'} = :wave" if filter_by.wave else ""
    if filter_by.show == "revealed":
        conditions.append(f"EXISTS (SELECT 1 FROM outcome WHERE unit_id = {column} AND revealed{wave})")
    elif filter_by.show == "kept":
        conditions.append(f"NOT EXISTS (SELECT 1 FROM outcome WHERE unit_id = {column} AND revealed)")
        conditions.append(f"EXISTS (SELECT 1 FROM outcome WHERE unit_id = {column})")
    elif filter_by.show == "failed":
        conditions.append(f"EXISTS (SELECT 1 FROM call WHERE unit_id = {column} AND status = 'failed'{wave})")
    elif filter_by.wave and not of_messages:
        conditions.append(f"EXISTS (SELECT 1 FROM call WHERE unit_id = {column} AND wave = :wave)")
    if filter_by.wave and of_messages:
        conditions.append("c.wave = :wave")
    if filter_by.agent is not None:
        conditions.append(
            f"EXISTS (SELECT 1 FROM unit n, json_each(n.participants) p WHERE n.id = {column} AND p.value = :agent)"
        )
    where = "".join(f" AND {condition}" for condition in conditions)
    return where, {"wave": filter_by.wave, "agent": filter_by.agent}
