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
    """PROVIDER:MODEL or a preset: who rates what was said"""
    question: str = Field(min_length=1, max_length=ceilings.TEXT)
    """asked about every speaker of every simulation; the answer is a number on the scale"""
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
    """what the entities are in; answered by a monologue where there is one"""
    context_file: str | None = Field(default=None, examples=["context.txt"], max_length=ceilings.ADDRESS)
    """a text file with the context; taken in when the batch starts"""
    interaction_size: Times = Field(default=2, title="Group size")
    """1 solo, 2 dyadic, 3+ group"""
    num_simulations: int = Field(default=3, ge=1, le=ceilings.UNITS, title="Conversations")
    """how many; beyond C(n,k) combinations are repeated as replicates"""
    n_turns: Times = Field(default=1, title="Turns")
    """a turn is one message by each entity"""
    simulation_rounds: Times = Field(default=1, title="Rounds")
    """a round is `n_turns` turns; the next one goes on from the whole talk so far"""
    model: ModelName = Field(default="simulated:persona", title="Speaking model")
    """PROVIDER:MODEL or a preset: who speaks for the entities"""
    style: Style = "enacted"
    """enacted: each entity speaks by its own call; narrated: one call writes a round for all"""
    thoughts: bool = Field(default=False, title="Private thoughts")
    """each message opens with a private thought: stored and exported, never shown to the others"""
    language: str = Field(default="English", min_length=1, max_length=100)
    """the language of the talk"""
    speaking_order: Literal["listed", "shuffled"] = "listed"
    """who opens: the entity listed first, or a seeded choice for each simulation"""
    temperature: Temperature = 0.7
    """how freely the model samples"""
    max_tokens: MostTokens = Field(default=300, title="Longest message")
    """of one message; a narrated round has so many for each message in it"""
    reasoning_effort: ReasoningEffort = ""
    """of every model in it: how much it thinks before it speaks; empty: as much as it likes"""
    max_reasoning_tokens: ReasoningRoom = 0
    """room for reasoning beside max_tokens; 0: by the effort, none without one"""
    entity_ids: list[Word] = Field(default_factory=list, examples=[["hypatia", "darwin"]], max_length=ceilings.ENTITIES)
    """entities of the file's library"""
    entity_file: str | None = Field(
        default=None, examples=["people.csv"], max_length=ceilings.ADDRESS, title="Entity file"
    )
    """a JSON, TOML or CSV file of entities"""
    judge: Judge | None = Field(
        default=None,
        examples=[{"model": "simulated:judge", "question": "How open is the speaker?", "scale": [1, 5]}],
    )
    """a model, a question about each speaker, and a scale"""

    @model_validator(mode="after")
    def _one_context(self) -> Self:
        if self.context_file and self.context:
            raise WrongValue("set context or context_file, not both", "context_file")
        return self

    @model_validator(mode="after")
    def _not_too_long(self) -> Self:
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
    """who takes part"""

    def participants(self) -> dict[str, Any]:
        return {"entities": [entity.as_record() for entity in self.entities]}
