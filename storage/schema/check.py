"""A study file is made of the very tables, indexes and views of its version's text, and of nothing that acts by itself.

A trigger would run with our own writes, a view in a table's place with our own reads: either could change what a batch
is after its end, and what the next resume does. Beside the text there are only the search index and SQLite's own tables.
"""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tidepool.storage.errors import FileError
from tidepool.storage.schema.statements import NEWEST, normalised, statements

SEARCH_INDEX = "message_search"
CREATE_SEARCH_INDEX = (
    f"CREATE VIRTUAL TABLE {SEARCH_INDEX} USING fts5"
    "(text, content='call', content_rowid='id', tokenize='unicode61 remove_diacritics 2')"
)
_BESIDE = {
    SEARCH_INDEX: CREATE_SEARCH_INDEX,
    f"{SEARCH_INDEX}_data": f"CREATE TABLE '{SEARCH_INDEX}_data'(id INTEGER PRIMARY KEY, block BLOB)",
    f"{SEARCH_INDEX}_idx": f"CREATE TABLE '{SEARCH_INDEX}_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
    f"{SEARCH_INDEX}_docsize": f"CREATE TABLE '{SEARCH_INDEX}_docsize'(id INTEGER PRIMARY KEY, sz BLOB)",
    f"{SEARCH_INDEX}_config": f"CREATE TABLE '{SEARCH_INDEX}_config'(k PRIMARY KEY, v) WITHOUT ROWID",
    "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)",
    "sqlite_stat1": "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "sqlite_stat4": "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}
"""what a file may hold besides; FTS5 makes the tables behind its index itself"""
_OWN_INDEX = re.compile(r"sqlite_autoindex_(.+)_[0-9]+")
MOST_TOLD = 3
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something in a file that is not as its version's text says."""

    name: str
    words: str
    in_table: bool = False
    """one of our tables is missing, or another than it should be"""


def refuse_odd_schema(path: Path, connection: sqlite3.Connection, version: int) -> None:
    """Raises where the file is not made of its version's text: before it is migrated, written or resumed."""
    if not 0 < version <= NEWEST:
        raise FileError(f"{path} says that it is of version {version}, and there is none. The file was left as it is.")
    found = list(oddities(connection, version))
    if found:
        more = f", and {len(found) - MOST_TOLD:,} more" if len(found) > MOST_TOLD else ""
        raise FileError(
            f"{path} is not made as Tidepool makes its files: {', '.join(one.words for one in found[:MOST_TOLD])}{more}. It was "
            "changed by somebody, and was left as it is; `tidepool --db NEW.db import` takes its batches into another file, "
            "where their tables are as they should be."
        )


def oddities(connection: sqlite3.Connection, version: int) -> Iterator[Oddity]:
    """What is missing, changed or too much in the file, by the text of this version."""
    expected = _expected(version)
    rows = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema").fetchall()
    seen: set[str] = set()
    places: set[object] = set()
    for kind, name, table, place, sql in rows:
        wanted = expected.get(name)
        if wanted is None and not _stands_beside(kind, name, table, sql, expected):
            yield Oddity(str(name), _too_much(kind, name))
        elif wanted is not None and (wanted[0] != kind or not _same(wanted[1], sql)):
            yield Oddity(name, f"{name} is not the {wanted[0]} it should be", in_table=wanted[0] == "table")
        elif name in seen or (place and place in places):
            yield Oddity(str(name), f"{_named(name)} is there twice", in_table=True)
        seen.add(name)
        places.add(place)
    for name, (kind, _) in expected.items():
        if name not in seen:
            yield Oddity(name, f"the {kind} {name} is missing", in_table=kind == "table")


@cache
def _expected(version: int) -> dict[str, tuple[str, str]]:
    return {one.name: (one.kind, one.sql) for one in statements(version)}


def _same(wanted: str, sql: object) -> bool:
    return isinstance(sql, str) and (wanted == sql or normalised(wanted) == normalised(sql))


def _stands_beside(
    kind: object, name: object, table: object, sql: object, expected: dict[str, tuple[str, str]]
) -> bool:
    if not isinstance(name, str):
        return False
    if kind == "index" and sql is None:  # SQLite makes it for a PRIMARY KEY or a UNIQUE
        own = _OWN_INDEX.fullmatch(name)
        return own is not None and own[1] == table and (table in expected or table in _BESIDE)
    return kind == "table" and name in _BESIDE and _same(_BESIDE[name], sql)


def _too_much(kind: object, name: object) -> str:
    what = kind if kind in ("table", "index", "view", "trigger") else "thing"
    acts = ", which would act on its own when the file is written" if kind == "trigger" else ""
    return f"it holds a {what} {_named(name)} that is not ours{acts}"


def _named(name: object) -> str:
    return repr(str(name)[:LONGEST_NAME])
