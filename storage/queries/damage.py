"""Finds damage in a study file and describes it: a value that does not fit its column, invalid JSON, an invalid id, a row
without its counterpart.

Import checks a file before anything is copied. Other code reads files without checks, because checks everywhere would be
slower and never complete. If reading ends in an unexpected error, the file is checked, and the error names the damage instead
of a bug in the program.
"""

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from itertools import chain
from pathlib import Path

from tidepool.storage.batches import MOST_BATCHES
from tidepool.storage.errors import FileError
from tidepool.storage.file import BATCH_ID, connect
from tidepool.storage.queries.units import LAST_MOMENT
from tidepool.storage.schema import CURRENT
from tidepool.storage.states import UNIT_BITS, BatchStatus, CallStatus, ProviderBatchPhase, Source, UnitStatus

FIRST = ["batch", "progress", "unit", "prompt", "study"]
"""tables that are checked before the others"""
LOOK_SECONDS = 2.0
STEPS_BETWEEN_LOOKS = 10_000

_HOLDS = {"INTEGER": ("integer",), "BOOLEAN": ("integer",), "FLOAT": ("real", "integer"), "BLOB": ("blob",)}
"""declared type → SQLite's names of the value types that fit; other columns hold text"""
_JSON = {
    "object": "batch.config unit.details genome.details training_update.details progress.limits control.arguments "
    "library_entity.attributes library_type.definition library_agent.definition",
    "array": "unit.participants genome.parents provider_batch.calls progress.in_flight",
    "anything": "batch.origin study.design outcome.details answer.details code.details record.content finding.content",
}
"""columns with JSON, by the required JSON type"""
_JSON_TYPES = {column: kind for kind, columns in _JSON.items() for column in columns.split()}
_WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "batch": {"status": tuple(BatchStatus)},
    "unit": {"status": tuple(UnitStatus)},
    "call": {"status": tuple(CallStatus), "source": (Source.LIVE, Source.BATCH, Source.CACHE)},
    "provider_batch": {"state": tuple(ProviderBatchPhase)},
}
"""columns with a closed list of values"""
_COUNTED = ("progress", "wave")
"""tables of counters, which are never negative"""
_LARGEST = 2**53
"""limit for whole numbers such as counts, places and sizes"""
_LIBRARY_ID = re.compile(r"[\w. -]{1,200}\Z")


