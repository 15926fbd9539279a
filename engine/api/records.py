"""Requests and responses of the HTTP API, and how a batch is read from the file a little at a time and streamed.

The file may be anybody's. A row with unexpected values is sent as far as it can be read, and says so.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.library import entity_of
from tidepool.engine.config.sections import Metadata, Service, ServiceName
from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.studies.simulation.config import Judge, Style
from tidepool.engine.studies.simulation.exports import content_of, moment, simulation_id
from tidepool.storage.api_queue import simulation_batch, simulation_batch_numbered
from tidepool.storage.batches import progress_of, status_now
from tidepool.storage.file import BATCH_ID, reading
from tidepool.storage.library import StoredEntity, list_entities
from tidepool.storage.queries.units import StoredUnit, last_unit, units_from
from tidepool.storage.states import BatchStatus

T = TypeVar("T")

State = Literal["pending", "in_progress", "completed", "partial", "failed", "interrupted"]


def _storable(value: Any) -> Any:
    """JSON that a file can hold: no half characters, no NaN, not endlessly deep."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this cannot be stored ({error})") from None
    return value


Storable = Annotated[Metadata, AfterValidator(_storable)]


EXAMPLE: dict[str, JsonValue] = {
    "name": "A mill for the valley",
    "context": "The council talks about a new mill.",
    "entity_ids": ["*"],
    "interaction_size": 2,
    "num_simulations": 3,
}


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is a whole one, however deep it lies."""
    if isinstance(value, dict):
        return {key: _whole(element) for key, element in value.items()}
    if isinstance(value, list):
        return [_whole(element) for element in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class NewBatch(BaseModel):
    """A batch of simulations to run."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [EXAMPLE]})

    name: str = Field(min_length=1, max_length=ceilings.NAME)
    context: str = Field(min_length=1, max_length=ceilings.CONTEXT, description="the situation the entities are in")
    entity_ids: list[Annotated[str, Field(min_length=1, max_length=ceilings.WORD)]] = Field(
        min_length=1, max_length=ceilings.ENTITIES, description="entities of the file's library"
    )
    interaction_size: int = Field(ge=1, le=1000, description="1 solo, 2 dyadic, 3+ group")
    num_simulations: int = Field(ge=1, le=ceilings.UNITS_BY_API)
    description: str = Field(default="", max_length=ceilings.TEXT)
    n_turns: int = Field(default=1, ge=1, le=1000)
    simulation_rounds: int = Field(default=1, ge=1, le=1000)
    metadata: Storable = Field(default_factory=dict)
    model: str = Field(default="simulated:persona", max_length=ceilings.WORD, description="PROVIDER:MODEL, or a preset")
    style: Style = "enacted"
    seed: int = Field(default=42, ge=-(2**53), le=2**53, description="a whole number that every reader of JSON keeps")
    service: ServiceName | Service = Field(default="auto", description="a service's name, or a whole [service]")
    thoughts: bool = False
    language: str = Field(default="English", min_length=1, max_length=100)
    judge: Judge | None = None

    @model_validator(mode="before")
    @classmethod
    def take_whole_numbers(cls, data: Any) -> Any:
        """Metadata stays letter for letter what it is."""
        if not isinstance(data, dict):
            return data
        try:
            return {key: value if key == "metadata" else _whole(value) for key, value in data.items()}
        except RecursionError:
            raise ValueError("this lies too deep") from None

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
    """the last turn in which somebody spoke"""


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
    status: State
    reason: str | None
    """why it stopped, or could not start"""
    simulated: bool
    """some answers come from the simulated provider"""
    progress: Progress
    metadata: dict[str, Any]
    simulations: list[SimulationRecord] | None = None
    """where asked for"""


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


AT_A_TIME = 20
"""units that are held at once"""
ENTITIES_AT_A_TIME = 500
DAMAGED = "This batch cannot be read as a whole: its file was changed, or is damaged."


@contextmanager
def leniently(database: Path) -> Iterator[sqlite3.Connection]:
    """Reads texts that are none in UTF-8 as far as they go."""
    with reading(database) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        yield connection


@dataclass(frozen=True, slots=True)
class SimulationPage:
    """Simulations by their places in the plan, so that a page stays the same page while the batch grows."""

    offset: int
    limit: int

    @property
    def last(self) -> int:
        return self.offset + self.limit


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch as it is told, without its simulations."""

    number: int
    record: dict[str, Any]
    lengths: dict[str, int]
    simulations: int
    """planned, or there"""


def find(connection: sqlite3.Connection, batch_id: str) -> sqlite3.Row:
    """By its whole id; batches of other kinds are none of this API's."""
    row = simulation_batch(connection, batch_id)
    if row is None or not BATCH_ID.match(batch_id):
        raise NotFound(f"There is no batch of simulations {batch_id!r} in this file.")
    return row


