"""The secret game, built in code."""

from typing import Any, Literal

from pydantic import Field

from tidepool.engine.config.section import with_keywords_in_help
from tidepool.engine.config.sections import Agent, Study
from tidepool.engine.studies.secret_game.config import SecretGameSettings


@with_keywords_in_help
class SecretGame(SecretGameSettings, Study):
    """A secret game built in code: pairs of agents talk, and each has a secret to keep and one to learn.

    SecretGame(agents=[Agent(name="Ada", model="gpt4o_mini", secret="marigold"), …], num_interactions=20)
    """

    settings_type = SecretGameSettings

    kind: Literal["secret_game"] = "secret_game"
    """always that"""
    agents: list[Agent] = Field(default_factory=list)
    """who plays …"""
    agent_ids: list[str] = Field(default_factory=list)
    """… and who else, of the file's library"""

    def participants(self) -> dict[str, Any]:
        return {"agents": self.agents, "agent_ids": self.agent_ids}
