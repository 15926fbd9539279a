"""The section [simulation], and the study built in code."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.ceilings import Times, Word
from tidepool.engine.config.entities import Entity
from tidepool.engine.config.problems import WrongValue
from tidepool.engine.config.section import Section
from tidepool.engine.config.sections import ModelName, MostTokens, ReasoningEffort, ReasoningRoom, Study, Temperature

Style = Literal["enacted", "narrated"]


class Judge(Section):
    """A question about every speaker of every simulation, answered on a scale by a model that hears what is said."""

    model: ModelName = Field(default="simulated:judge", title="Judging model")
    """the model that rates: PROVIDER:MODEL or a preset"""
    question: str = Field(min_length=1, max_length=ceilings.TEXT)
    """asked about each speaker of each simulation; the reply is a number on the scale"""
    scale: list[float] = [1, 5]
    """lowest and highest rating; with whole ends and 3 to 11 levels, such as [1, 5], ratings are whole numbers"""

    @field_validator("scale")
    @classmethod
    def _rising(cls, scale: list[float]) -> list[float]:
        if len(scale) != 2 or not -1e6 < scale[0] < scale[1] < 1e6:
            raise ValueError("must be [lowest, highest], such as [1, 5]")
        return scale


class SimulationSettings(Section):
    context: str = Field(default="", max_length=ceilings.CONTEXT)
    """the situation that the personas respond to"""
    context_file: str | None = Field(default=None, examples=["context.txt"], max_length=ceilings.ADDRESS)
    """a text file with the context, read when the batch starts"""
    interaction_size: Times = Field(default=2, title="Group size")
    """personas in a simulation: 1 solo, 2 dyadic, 3 or more group"""
    num_simulations: int = Field(default=3, ge=1, le=ceilings.UNITS, title="Conversations")
    """number of simulations; beyond C(n,k), combinations repeat"""
    n_turns: Times = Field(default=1, title="Turns")
    """turns of a round; a turn is one message by each persona"""
    simulation_rounds: Times = Field(default=1, title="Rounds")
    """rounds of `n_turns` turns; each continues the whole conversation so far"""
    model: ModelName = Field(default="simulated:persona", title="Speaking model")
    """the model of the personas: PROVIDER:MODEL or a preset"""
    style: Style = "enacted"
    """enacted: one request for each message; narrated: one request writes a round for all"""
    thoughts: bool = Field(default=False, title="Private thoughts")
    """begin each message with a private thought, which is stored and exported but not shown to the others"""
    language: str = Field(default="English", min_length=1, max_length=100)
    """the language of the conversation"""
    speaking_order: Literal["listed", "shuffled"] = "listed"
    """who opens: the persona listed first, or a seeded choice for each simulation"""
    temperature: Temperature = 0.7
    """sampling temperature; "none": the provider's default"""
    max_tokens: MostTokens = Field(default=300, title="Longest message")
    """maximum tokens of a message; a narrated round has this many for each of its messages"""
    reasoning_effort: ReasoningEffort = ""
    """reasoning effort of all models in the study; empty: the model's default"""
    max_reasoning_tokens: ReasoningRoom = 0
    """reasoning tokens in addition to max_tokens; 0: set by the effort, and none without an effort"""
    entity_ids: list[Word] = Field(default_factory=list, examples=[["hypatia", "darwin"]], max_length=ceilings.ENTITIES)
    """personas from the file's library"""
    entity_file: str | None = Field(
        default=None, examples=["people.csv"], max_length=ceilings.ADDRESS, title="Entity file"
    )
    """a JSON, TOML or CSV file of personas"""
    judge: Judge | None = Field(
        default=None,
        examples=[{"model": "simulated:judge", "question": "How open is the speaker?", "scale": [1, 5]}],
    )
    """a model that rates each speaker, with a question and a scale"""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.context_file and self.context:
            raise WrongValue("set context or context_file, not both", "context_file")
        messages = self.interaction_size * self.n_turns * self.simulation_rounds
        if messages > ceilings.WAVES:
            message = f"interaction_size × n_turns × simulation_rounds make {messages:,} messages per simulation"
            raise WrongValue(f"{message}, but at most {ceilings.WAVES:,} are allowed", "n_turns")
        return self


class Simulation(SimulationSettings, Study):
    """Conversations of described people, built in code.

    Simulation(entities=[Entity("Ada"), …], context="A panel on climate policy", num_simulations=20)
    """

    settings_type = SimulationSettings

    kind: Literal["simulation"] = "simulation"
    """always this kind"""
    entities: Sequence[Entity] = ()
    """the personas"""

    def participants(self) -> dict[str, Any]:
        return {"entities": [entity.as_record() for entity in self.entities]}
