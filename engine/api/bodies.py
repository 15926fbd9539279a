"""What goes in and out of the HTTP API, as its OpenAPI document describes it."""

import json
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.sections import Metadata, Service, ServiceName
from tidepool.engine.studies.simulation.config import Judge, Style

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
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
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
        own = {"name", "description", "seed", "metadata", "service"}
        service = (
            {"name": self.service} if isinstance(self.service, str) else self.service.model_dump(exclude_unset=True)
        )
        return {
            "batch": {"kind": "simulation", **self.model_dump(include=own - {"service"})},
            "service": service,
            "simulation": self.model_dump(exclude=own),
        }


class Created(BaseModel):
    id: str
    message: str


class Told(BaseModel):
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
