"""Requests and responses of the HTTP API, and how they are read from the file.

The file may be untrusted. A row with values of another type does not become a response, and the file is reported as damaged.
"""

import json
import sqlite3
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tidepool.engine.config import ceilings
from tidepool.engine.config.library import entity_of
from tidepool.engine.config.sections import Metadata, Service, ServiceName
from tidepool.engine.errors import NotFound
from tidepool.engine.studies.simulation.config import Judge, Style
from tidepool.engine.studies.simulation.exports import content_of, moment, simulation_id
from tidepool.storage.api_queue import simulation_batch
from tidepool.storage.batches import progress_of, status_now
from tidepool.storage.file import BATCH_ID
from tidepool.storage.library import StoredEntity
from tidepool.storage.queries.units import StoredUnit, last_unit, units_from
from tidepool.storage.states import BatchStatus

T = TypeVar("T")

EXAMPLE: dict[str, JsonValue] = {
    "name": "A mill for the valley",
    "context": "The council discusses a new mill.",
    "entity_ids": ["*"],
    "interaction_size": 2,
    "num_simulations": 3,
}


class NewBatch(BaseModel):
    """A batch of simulations to run."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [EXAMPLE]})

    name: str = Field(min_length=1, max_length=ceilings.NAME)
    context: str = Field(
        min_length=1, max_length=ceilings.CONTEXT, description="the situation that the entities respond to"
    )
    entity_ids: list[Annotated[str, Field(min_length=1, max_length=ceilings.WORD)]] = Field(
        min_length=1, max_length=ceilings.ENTITIES, description="entities of the file's library"
    )
    interaction_size: int = Field(ge=1, le=1000, description="1 solo, 2 dyadic, 3+ group")
    num_simulations: int = Field(ge=1, le=ceilings.UNITS_BY_API)
    description: ceilings.Text = ""
    n_turns: ceilings.Times = 1
    simulation_rounds: ceilings.Times = 1
    metadata: Metadata = Field(default_factory=dict)
    model: str = Field(default="simulated:persona", max_length=ceilings.WORD, description="PROVIDER:MODEL, or a preset")
    style: Style = "enacted"
    seed: int = Field(
        default=42, ge=-(2**53), le=2**53, description="a whole number that every JSON parser reads exactly"
    )
    service: ServiceName | Service = Field(default="auto", description="a service's name, or a whole [service]")
    thoughts: bool = False
    language: str = Field(default="English", min_length=1, max_length=100)
    judge: Judge | None = None

    def as_config(self) -> dict[str, Any]:
        """The same batch in the layout of a config file."""
        batch_keys = {"name", "description", "seed", "metadata", "service"}
        service = (
            {"name": self.service} if isinstance(self.service, str) else self.service.model_dump(exclude_unset=True)
        )
        return {
            "batch": {"kind": "simulation", **self.model_dump(include=batch_keys - {"service"})},
            "service": service,
            "simulation": self.model_dump(exclude=batch_keys),
        }


class Created(BaseModel):
    id: str
    message: str


class Notice(BaseModel):
    message: str


class Length(BaseModel):
    n_turns: int
    simulation_rounds: int
    final_turn_number: int
    """the last turn with a message"""


class SimulationRecord(BaseModel):
    id: str
    sequence_number: int
    timestamp: str | None
    interaction_type: str | None
    entity_ids: list[str]
    content: str
    """`Name: text`, with `*thought*` before the text, joined by blank lines"""
    status: str
    error: str | None
    metadata: Length


class Progress(BaseModel):
    total: int
    completed: int
    failed: int


class BatchRecord(BaseModel):
    id: str
    name: str
    timestamp: str | None
    description: str
    context: str
    status: BatchStatus
    reason: str | None
    """why it stopped, or could not start"""
    simulated: bool
    """some answers come from the simulated provider"""
    progress: Progress
    metadata: dict[str, Any]
    simulations: list[SimulationRecord] | None = None
    """if requested"""


class EntityRecord(BaseModel):
    id: str
    name: str
    type: str | None
    description: str
    attributes: dict[str, bool | int | float | str]


class Success(BaseModel, Generic[T]):
    status: Literal["success"] = "success"
    data: T


class Failure(BaseModel):
    status: Literal["error"] = "error"
    message: str


def find(connection: sqlite3.Connection, batch_id: str) -> sqlite3.Row:
    """Finds a batch by its full id. This API does not have batches of other kinds."""
    row = simulation_batch(connection, batch_id)
    if row is None or not BATCH_ID.match(batch_id):
        raise NotFound(f"There is no batch of simulations with the id {batch_id!r} in this file.")
    return row


def simulations_planned(connection: sqlite3.Connection, batch: sqlite3.Row) -> int:
    """The number of simulations that the batch has, or will have."""
    planned: int = progress_of(connection, batch["number"])["units_total"]
    planned = planned or json.loads(batch["config"])["simulation"]["num_simulations"]
    return max(planned, last_unit(connection, batch["number"]))


def batch_record(
    path: Path, connection: sqlite3.Connection, batch: sqlite3.Row, page: tuple[int, int] | None
) -> BatchRecord:
    """`page`: how many simulations to skip, and how many to show; None: none. Pages follow the plan, so a page stays the
    same while the batch grows."""
    config = json.loads(batch["config"])
    settings = config["simulation"]
    progress = progress_of(connection, batch["number"])
    record = BatchRecord(
        id=batch["id"],
        name=batch["name"],
        timestamp=moment(batch["created_at"]),
        description=batch["description"],
        context=settings["context"],
        status=BatchStatus(status_now(path, batch, progress)),
        reason=batch["reason"],
        simulated=batch["simulated"],
        progress=Progress(
            total=progress["units_total"] or settings["num_simulations"],
            completed=progress["units_completed"],
            failed=progress["units_failed"],
        ),
        metadata=config["batch"]["metadata"],
    )
    if page is not None:
        offset, limit = page
        units = units_from(connection, batch["number"], offset + 1, limit, offset + limit)
        record.simulations = [_simulation_record(batch["id"], settings, unit) for unit in units]
    return record


def _simulation_record(batch_id: str, settings: dict[str, Any], unit: StoredUnit) -> SimulationRecord:
    return SimulationRecord(
        id=simulation_id(batch_id, unit.sequence_number),
        sequence_number=unit.sequence_number,
        timestamp=moment(unit.finished_at or unit.started_at),
        interaction_type=unit.interaction_type,
        entity_ids=unit.details.get("entity_ids", []),
        content=content_of(unit),
        status=unit.status,
        error=unit.error,
        metadata=Length(
            n_turns=settings["n_turns"],
            simulation_rounds=settings["simulation_rounds"],
            final_turn_number=max((message.turn for message in unit.messages), default=0),
        ),
    )


def entity_record(stored: StoredEntity) -> EntityRecord:
    return EntityRecord.model_validate({"id": stored.id, "type": stored.type, **entity_of(stored).as_record()})
