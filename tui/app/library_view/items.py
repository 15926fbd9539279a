"""What lies on the three shelves of a library, one line each, ready to be searched.

Read and made plain in the file's own thread: a library may hold a hundred thousand people.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.errors import UsageError
from tidepool.engine.library.entity_types import EntityType, built_in_records, entity_type_from, in_words
from tidepool.storage.library import StoredAgent, StoredEntity, StoredType, list_agents, list_entities, list_types
from tidepool.tui.drawing.text import one_line

MOST_IN_A_CELL = 240
MOST_SEARCHED = 4_000
"""characters of one text"""

SHELVES = {"entities": "Entities", "types": "Types", "agents": "Agents"}


@dataclass(frozen=True, slots=True)
class KnownType:
    """An entity type, built in or of the file; a type that cannot be read says why."""

    name: str
    definition: Mapping[str, Any]
    own: bool
    type: EntityType | None
    fault: str = ""


Stored = StoredEntity | KnownType | StoredAgent


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    cells: tuple[str, str, str]
    searched: str
    stored: Stored

    @property
    def name(self) -> str:
        return self.cells[0]


@dataclass(frozen=True, slots=True)
class LibraryItems:
    entities: tuple[Item, ...] = ()
    types: tuple[Item, ...] = ()
    agents: tuple[Item, ...] = ()

    def shelf(self, name: str) -> tuple[Item, ...]:
        found: tuple[Item, ...] = getattr(self, name)
        return found


def read_library(connection: sqlite3.Connection) -> LibraryItems:
    return LibraryItems(
        tuple(map(entity_item, list_entities(connection))),
        tuple(map(type_item, types_in(list_types(connection)))),
        tuple(map(agent_item, list_agents(connection))),
    )


def found(items: Iterable[Item], words: str) -> list[Item]:
    """Those that have all the words somewhere."""
    wanted = words.casefold().split()
    return [item for item in items if all(word in item.searched for word in wanted)]


def entity_item(stored: StoredEntity) -> Item:
    attributes = ", ".join(f"{name} {in_words(value)}" for name, value in stored.attributes.items())
    about = "damaged: it cannot be read" if stored.damaged else stored.description or attributes
    return _item(stored.id, (stored.name, stored.type or "", about), (stored.description, attributes), stored)


def agent_item(stored: StoredAgent) -> Item:
    said = stored.definition
    model, secret, instructions = (str(said.get(name) or "") for name in ("model", "secret", "instructions"))
    about = "damaged: it cannot be read" if stored.damaged else "  ".join(filter(None, (secret, instructions)))
    return _item(stored.id, (stored.name, model, about), (secret, instructions), stored)


def type_item(known: KnownType) -> Item:
    dimensions = ", ".join(one.name for one in known.type.dimensions) if known.type else known.fault
    about = str(known.definition.get("description") or "") or dimensions
    origin = "your own" if known.own else "built in"
    return _item(known.name, (known.name, origin, about), (dimensions,), known)


def types_in(stored: Sequence[StoredType]) -> list[KnownType]:
    """The built-in types and those of the file, which win."""
    built_in = {name: _known(name, record, False) for name, record in built_in_records().items()}
    return list({**built_in, **{one.name: _known(one.name, one.definition, True) for one in stored}}.values())


def _known(name: str, definition: Mapping[str, Any], own: bool) -> KnownType:
    try:
        return KnownType(name, definition, own, entity_type_from(definition, f"library type {name}"))
    except UsageError as error:
        return KnownType(name, definition, own, None, str(error))


def _item(one: str, cells: tuple[str, str, str], more: Sequence[str], stored: Stored) -> Item:
    searched = "\n".join(text[:MOST_SEARCHED] for text in (one, *cells, *more)).casefold()
    first, second, third = (one_line(cell[:MOST_IN_A_CELL]) for cell in cells)
    return Item(one, (first, second, third), searched, stored)
