"""The library of a study file: entities, entity types and agents that every batch of the file can use.

The engine derives the ids of entities and agents from their content. The same item is therefore stored once, here and in every
file it is merged into. A batch freezes what it uses, so removing items from the library changes no batch.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from tidepool.storage import db
from tidepool.storage.errors import FileError, NotFound
from tidepool.storage.file import prepare, settle, writing

if TYPE_CHECKING:
    from sqlmodel import SQLModel

Shelf = Literal["entity", "agent"]
_PLURALS = {"entity": "entities", "agent": "agents"}


@dataclass(frozen=True, slots=True)
class StoredEntity:
    shelf: ClassVar[Shelf] = "entity"
    id: str
    name: str
    type: str | None
    description: str
    attributes: dict[str, Any]
    created_at: float = 0.0
    damaged: bool = False
    """the stored item cannot be read; it is only listed, so that it can be removed"""


@dataclass(frozen=True, slots=True)
class StoredAgent:
    shelf: ClassVar[Shelf] = "agent"
    id: str
    name: str
    definition: dict[str, Any]
    """as in [[agents]] of a config"""
    created_at: float = 0.0
    damaged: bool = False


RecordT = TypeVar("RecordT", StoredEntity, StoredAgent)


@dataclass(frozen=True, slots=True)
class StoredType:
    name: str
    definition: dict[str, Any]
    created_at: float = 0.0


Stamp = tuple[tuple[int, int, float], ...]


def stamp(connection: sqlite3.Connection) -> Stamp:
    """Returns a value that changes whenever the library changes. It is cheap, so that a screen can check often."""
    tables = ("library_entity", "library_type", "library_agent")
    query = "SELECT count(*), coalesce(max(rowid), 0), coalesce(max(created_at), 0) FROM"
    return tuple(tuple(connection.execute(f"{query} {table}").fetchone()) for table in tables)


def list_entities(
    connection: sqlite3.Connection, type_name: str | None = None, *, limit: int = -1, offset: int = 0
) -> list[StoredEntity]:
    query = "SELECT * FROM library_entity WHERE ?1 IS NULL OR type = ?1 ORDER BY rowid LIMIT ?2 OFFSET ?3"
    return [_entity(row) for row in connection.execute(query, (type_name, limit, offset)).fetchall()]


def list_agents(connection: sqlite3.Connection) -> list[StoredAgent]:
    return [_agent(row) for row in connection.execute("SELECT * FROM library_agent ORDER BY rowid").fetchall()]


def list_types(connection: sqlite3.Connection) -> list[StoredType]:
    rows = connection.execute("SELECT * FROM library_type ORDER BY name").fetchall()
    return [StoredType(str(row["name"]), _mapping(row["definition"])[0], _moment(row)) for row in rows]


def find_entities(connection: sqlite3.Connection, references: Iterable[str]) -> list[StoredEntity]:
    """Finds entities in the given order. A reference is an id, a unique prefix, or a pattern with `*`."""
    return [_sound(_entity(row)) for row in _find_rows(connection, "entity", references)]


def find_agents(connection: sqlite3.Connection, references: Iterable[str]) -> list[StoredAgent]:
    return [_sound(_agent(row)) for row in _find_rows(connection, "agent", references)]


def add(path: Path, records: Sequence[StoredEntity] | Sequence[StoredAgent]) -> int:
    """Adds records. Existing ids stay unchanged. Returns the number of new records."""
    if not records:
        return 0
    with writing(path) as connection:
        before = connection.total_changes
        db.insert_rows(connection, _table(records[0].shelf), list(map(_columns, records)), "IGNORE")
        added = connection.total_changes - before
    settle(path)
    return added


def _columns(stored: StoredEntity | StoredAgent) -> dict[str, Any]:
    values = {name: value for name, value in asdict(stored).items() if name != "damaged"}
    texts = {name: _json(value) if isinstance(value, dict) else value for name, value in values.items()}
    return {**texts, "created_at": time.time()}


def replace(path: Path, old_id: str, new: StoredEntity | StoredAgent) -> None:
    """Replaces a record by an edited one with its new id, at the same place. Deletes the old record if the new id exists already."""
    table, columns = _table(new.shelf), _columns(new)
    with writing(path) as connection:
        changed = db.update(table).prefix_with("OR IGNORE").filter_by(id=old_id).values(**columns)
        if not db.execute(connection, changed).rowcount:
            db.insert_rows(connection, table, [columns], "IGNORE")
            db.remove(connection, table, id=old_id)
    settle(path)


def put_types(path: Path, types: Sequence[StoredType]) -> None:
    """Stores types and replaces those of the same name. Entities that were generated before stay unchanged."""
    rows = [{"name": one.name, "definition": _json(one.definition), "created_at": time.time()} for one in types]
    with writing(path) as connection:
        db.insert_rows(connection, db.LibraryType, rows, "REPLACE")
    settle(path)


def remove(path: Path, shelf: Shelf, references: Iterable[str]) -> list[str]:
    """Removes items. Returns their ids."""
    prepare(path, create=False)
    with writing(path) as connection:
        ids = [str(row["id"]) for row in _find_rows(connection, shelf, references)]
        for record_id in ids:
            db.remove(connection, _table(shelf), id=record_id)
    settle(path)
    return ids


def _table(shelf: Shelf) -> "type[SQLModel]":
    return db.LibraryEntity if shelf == "entity" else db.LibraryAgent


def remove_type(path: Path, name: str) -> None:
    with writing(path) as connection:
        if not db.remove(connection, db.LibraryType, name=name).rowcount:
            raise NotFound(f"The library has no entity type {name!r}. `tidepool entities types` lists the types.")
    settle(path)


def _find_rows(connection: sqlite3.Connection, shelf: Shelf, references: Iterable[str]) -> list[sqlite3.Row]:
    rows = {row["id"]: row for row in connection.execute(f"SELECT * FROM library_{shelf} ORDER BY rowid").fetchall()}
    matching_rows: dict[str, sqlite3.Row] = {}
    for reference in references:
        for record_id in _matches(reference, list(rows), shelf):
            if record_id in matching_rows:
                raise NotFound(f"The {shelf} {record_id!r} of the library is listed twice. Remove one.")
            matching_rows[record_id] = rows[record_id]
    return list(matching_rows.values())


def _matches(reference: str, ids: list[str], shelf: Shelf) -> list[str]:
    if reference in ids:
        return [reference]
    if "*" in reference:
        matching = [record_id for record_id in ids if fnmatchcase(record_id, reference.replace("[", "[[]"))]
    else:
        matching = [record_id for record_id in ids if reference and record_id.startswith(reference)]
        if len(matching) > 1:
            raise NotFound(
                f"{reference!r} matches several items of the library ({', '.join(matching[:9])}). Type more of the id."
            )
    if not matching:
        suggestions = get_close_matches(reference, ids, n=1, cutoff=0.4)
        hint = f" Did you mean {suggestions[0]!r}?" if suggestions else ""
        raise NotFound(
            f"The library of this file has no {shelf} {reference!r}.{hint} `tidepool {_PLURALS[shelf]} list` lists them."
        )
    return matching


def _entity(row: sqlite3.Row) -> StoredEntity:
    attributes, damaged = _mapping(row["attributes"])
    kind = None if row["type"] is None else str(row["type"])
    texts = str(row["id"]), str(row["name"]), kind, str(row["description"])
    return StoredEntity(*texts, attributes, _moment(row), damaged)


def _agent(row: sqlite3.Row) -> StoredAgent:
    definition, damaged = _mapping(row["definition"])
    return StoredAgent(str(row["id"]), str(row["name"]), definition, _moment(row), damaged)


def _moment(row: sqlite3.Row) -> float:
    at = row["created_at"]
    return float(at) if isinstance(at, int | float) else 0.0


def _mapping(text: object) -> tuple[dict[str, Any], bool]:
    """Returns a stored JSON object and whether it is damaged, since the file may be untrusted."""
    try:
        content = json.loads(text)  # type: ignore[arg-type]
    except (TypeError, ValueError, RecursionError):
        return {}, True
    return (content, False) if isinstance(content, dict) else ({}, True)


def _sound(stored: RecordT) -> RecordT:
    if stored.damaged:
        raise FileError(
            f"The {stored.shelf} {stored.id!r} of the library is damaged and cannot be read. "
            f"Remove it with `tidepool {_PLURALS[stored.shelf]} remove`."
        )
    return stored


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False)
