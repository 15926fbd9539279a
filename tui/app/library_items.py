"""The library of a file as shown on its screen: items, their details, and the conversion of form records.

Items are read and cleaned in the file's own thread, because a library may contain a hundred thousand entities.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.config.endpoints import PRESETS
from tidepool.engine.config.entities import entity_from, in_words
from tidepool.engine.config.entity_types import EntityType, built_in_records, entity_type_from, generate
from tidepool.engine.config.library import stored_agent, stored_entity
from tidepool.engine.config.loading import declared_model
from tidepool.engine.config.problems import problems_in
from tidepool.engine.config.sections import Agent
from tidepool.engine.config.toml_files import format_value
from tidepool.engine.errors import UsageError
from tidepool.storage.library import StoredAgent, StoredEntity, StoredType, list_agents, list_entities, list_types
from tidepool.tui.app.compose.fields import KeyPath
from tidepool.tui.app.widgets.rows import Passage
from tidepool.tui.drawing.text import ago, one_line

MOST_IN_A_CELL = 240
MOST_SEARCHED = 4_000
"""characters of one text"""

SHELVES = {"entities": "Entities", "types": "Types", "agents": "Agents"}


@dataclass(frozen=True, slots=True)
class KnownType:
    """An entity type, built in or from the file. `fault` says why a type cannot be read."""

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
        items: tuple[Item, ...] = getattr(self, name)
        return items


def read_library(connection: sqlite3.Connection) -> LibraryItems:
    return LibraryItems(
        tuple(map(entity_item, list_entities(connection))),
        tuple(map(type_item, types_in(list_types(connection)))),
        tuple(map(agent_item, list_agents(connection))),
    )


def matching(items: Iterable[Item], words: str) -> list[Item]:
    """Returns the items that contain all the words."""
    search_words = words.casefold().split()
    return [item for item in items if all(word in item.searched for word in search_words)]


def entity_item(stored: StoredEntity) -> Item:
    attributes = ", ".join(f"{name} {in_words(value)}" for name, value in stored.attributes.items())
    about = "damaged, cannot be read" if stored.damaged else stored.description or attributes
    return _item(stored.id, (stored.name, stored.type or "", about), (stored.description, attributes), stored)


def agent_item(stored: StoredAgent) -> Item:
    definition = stored.definition
    model, secret, instructions = (str(definition.get(name) or "") for name in ("model", "secret", "instructions"))
    about = "damaged, cannot be read" if stored.damaged else "  ".join(filter(None, (secret, instructions)))
    return _item(stored.id, (stored.name, model, about), (secret, instructions), stored)


def type_item(known: KnownType) -> Item:
    dimensions = ", ".join(one.name for one in known.type.dimensions) if known.type else known.fault
    about = str(known.definition.get("description") or "") or dimensions
    origin = "your own" if known.own else "built in"
    return _item(known.name, (known.name, origin, about), (dimensions,), known)


def types_in(stored: Sequence[StoredType]) -> list[KnownType]:
    """Returns the built-in types and those of the file, which override built-in ones of the same name."""
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


EXAMPLES = 3


def details(item: Item) -> list[Passage]:
    stored = item.stored
    if isinstance(stored, KnownType):
        return list(_type(stored))
    if stored.damaged:
        result = Passage("This item is damaged and cannot be read. Press x to delete it.", "failed")
        return [Passage(stored.name, "strong"), Passage(stored.id, "dim"), result]
    return list(_entity(stored) if isinstance(stored, StoredEntity) else _agent(stored))


def _entity(stored: StoredEntity) -> Iterator[Passage]:
    yield Passage(stored.name, "strong")
    yield Passage(f"{stored.id} · {stored.type or 'no type'} · added {ago(stored.created_at)} ago", "dim")
    if stored.description:
        yield Passage("")
        yield Passage(stored.description)
    if stored.attributes:
        yield Passage("")
    for name, value in stored.attributes.items():
        yield Passage(in_words(value), label=name)


REASONING = ("reasoning_effort", "max_reasoning_tokens")


def _agent(stored: StoredAgent) -> Iterator[Passage]:
    definition = stored.definition
    yield Passage(stored.name, "strong")
    yield Passage(f"{stored.id} · added {ago(stored.created_at)} ago", "dim")
    yield Passage("")
    model = str(definition.get("model", ""))
    yield Passage(f"{model} = {PRESETS[model]}" if model in PRESETS else model, label="model")
    yield Passage(str(definition.get("secret") or "none (required to play the secret game)"), label="secret")
    for name in ("memory", "temperature", "max_tokens", *(key for key in REASONING if definition.get(key))):
        yield Passage("not sent" if definition.get(name) is None else str(definition[name]), label=name)
    if definition.get("instructions"):
        yield Passage("")
        yield Passage("instructions", "dim")
        yield Passage(str(definition["instructions"]))


def _type(known: KnownType) -> Iterator[Passage]:
    yield Passage(known.name, "strong")
    yield Passage("your own" if known.own else "built in", "dim")
    if known.type is None:
        yield Passage(known.fault, "failed")
        return
    yield Passage(known.type.description)
    yield Passage("")
    for dimension in known.definition.get("dimensions") or ():
        details = {key: value for key, value in dimension.items() if key not in ("name", "kind")}
        words = format_value(details)[1:-1].strip()
        yield Passage(f"{dimension.get('kind')} {words}", label=str(dimension.get("name")))
    yield Passage("")
    yield Passage("examples, seed 42", "dim")
    yield from examples(known.type, 42)


def examples(kind: EntityType, seed: int, count: int = EXAMPLES) -> list[Passage]:
    try:
        entities = generate(kind, count, seed)
    except UsageError as error:
        return [Passage(str(error), "failed")]
    passages = []
    for one in entities:
        about = one.description or ", ".join(f"{name} {in_words(value)}" for name, value in one.attributes.items())
        passages.append(Passage(f"· {about}" if one.name in about else f"· {one.name}: {about}"))
    return passages


_WHERE = "entity"


def entity_faults(record: Mapping[str, Any]) -> dict[KeyPath, str]:
    """Returns one error for each field. An error about no field of the form has an empty path."""
    try:
        entity_from(record, _WHERE)
    except UsageError as error:
        sentence = str(error).removeprefix(f"{_WHERE}, ").removeprefix(f"{_WHERE}: ")
        place = error.where[:1]
        return {place if place in (("name",), ("description",), ("attributes",)) else (): sentence}
    return {}


def entity_in(record: Mapping[str, Any], old: StoredEntity | None = None) -> StoredEntity:
    """Returns an entity with the type of the one that it replaces."""
    return stored_entity(entity_from(record, _WHERE), old.type if old else None)


def agent_faults(record: Mapping[str, Any]) -> dict[KeyPath, str]:
    """Returns one error for each field."""
    faults: dict[KeyPath, str] = {}
    for fault in problems_in(Agent, record):
        faults.setdefault(fault.where[:1], fault.sentence)
    if not faults:
        try:
            declared_model(record["model"])
        except UsageError as error:
            faults["model",] = str(error)
    return faults


def agent_in(record: Mapping[str, Any], old: StoredAgent | None = None) -> StoredAgent:
    return stored_agent(Agent.model_validate(dict(record)))