SHAPES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""errors that Python raises for a value of an unexpected shape"""


def blame(path: Path, error: Exception) -> FileError | None:
    """Returns the error to show after an unexpected error while reading `path`; None if the file is not the cause."""
    message_text = damage_in(path)
    if message_text is None and isinstance(error, SHAPES) and path.is_file():
        # The contents of JSON are not checked, and an untrusted file may contain anything there.
        message_text = (
            f"{path} contains data that Tidepool cannot read ({type(error).__name__}: {str(error)[:200]}). If you received the "
            "file from another person, it was changed or is damaged, so ask for another copy. If it is your own file, this is a "
            "bug in Tidepool. Run the command again with --debug to see where it occurs, and please report it."
        )
    if message_text is None:
        return None
    file_error = FileError(message_text)
    file_error.__cause__ = error
    return file_error


def damage_in(path: Path) -> str | None:
    """Returns the first damage in the file and what to do about it. Stops looking after two seconds of CPU time."""
    until = time.thread_time() + LOOK_SECONDS
    try:
        with closing(connect(path, read_only=True)) as connection:
            connection.set_progress_handler(lambda: time.thread_time() > until, STEPS_BETWEEN_LOOKS)
            damage = find_damage(connection)
    except (sqlite3.Error, OSError):
        return None
    return damage and (
        f"{path} is damaged or was changed: {damage}. Restore a copy of the file, or ask for another one. "
        "To save undamaged batches, run `tidepool export BATCH --format sqlite`."
    )


def find_damage(connection: sqlite3.Connection) -> str | None:
    """Returns the first damage in a file and its place; None for an undamaged file."""
    values = (_unfit_values(connection, table, columns) for table, columns in our_columns().items())
    faults = chain(*values, _odd_ids(connection), _without_partner(connection))
    return next(faults, None)


def _damage(table: str, fault: str, row: int, column: str | None = None) -> str:
    return f"the table {table}, row {row}{f', column {column}' if column else ''}: {fault}"


@cache
def our_columns() -> Mapping[str, Mapping[str, tuple[str, bool]]]:
    """Returns the columns of every table, with their declared type and whether they may be empty."""
    tables = dict.fromkeys((*FIRST, *(one.name for one in CURRENT.statements if one.kind == "table")))
    with closing(sqlite3.connect(":memory:")) as model:
        CURRENT.create(model)
        infos = {table: model.execute(f"PRAGMA table_info({table})").fetchall() for table in tables}
    return {table: {row[1]: (row[2].partition("(")[0], not row[3]) for row in rows} for table, rows in infos.items()}


def _unfit_values(connection: sqlite3.Connection, table: str, columns: Mapping[str, tuple[str, bool]]) -> Iterator[str]:
    whens = "".join(
        f"WHEN {condition} THEN '{column}|{fault}' "
        for column, (declared, may_be_empty) in columns.items()
        for condition, fault in _conditions(table, column, declared, may_be_empty)
    )
    for row, finding in connection.execute(
        f"SELECT * FROM (SELECT rowid, CASE {whens} END AS found FROM {table}) WHERE found IS NOT NULL LIMIT 1"
    ):
        column, fault = finding.split("|")
        yield _damage(table, fault, row, column)


def _conditions(table: str, column: str, declared: str, may_be_empty: bool) -> Iterator[tuple[str, str]]:
    """Yields SQL conditions, each with a description of the damage. A condition may assume that the ones before are false."""
    name = f'"{column}"'
    kinds = (*_HOLDS.get(declared, ("text",)), *(("null",) if may_be_empty else ()))
    yield (
        f"typeof({name}) NOT IN {_listed(kinds)}",
        f"the value is not of type {declared.lower()}" if declared else "invalid value",
    )
    if column.endswith("_at") or column == "at":
        yield f"{name} NOT BETWEEN 0 AND {LAST_MOMENT}", "invalid time"
    elif declared == "FLOAT":
        yield f"{name} IN (9e999, -9e999)", "not a finite number"
    elif declared == "INTEGER" and column != "seed" and not column.endswith(("id", "number")):
        yield f"{name} NOT BETWEEN -{_LARGEST} AND {_LARGEST}", "number out of range"
    if table in _COUNTED and declared in ("INTEGER", "FLOAT"):
        yield f"{name} < 0", "negative count"
    if kind := _JSON_TYPES.get(f"{table}.{column}"):
        yield f"{name} IS NOT NULL AND NOT json_valid({name})", "invalid JSON"
        if kind != "anything":
            fits = (kind, "null") if may_be_empty else (kind,)
            yield f"json_type({name}) NOT IN {_listed(fits)}", f"the JSON is not an {kind}"
    if column == "config":
        yield (
            f"json_type({name}, '$.batch.metadata') IS NOT 'object'",
            "the config has no metadata",
        )
    if allowed_words := _WORDS.get(table, {}).get(column):
        yield f"{name} NOT IN {_listed(allowed_words)}", "unknown value"


def _listed(words: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{word}'" for word in words) + ")"


_IDS = (
    ("batch", "SELECT number, id FROM batch", BATCH_ID),
    (
        "study",
        "SELECT rowid, id FROM study UNION SELECT number, study_id FROM batch WHERE study_id IS NOT NULL",
        BATCH_ID,
    ),
    ("library_entity", "SELECT rowid, id FROM library_entity", _LIBRARY_ID),
    ("library_agent", "SELECT rowid, id FROM library_agent", _LIBRARY_ID),
)


def _odd_ids(connection: sqlite3.Connection) -> Iterator[str]:
    for table, query, pattern in _IDS:
        for row, identity in connection.execute(query):
            if not pattern.match(identity):
                yield _damage(table, f"{identity[:80]!r} is not a valid id of a {table}", row, "id")


_PARTNERS = (
    ("batch", "invalid batch number", f"number NOT BETWEEN 1 AND {MOST_BATCHES - 1}"),
    ("batch", "the batch has no progress row", "number NOT IN (SELECT batch_number FROM progress)"),
    ("unit", "the batch of the unit is missing", "batch_number NOT IN (SELECT number FROM batch)"),
    (
        "unit",
        "the id of the unit does not match its batch and place",
        f"id <> (batch_number << {UNIT_BITS} | sequence_number) OR sequence_number < 0 "
        f"OR sequence_number >= 1 << {UNIT_BITS}",
    ),
    ("unit", "a participant is not a text", "EXISTS (SELECT 1 FROM json_each(participants) WHERE type <> 'text')"),
    ("progress", "invalid provider limits", "json_type(limits, '$.providers') <> 'object'"),
    (
        "finding",
        "the result of the study is not an object",
        "json_type(content) <> 'object' AND batch_number IN (SELECT number FROM batch WHERE kind IN ('evolution', 'mutation'))",
    ),
    ("genome", "a parent is not a text", "EXISTS (SELECT 1 FROM json_each(parents) WHERE type <> 'text')"),
    (
        "provider_batch",
        "invalid call",
        "EXISTS (SELECT 1 FROM json_each(calls) WHERE type <> 'array' OR json_array_length(value) NOT IN (3, 4))",
    ),
)


def _without_partner(connection: sqlite3.Connection) -> Iterator[str]:
    partners = list(_PARTNERS)
    for table, columns in our_columns().items():
        if "batch_number" in columns:
            partners.append(
                (table, "the batch of the row is missing", "batch_number NOT IN (SELECT number FROM batch)")
            )
        elif "unit_id" in columns:
            condition = f"unit_id >> {UNIT_BITS} NOT IN (SELECT number FROM batch)"
            partners.append((table, "the batch of the row is missing", condition))
    for table, fault, condition in partners:
        for (row,) in connection.execute(f"SELECT rowid FROM {table} WHERE {condition} LIMIT 1"):
            yield _damage(table, fault, row)
