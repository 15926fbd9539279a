"""The library of a study file: entities, entity types and agents that any batch of the file may use.

Ids of entities and agents are made of their content (by the engine), so the same one is kept once, here and in every
file it is merged into. What a batch uses is frozen into it: removing from the library changes no batch.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from storage.errors import NotFound
from storage.file import prepare, settle, writing

Shelf = Literal["entity", "agent"]


@dataclass(frozen=True, slots=True)
class StoredEntity:
    id: str
    name: str
    type: str | None
    description: str
    attributes: dict[str, Any]
    created_at: float = 0.0


@dataclass(frozen=True, slots=True)
class StoredAgent:
    id: str
    name: str
    definition: dict[str, Any]
    """as in [[agents]] of a config"""
    created_at: float = 0.0


@dataclass(frozen=True, slots=True)
class StoredType:
    name: str
    definition: dict[str, Any]
    created_at: float = 0.0


def list_entities(connection: sqlite3.Connection, type_name: str | None = None) -> list[StoredEntity]:
    where, values = ("WHERE type = ?", (type_name,)) if type_name is not None else ("", ())
    rows = connection.execute(f"SELECT * FROM library_entity {where} ORDER BY rowid", values).fetchall()
    return [_entity(row) for row in rows]


def list_agents(connection: sqlite3.Connection) -> list[StoredAgent]:
    return [_agent(row) for row in connection.execute("SELECT * FROM library_agent ORDER BY rowid").fetchall()]


def list_types(connection: sqlite3.Connection) -> list[StoredType]:
    rows = connection.execute("SELECT * FROM library_type ORDER BY name").fetchall()
    return [StoredType(row["name"], json.loads(row["definition"]), row["created_at"]) for row in rows]


def find_entities(connection: sqlite3.Connection, references: Iterable[str]) -> list[StoredEntity]:
    """In the order named; each reference is an id, a unique beginning of one, or a pattern with `*`."""
    return [_entity(row) for row in _found(connection, "entity", references)]


def find_agents(connection: sqlite3.Connection, references: Iterable[str]) -> list[StoredAgent]:
    return [_agent(row) for row in _found(connection, "agent", references)]


def add_entities(path: Path, entities: Sequence[StoredEntity]) -> int:
    """Returns how many were new."""
    with writing(path) as connection:
        before = connection.total_changes
        connection.executemany(
            "INSERT OR IGNORE INTO library_entity (id, name, type, description, attributes, created_at) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(e.id, e.name, e.type, e.description, _json(e.attributes), time.time()) for e in entities],
        )
        added = connection.total_changes - before
    settle(path)
    return added


def add_agents(path: Path, agents: Sequence[StoredAgent]) -> int:
    with writing(path) as connection:
        before = connection.total_changes
        connection.executemany(
            "INSERT OR IGNORE INTO library_agent (id, name, definition, created_at) VALUES (?, ?, ?, ?)",
            [(agent.id, agent.name, _json(agent.definition), time.time()) for agent in agents],
        )
        added = connection.total_changes - before
    settle(path)
    return added


def put_types(path: Path, types: Sequence[StoredType]) -> None:
    """A type of the same name is replaced: entities generated before keep what they are."""
    with writing(path) as connection:
        connection.executemany(
            "INSERT OR REPLACE INTO library_type (name, definition, created_at) VALUES (?, ?, ?)",
            [(kind.name, _json(kind.definition), time.time()) for kind in types],
        )
    settle(path)


def remove(path: Path, shelf: Shelf, references: Iterable[str]) -> list[str]:
    """Returns the ids removed."""
    prepare(path, create=False)
    with writing(path) as connection:
        ids = [str(row["id"]) for row in _found(connection, shelf, references)]
        connection.executemany(f"DELETE FROM library_{shelf} WHERE id = ?", [(one,) for one in ids])
    settle(path)
    return ids


def remove_type(path: Path, name: str) -> None:
    with writing(path) as connection:
        if not connection.execute("DELETE FROM library_type WHERE name = ?", (name,)).rowcount:
            raise NotFound(f"The library has no entity type {name!r}.")
    settle(path)


def _found(connection: sqlite3.Connection, shelf: Shelf, references: Iterable[str]) -> list[sqlite3.Row]:
    rows = {row["id"]: row for row in connection.execute(f"SELECT * FROM library_{shelf} ORDER BY rowid").fetchall()}
    found: dict[str, sqlite3.Row] = {}
    for reference in references:
        for one in _matches(reference, list(rows), shelf):
            if one in found:
                raise NotFound(f"The {shelf} {one!r} of the library is named twice. Name it once.")
            found[one] = rows[one]
    return list(found.values())


def _matches(reference: str, ids: list[str], shelf: Shelf) -> list[str]:
    if reference in ids:
        return [reference]
    if "*" in reference:
        matching = [one for one in ids if fnmatchcase(one, reference.replace("[", "[[]"))]
    else:
        matching = [one for one in ids if reference and one.startswith(reference)]
        if len(matching) > 1:
            raise NotFound(
                f"{reference!r} fits several of the library ({', '.join(matching[:9])}): give more of the id."
            )
    if not matching:
        near = get_close_matches(reference, ids, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        several = {"entity": "entities", "agent": "agents"}[shelf]
        raise NotFound(
            f"The library of this file has no {shelf} {reference!r}.{hint} `tidepool {several} list` shows those there are."
        )
    return matching


def _entity(row: sqlite3.Row) -> StoredEntity:
    attributes = json.loads(row["attributes"])
    return StoredEntity(row["id"], row["name"], row["type"], row["description"], attributes, row["created_at"])


def _agent(row: sqlite3.Row) -> StoredAgent:
    return StoredAgent(row["id"], row["name"], json.loads(row["definition"]), row["created_at"])


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False)
