"""Between the file's library and studies: what a config names by id is taken in before the batch is frozen.

An id is a readable name and a hash of the content: `hypatia-3f2a91`. The same entity or agent has the same id in every
file, so merging keeps it once, and a script that generates from a seed knows the ids in advance.
"""

import json
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tidepool.engine.config.problems import problems_of, told
from tidepool.engine.config.sections import Agent, Config
from tidepool.engine.errors import NotFound, UsageError, located
from tidepool.engine.library.agent_files import read_agents
from tidepool.engine.library.code_words import code_words
from tidepool.engine.library.entities import Entity, entity_from
from tidepool.engine.library.entity_files import read_entities, read_entity_ids
from tidepool.engine.library.portraits import portrait
from tidepool.engine.library.type_library import holds_types, types_of_file
from tidepool.engine.streams import stream
from tidepool.storage import library
from tidepool.storage.file import prepare, reading


def content_id(name: str, content: object) -> str:
    """The id of something in a library: its name, and a hash of all that it is."""
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:40].strip("-")
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{slug}-{digest}" if slug else digest


def stored_entity(entity: Entity, type_name: str | None = None) -> library.StoredEntity:
    """The entity as a library keeps it."""
    one = content_id(entity.name, entity.as_record())
    return library.StoredEntity(one, entity.name, type_name, entity.description, dict(entity.attributes))


def entity_of(stored: library.StoredEntity) -> Entity:
    """Checked like one from a file: a library may be a stranger's."""
    record = {"name": stored.name, "description": stored.description, "attributes": stored.attributes}
    return entity_from(record, f"library entity {stored.id}")


def stored_agent(agent: Agent) -> library.StoredAgent:
    """The agent as a library keeps it."""
    definition = agent.model_dump(mode="json")
    return library.StoredAgent(content_id(agent.name, definition), agent.name, definition)


def agent_of(stored: library.StoredAgent) -> Agent:
    """The agent that a library keeps, checked like one from a file."""
    try:
        return Agent.model_validate(stored.definition)
    except ValidationError as error:
        raise UsageError(f"library agent {stored.id}: {problems_of(error, Agent)[0].sentence}") from None


def agent_from_entity(entity: Entity, model: str, secret: str = "", **settings: Any) -> Agent:
    """An agent that plays as the entity: who it is becomes its instructions."""
    return Agent(
        name=entity.name,
        model=model,
        secret=secret,
        instructions="\n".join(portrait("About you", entity)),
        **settings,
    )


def agent_from_champion(prompt: str, name: str, model: str, secret: str = "", **settings: Any) -> Agent:
    """An agent that plays by the prompt which won an evolution."""
    return Agent(name=name, model=model, secret=secret, instructions=prompt, **settings)


def secrets_for(names: Sequence[str], seed: int) -> list[str]:
    """A code word for each: other company, other words."""
    return code_words(len(names), stream(seed, "code words", *names))


# -- into the library ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LibraryAdditions:
    """What is to be put into a library."""

    entities: tuple[library.StoredEntity, ...] = ()
    types: tuple[library.StoredType, ...] = ()
    agents: tuple[library.StoredAgent, ...] = ()


@dataclass(frozen=True, slots=True)
class AddedToLibrary:
    """What became of things that were to be put into a library."""

    added: int
    known: int
    """that were there already"""
    types: tuple[str, ...] = ()


def entities_of_files(paths: Iterable[Path]) -> LibraryAdditions:
    """Entities and entity types; all files are read before anything is written."""
    entities: list[library.StoredEntity] = []
    types: list[library.StoredType] = []
    for path in paths:
        if holds_types(path):
            types += types_of_file(path)
        else:
            entities += [stored_entity(entity) for entity in read_entities(path)]
    return LibraryAdditions(tuple(entities), tuple(types))


def agents_of_files(paths: Iterable[Path]) -> LibraryAdditions:
    """Agents; all files are read before anything is written."""
    return LibraryAdditions(agents=tuple(stored_agent(agent) for path in paths for agent in read_agents(path)))


def keep(database: Path, additions: LibraryAdditions) -> AddedToLibrary:
    """Puts everything into the library of the file, each thing once."""
    prepare(database)
    if additions.types:
        library.put_types(database, additions.types)
    added = library.add_entities(database, additions.entities) if additions.entities else 0
    added += library.add_agents(database, additions.agents) if additions.agents else 0
    known = len(additions.entities) + len(additions.agents) - added
    return AddedToLibrary(added, known, tuple(kind.name for kind in additions.types))


# -- out of the library ----------------------------------------------------------------------------------


def names_library(config: Config) -> bool:
    """Whether the config names agents or entities by id."""
    return bool(config.agent_ids or getattr(config.settings, "entity_ids", ()))


def with_library(config: Config, database: Path) -> Config:
    """The config with everything inside that it names by id."""
    listed = _ids_of_file(config)
    if not listed and not names_library(config):
        return config
    if not database.exists():
        raise UsageError(
            f"The config names agents or entities by id, but there is no file {database} whose library could hold them. "
            "Name the file with --db, or fill its library with `tidepool entities add`."
        )
    with reading(database) as connection:
        return _taken_in(config, connection, listed)


def _ids_of_file(config: Config) -> list[str]:
    """Where the entity_file lists ids of the library instead of entities."""
    name: str | None = getattr(config.settings, "entity_file", None)
    if not name:
        return []
    where = (config.batch.kind, "entity_file")
    try:
        return read_entity_ids((config.origin.folder or Path.cwd()) / name) or []
    except UsageError as error:
        raise UsageError(told(config.origin.source, str(error)), where) from None


def _taken_in(config: Config, connection: sqlite3.Connection, listed: Sequence[str]) -> Config:
    kind, entity_ids = config.batch.kind, getattr(config.settings, "entity_ids", [])
    with _found_at("agent_ids"):
        agents = [agent_of(stored) for stored in library.find_agents(connection, config.agent_ids)]
    with _found_at(kind, "entity_ids"):
        stored = library.find_entities(connection, entity_ids)
    with _found_at(kind, "entity_file", source=getattr(config.settings, "entity_file", "")):
        stored += library.find_entities(connection, listed)
    with located(kind, "entity_file" if listed else "entity_ids"):
        entities = [{"id": one.id, **entity_of(one).as_record()} for one in stored]
    update = {
        "agents": [*config.agents, *agents],
        "agent_ids": [],
        "entities": [*config.entities, *entities],
        "settings": config.settings.model_copy(update=_emptied(entity_ids, listed)),
    }
    return config.model_copy(update=update)


def _emptied(entity_ids: Sequence[str], listed: Sequence[str]) -> dict[str, Any]:
    """Keys whose ids were taken in name nothing any more."""
    return {**({"entity_ids": []} if entity_ids else {}), **({"entity_file": None} if listed else {})}


@contextmanager
def _found_at(*where: str, source: str = "") -> Iterator[None]:
    """An id that nothing goes by is a mistake at the key that lists it, or that names the file that does."""
    with located(*where):
        try:
            yield
        except NotFound as error:
            raise UsageError(told(source, str(error))) from None
