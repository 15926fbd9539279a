"""Between a form and the library: records checked by the engine's own rules, and written."""

from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.engine.config.loading import declared_model
from tidepool.engine.config.problems import problems_in
from tidepool.engine.config.sections import Agent
from tidepool.engine.errors import UsageError
from tidepool.engine.library.contents import (
    LibraryAdditions,
    agent_from_entity,
    secrets_for,
    stored_agent,
    stored_entity,
)
from tidepool.engine.library.entities import Entity, entity_from
from tidepool.storage.library import StoredAgent, StoredEntity
from tidepool.tui.app.compose_model.fields import Field, Form, Path

SEVERAL_FIELDS = (
    Field(("model",), Form.MODEL, "PROVIDER:MODEL, or a preset such as gpt4o_mini", required=True),
    Field(("memory",), Form.CHOICE, "short: this conversation; long: all earlier ones", "short", ("short", "long")),
    Field(("seed",), Form.WHOLE, "of the code words they get as secrets", 42),
)
"""what is asked where agents are made of several entities at once"""

_WHERE = "entity"


def entity_faults(record: Mapping[str, Any]) -> dict[Path, str]:
    """One sentence beside the field it is about; what is wrong with no field of the form has an empty place."""
    try:
        entity_from(record, _WHERE)
    except UsageError as error:
        sentence = str(error).removeprefix(f"{_WHERE}, ").removeprefix(f"{_WHERE}: ")
        place = error.where[:1]
        return {place if place in (("name",), ("description",), ("attributes",)) else (): sentence}
    return {}


def entity_in(record: Mapping[str, Any], type_name: str | None) -> StoredEntity:
    return stored_entity(entity_from(record, _WHERE), type_name)


def agent_faults(record: Mapping[str, Any]) -> dict[Path, str]:
    """One sentence a field; the model's name is asked for in words where it is missing."""
    faults: dict[Path, str] = {}
    for fault in problems_in(Agent, record):
        faults.setdefault(fault.where[:1], fault.sentence)
    if not faults:
        try:
            declared_model(record["model"])
        except UsageError as error:
            faults["model",] = str(error)
    return faults


def agent_in(record: Mapping[str, Any]) -> StoredAgent:
    return stored_agent(Agent.model_validate(dict(record)))


def several_faults(record: Mapping[str, Any]) -> dict[Path, str]:
    """The same rules as for one agent; the seed is a whole number."""
    agent = {key: value for key, value in record.items() if key in ("model", "memory")}
    faults = agent_faults({"name": "somebody", **agent})
    if not isinstance(record.get("seed", 42), int):
        faults[("seed",)] = "a seed is a whole number."
    return faults


def agents_of_entities(entities: Sequence[Entity], said: Mapping[str, Any]) -> LibraryAdditions:
    """One of each, with a code word as its secret."""
    secrets = secrets_for([entity.name for entity in entities], said.get("seed", 42))
    memory = said.get("memory", "short")
    pairs = zip(entities, secrets, strict=True)
    return LibraryAdditions(
        agents=tuple(stored_agent(agent_from_entity(e, said["model"], s, memory=memory)) for e, s in pairs)
    )
