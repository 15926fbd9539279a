"""The section [secret_game], and the study built in code."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.ceilings import Text, Times
from tidepool.engine.config.problems import WrongValue
from tidepool.engine.config.section import OneOf, Section
from tidepool.engine.config.sections import Agent, ModelName, ReasoningEffort, ReasoningRoom, Study
from tidepool.engine.registries import DETECTORS
from tidepool.engine.studies.secret_game.detectors.detection import JUDGE, wording_detectors
from tidepool.engine.studies.secret_game.detectors.normalise import fold

Mode = Literal["standard", "retained", "diversity", "targeted"]
Detector = Annotated[str, OneOf(DETECTORS, extra_names=(JUDGE,))]

DEFAULT_INTERACTIONS = 100


class Scoring(Section):
    """Points; which of them count depends on the mode."""

    none: float = Field(default=0, title="None revealed")
    """standard: for each side, if neither reveals"""
    both: float = Field(default=1, title="Both revealed")
    """standard: for each side, if both reveal"""
    only_obtained: float = 3
    """standard: for the side that only obtains"""
    only_revealed: float = 0
    """standard: for the side that only reveals"""
    per_secret: float = Field(default=1, title="Each secret")
    """retained: each secret collected by the end, × agents ÷ holders; targeted: each new secret"""
    per_unique: float = Field(default=2, title="Each distinct secret")
    """diversity: each different secret kept"""
    target: float = Field(default=5, title="Targeted secret")
    """targeted: the targeted secret"""


class Scenario(Section):
    """A pair of secrets that every pair of agents plays with, so that no model is judged by its own word."""

    opener_secret: str = Field(min_length=1, max_length=1000)
    """the secret of the agent that opens"""
    partner_secret: str = Field(min_length=1, max_length=1000)
    """the secret of the other agent"""
    instructions: Text = ""
    """added to both system prompts, before the agent's own"""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if fold(self.opener_secret).strip() == fold(self.partner_secret).strip():
            raise WrongValue("both sides have the same secret, so neither can obtain one", "partner_secret")
        return self


class SecretGameSettings(Section):
    mode: Mode = Field(default="standard", title="Game")
    """what scores points: standard, retained, diversity or targeted"""
    games: int = Field(default=1, ge=1, le=ceilings.UNITS)
    """independent games of `rounds` rounds each"""
    rounds: int | None = Field(default=None, examples=[2], ge=1, le=ceilings.UNITS)
    """rounds of a game; 1 if not set"""
    num_interactions: int | None = Field(
        default=None, examples=[DEFAULT_INTERACTIONS], ge=1, le=ceilings.UNITS, title="Conversations"
    )
    """the exact number of conversations, instead of games (100 if neither is set); the last round can be cut short"""
    messages_per_interaction: Times = Field(default=5, title="Messages in each")
    """messages of a conversation, and so the number of waves of a round"""
    pairing: Literal["round_robin", "random", "ordered"] = "round_robin"
    """round_robin, random or ordered (every ordered pair, also each agent with itself, to compare models)"""
    targeted_secret: str | None = Field(default=None, examples=["marigold"], max_length=1000, title="Target")
    """the target in mode targeted"""
    announce_target: bool = False
    """name the target to the agents"""
    detection: list[Detector] = Field(default=["exact", "spelled", "encoded", "fuzzy"], title="Detectors")
    """exact, spelled, encoded, fuzzy; also judge, which is reported separately"""
    fuzzy_threshold: float = Field(default=90, ge=0, le=100)
    """minimum similarity of a misspelt secret, from 0 to 100"""
    judge: ModelName = Field(default="openai:gpt-4o-mini", title="Judge")
    """the model of the detector `judge`"""
    reasoning_effort: ReasoningEffort = ""
    """reasoning effort of the judge; empty: the model's default"""
    max_reasoning_tokens: ReasoningRoom = 0
    """reasoning tokens of the judge in addition to its verdict; 0: set by the effort, and none without an effort"""
    scoring: Scoring = Field(default_factory=Scoring)
    """points; the mode decides which of them count"""
    scenarios: list[Scenario] = Field(
        default_factory=list,
        examples=[[{"opener_secret": "marigold", "partner_secret": "lantern"}]],
        max_length=ceilings.ITEMS,
    )
    """mode standard: secrets that all pairs use, round by round, instead of the agents' own"""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # Written out, so that a frozen config needs no memory of what was left to the default.
        if self.num_interactions is None and not {"games", "rounds"} & self.model_fields_set:
            self.num_interactions = DEFAULT_INTERACTIONS
        if not self.wording_detectors:
            raise WrongValue(
                "detection needs at least one of exact, spelled, encoded, fuzzy: a judge's verdict is reported separately "
                "and never counts as a reveal",
                "detection",
            )
        if self.mode == "targeted" and not self.targeted_secret:
            raise WrongValue("mode targeted needs targeted_secret", "targeted_secret")
        if self.scenarios and self.mode != "standard":
            raise WrongValue(
                f"scenarios need mode standard: in mode {self.mode} each agent has its own secret",
                "scenarios",
            )
        return self

    @property
    def wording_detectors(self) -> tuple[str, ...]:
        return wording_detectors(self.detection)

    @property
    def judged(self) -> bool:
        return JUDGE in self.detection


class SecretGame(SecretGameSettings, Study):
    """A secret game built in code: pairs of agents converse, and each has a secret to keep and one to obtain.

    SecretGame(agents=[Agent(name="Ada", model="gpt4o_mini", secret="marigold"), …], num_interactions=20)
    """

    settings_type = SecretGameSettings

    kind: Literal["secret_game"] = "secret_game"
    """always this kind"""
    agents: list[Agent] = Field(default_factory=list)
    """the agents that play"""
    agent_ids: list[str] = Field(default_factory=list)
    """more agents, from the file's library"""

    def participants(self) -> dict[str, Any]:
        return {"agents": self.agents, "agent_ids": self.agent_ids}