def read_batch(path: Path, connection: sqlite3.Connection, batch: sqlite3.Row) -> StoredBatch:
    config, settings, sound = _config(batch["config"])
    progress = progress_of(connection, batch["number"])
    counts = [_count(progress[f"units_{name}"]) if progress else 0 for name in ("total", "completed", "failed")]
    planned = counts[0] or _count(settings.get("num_simulations"))
    status = _status(path, batch, progress)
    complete = sound and progress is not None and batch["status"] in list(BatchStatus)
    record = {
        "id": _text(batch["id"]),
        "name": _text(batch["name"]),
        "timestamp": _moment(batch["created_at"]),
        "description": _text(batch["description"]),
        "context": _text(settings.get("context"))[: ceilings.CONTEXT],
        "status": status,
        "reason": None if batch["reason"] is None and complete else _text(batch["reason"]) or DAMAGED,
        "simulated": bool(batch["simulated"]),
        "progress": {"total": planned, "completed": counts[1], "failed": counts[2]},
        "metadata": config["batch"]["metadata"] if sound else {},
    }
    lengths = {name: _count(settings.get(name)) for name in ("n_turns", "simulation_rounds")}
    return StoredBatch(batch["number"], record, lengths, max(planned, last_unit(connection, batch["number"])))


def batches_sent(database: Path, numbers: Iterable[int], page: SimulationPage | None) -> Iterator[bytes]:
    """The batches as JSON, one after the other; with a page of the simulations of each where that is asked for."""
    separator = b""
    for number in numbers:
        with leniently(database) as connection:
            row = simulation_batch_numbered(connection, number)
            stored_batch = read_batch(database, connection, row) if row else None
        if stored_batch is not None:  # else it was deleted meanwhile
            yield separator
            yield from batch_sent(database, stored_batch, page)
            separator = b","


def batch_sent(database: Path, batch: StoredBatch, page: SimulationPage | None) -> Iterator[bytes]:
    if page is None:
        yield as_json(batch.record)
        return
    yield as_json(batch.record)[:-1] + b',"simulations":['
    separator = b""
    first = page.offset + 1
    while units := _units(database, batch.number, first, page):
        records = [as_json(simulation_record(batch, unit)) for unit in units]
        yield separator + b",".join(records)
        separator, first = b",", units[-1].sequence_number + 1
    yield b"]}"


def _units(database: Path, number: int, first: int, page: SimulationPage) -> list[StoredUnit]:
    with leniently(database) as connection:
        return units_from(connection, number, first, AT_A_TIME, page.last) if first <= page.last else []


def simulation_record(batch: StoredBatch, unit: StoredUnit) -> dict[str, Any]:
    turns = (message.turn for message in unit.messages if isinstance(message.turn, int))
    entity_ids = unit.details.get("entity_ids", [])
    return {
        "id": simulation_id(batch.record["id"], unit.sequence_number),
        "sequence_number": unit.sequence_number,
        "timestamp": _moment(unit.finished_at or unit.started_at),
        "interaction_type": None if unit.interaction_type is None else _text(unit.interaction_type),
        "entity_ids": [_text(entity_id) for entity_id in entity_ids] if isinstance(entity_ids, list) else [],
        "content": content_of(unit),
        "status": _text(unit.status),
        "error": None if unit.error is None else _text(unit.error),
        "metadata": {**batch.lengths, "final_turn_number": max(turns, default=0)},
    }


def entities_sent(database: Path, limit: int, offset: int) -> Iterator[bytes]:
    separator = b""
    for first in range(offset, offset + limit, ENTITIES_AT_A_TIME):
        size = min(ENTITIES_AT_A_TIME, offset + limit - first)
        with leniently(database) as connection:
            entities = list_entities(connection, limit=size, offset=first)
        yield (separator if entities else b"") + b",".join(as_json(_entity_record(entity)) for entity in entities)
        separator = b","
        if len(entities) < size:
            return


def _entity_record(stored: StoredEntity) -> dict[str, Any]:
    """One that no study could use is listed, so that it can be removed, and nothing more is told of it."""
    try:
        fields = entity_of(stored).as_record()
    except (UsageError, ValueError):
        fields = {"name": _text(stored.name)[: ceilings.NAME], "description": "", "attributes": {}}
    return {"id": stored.id, "type": stored.type, **fields}


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def _config(text: object) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The frozen config and its own section, and whether they are what they should be."""
    try:
        config = json.loads(text) if isinstance(text, str) else {}
        settings, metadata = config["simulation"], config["batch"]["metadata"]
        sound = isinstance(metadata, dict) and isinstance(settings["context"], str)
        if sound and len(as_json(metadata)) <= 2 * ceilings.METADATA:
            return config, settings, True
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    return {}, {}, False


def _status(path: Path, batch: sqlite3.Row, progress: sqlite3.Row | None) -> str:
    """One of ours, whatever the file says; a batch whose process is gone is interrupted."""
    if batch["status"] != BatchStatus.IN_PROGRESS:
        return str(batch["status"]) if batch["status"] in list(BatchStatus) else BatchStatus.FAILED
    has_heartbeat = progress is not None and isinstance(progress["heartbeat_at"], float)
    has_owner = isinstance(batch["id"], str) and BATCH_ID.match(batch["id"]) and isinstance(batch["host"], str)
    return status_now(path, batch, progress) if progress and has_heartbeat and has_owner else BatchStatus.INTERRUPTED


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0


def _moment(seconds: object) -> str | None:
    try:
        return moment(seconds) if isinstance(seconds, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None
