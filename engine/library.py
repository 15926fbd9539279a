"""Between the file's library and studies: what a config names by id is taken in before the batch is frozen.

An id is a readable name and a hash of the content: `hypatia-3f2a91`. The same entity or agent has the same id in every
file, so merging keeps it once, and a script that generates from a seed knows the ids in advance.
"""

import json
import re
import unicodedata
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.config import Agent, Config
from engine.errors import NotFound, UsageError
from engine.simulation.entities import Entity, entity_from
from engine.simulation.prompts import portrait
from storage import library
from storage.file import reading


def content_id(name: str, content: object) -> str:
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:40].strip("-")
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{slug}-{digest}" if slug else digest


def stored_entity(entity: Entity, type_name: str | None = None) -> library.StoredEntity:
    one = content_id(entity.name, entity.as_record())
    return library.StoredEntity(one, entity.name, type_name, entity.description, dict(entity.attributes))


def entity_of(stored: library.StoredEntity) -> Entity:
    """Checked like one from a file: a library may be a stranger's."""
    record = {"name": stored.name, "description": stored.description, "attributes": stored.attributes}
    return entity_from(record, f"library entity {stored.id}")


def stored_agent(agent: Agent) -> library.StoredAgent:
    definition = agent.model_dump(mode="json")
    return library.StoredAgent(content_id(agent.name, definition), agent.name, definition)


def agent_of(stored: library.StoredAgent) -> Agent:
    try:
        return Agent.model_validate(stored.definition)
    except ValidationError as error:
        raise UsageError(f"library agent {stored.id}: {error.errors()[0]['msg']}.") from None


def agent_from_entity(entity: Entity, model: str, secret: str = "", **settings: Any) -> Agent:
    """An agent that plays as the entity: who it is becomes its instructions."""
    return Agent(
        name=entity.name,
        model=model,
        secret=secret,
        instructions="\n".join(portrait("About you", entity)),
        **settings,
    )


def names_library(config: Config) -> bool:
    return bool(config.agent_ids or getattr(config.settings, "entity_ids", ()))


def with_library(config: Config, database: Path) -> Config:
    """The config with everything inside that it names by id."""
    if not names_library(config):
        return config
    if not database.exists():
        raise UsageError(
            f"The config names agents or entities by id, but there is no file {database} whose library could hold them. "
            "Name the file with --db, or fill its library with `tidepool entities add`."
        )
    try:
        return _taken_in(config, database)
    except NotFound as error:
        raise UsageError(str(error)) from None


def _taken_in(config: Config, database: Path) -> Config:
    entity_ids: list[str] = getattr(config.settings, "entity_ids", [])
    with reading(database) as connection:
        agents = [agent_of(stored) for stored in library.find_agents(connection, config.agent_ids)]
        stored_entities = library.find_entities(connection, entity_ids)
    entities = [{"id": stored.id, **entity_of(stored).as_record()} for stored in stored_entities]
    settings = config.settings.model_copy(update={"entity_ids": []}) if entity_ids else config.settings
    update = {
        "agents": [*config.agents, *agents],
        "agent_ids": [],
        "entities": [*config.entities, *entities],
        "settings": settings,
    }
    return config.model_copy(update=update)
