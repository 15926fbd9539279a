"""Who takes part in a batch: entities out of the config, a file and the library, taken in once and frozen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tidepool.engine.config.toml_files import named_file, read_text
from tidepool.engine.errors import UsageError, located
from tidepool.engine.library.entities import Entity, checked_name, entity_from, read_entities, refuse_doubled
from tidepool.engine.studies.simulation.meetings.combinations import check_sizes

if TYPE_CHECKING:
    from tidepool.engine.config.sections import Config, ConfigSections
    from tidepool.engine.studies.simulation.config import SimulationSettings


@dataclass(frozen=True, slots=True)
class CastMember:
    id: str
    """the library's, or its name where it never was in one"""
    entity: Entity

    def as_record(self) -> dict[str, Any]:
        return {"id": self.id, **self.entity.as_record()}


def settings_of(config: "ConfigSections") -> "SimulationSettings":
    return cast("SimulationSettings", config.settings)


def cast_of(config: "ConfigSections") -> list[CastMember]:
    """All who may meet, in the order of the config."""
    return cast_from(config.entities)


def cast_from(records: Iterable[Mapping[str, Any]]) -> list[CastMember]:
    with located("entities"):
        members = [_member(record, place) for place, record in enumerate(records)]
        refuse_doubled((member.entity for member in members), "The batch")
        _refuse_doubled_ids(members)
    return members


def taken_in(config: "Config", folder: Path | None) -> "Config":
    """The config with its context and the entities of its file inside."""
    settings = settings_of(config)
    from_file = _of_file(settings.entity_file, folder) if settings.entity_file else []
    records = [*config.entities, *(entity.as_record() for entity in from_file)]
    update: dict[str, Any] = {"context": _context(settings, folder), "context_file": None, "entity_file": None}
    if folder is not None:  # a batch of its own begins
        update["keep_addresses"] = True
    whole = config.model_copy(update={"settings": settings.model_copy(update=update), "entities": records})
    members = cast_of(whole)
    _check(len(members), settings)
    return whole.model_copy(update={"entities": [member.as_record() for member in members]})


def _check(entities: int, settings: "SimulationSettings") -> None:
    if not entities:
        raise UsageError(
            "The simulation has no entities: list them under [[entities]], or name an entity_file, or entity_ids of "
            "the library (`tidepool entities list`).",
            ("entities",),
        )
    check_sizes(entities, settings.interaction_size, settings.num_simulations)


def _of_file(name: str, folder: Path | None) -> list[Entity]:
    path = named_file(name, folder, "simulation", "entity_file")
    with located("simulation", "entity_file"):
        return read_entities(path)


def _context(settings: "SimulationSettings", folder: Path | None) -> str:
    context = settings.context
    if settings.context_file:
        path = named_file(settings.context_file, folder, "simulation", "context_file")
        with located("simulation", "context_file"):
            context = read_text(path)
    if not context.strip():
        told = "simulation.context is empty: say what situation the entities are in, or name a context_file."
        raise UsageError(told, ("simulation", "context"))
    return context.strip()


def _member(record: Mapping[str, Any], place: int) -> CastMember:
    where = f"entity {place + 1}"
    with located(place):
        entity = entity_from(record, where)
        with located("id"):
            return CastMember(checked_name(record.get("id") or entity.name, f"{where}, id"), entity)


def _refuse_doubled_ids(members: Iterable[CastMember]) -> None:
    seen: set[str] = set()
    for place, member in enumerate(members):
        if member.id in seen:
            raise UsageError(f"The batch: the entity id {member.id!r} is there twice. Name each entity once.", (place,))
        seen.add(member.id)
