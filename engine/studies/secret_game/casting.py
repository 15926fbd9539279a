"""What every conversation of a batch shares: the agents, what they are told, and how their words are judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from tidepool.engine.call import Message
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import Agent, ConfigSections, FrozenConfig
from tidepool.engine.studies.secret_game.config import Scenario, SecretGameSettings
from tidepool.engine.studies.secret_game.pairing import PlannedConversation, Schedule
from tidepool.engine.studies.secret_game.prompts import Briefing, remembered, rules_text, system_prompt
from tidepool.engine.studies.secret_game.scoring import KEEPING_MODES

PROMPTS_KEPT = 20_000

Held = tuple[str, ...] | None


def settings_of(config: ConfigSections) -> SecretGameSettings:
    return cast(SecretGameSettings, config.settings)


def schedule_of(config: FrozenConfig) -> Schedule:
    settings = settings_of(config)
    return Schedule(
        agents=tuple(agent.name for agent in config.agents),
        pairing=settings.pairing,
        seed=config.batch.seed,
        games=settings.games,
        rounds=settings.rounds,
        num_interactions=settings.num_interactions,
    )


@dataclass(frozen=True, slots=True)
class Part:
    """One side's part in a conversation."""

    agent: Agent
    partner: str
    secret: str
    scenario: int | None


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a side stands when the talk begins."""

    part: Part
    held: Held
    before: tuple[Message, ...]
    """what it hears before the first message: the scene, and all it remembers"""


@dataclass(frozen=True, slots=True)
class Cast:
    agents: Mapping[str, Agent]
    models: Mapping[str, str]
    secrets: Mapping[str, str]
    settings: SecretGameSettings
    scoring: Mapping[str, float]
    detectors: tuple[str, ...]
    judge_model: str | None
    keeps_secrets: bool
    linked: bool
    """some conversations wait for earlier ones of their game"""
    prompt: Callable[[Part, int, Held], str]
    """what a side is told with so many messages left, holding these secrets: the same words again and again"""
    fresh: Callable[[str, str, int | None], tuple[Stand, Stand]]
    """where opener and partner of a scenario stand who remember nothing: shared by all their conversations"""

    @classmethod
    def of(cls, config: FrozenConfig) -> "Cast":
        settings = settings_of(config)
        scoring = settings.scoring.model_dump()
        keeps_secrets = settings.mode in KEEPING_MODES
        return cls(
            agents={agent.name: agent for agent in config.agents},
            models={agent.name: resolve_model(agent.model) for agent in config.agents},
            secrets={agent.name: agent.secret for agent in config.agents},
            settings=settings,
            scoring=scoring,
            detectors=settings.wording_detectors,
            judge_model=resolve_model(settings.judge) if settings.judged else None,
            keeps_secrets=keeps_secrets,
            linked=keeps_secrets or any(agent.memory == "long" for agent in config.agents),
            prompt=_prompts(settings, rules_of(settings)),
            fresh=_fresh_stands({agent.name: agent for agent in config.agents}, settings.scenarios),
        )

    @property
    def asked(self) -> set[str]:
        """every model"""
        return {*self.models.values(), *((self.judge_model,) if self.judge_model else ())}

    def remembers(self, name: str) -> bool:
        return self.agents[name].memory == "long"

    def stands(self, meeting: PlannedConversation) -> tuple[Stand, Stand]:
        """Of the opener and of the partner, before either remembers or holds anything."""
        return self.fresh(meeting.opener, meeting.partner, meeting.scenario_of(len(self.settings.scenarios)))

    def parts(self, meeting: PlannedConversation) -> tuple[Part, Part]:
        """Of the opener and of the partner."""
        opener, partner = self.stands(meeting)
        return opener.part, partner.part


def rules_of(settings: SecretGameSettings) -> str:
    target = settings.targeted_secret if settings.announce_target else None
    return rules_text(settings.mode, settings.scoring.model_dump(), target)


def _fresh_stands(
    agents: Mapping[str, Agent], scenarios: Sequence[Scenario]
) -> Callable[[str, str, int | None], tuple[Stand, Stand]]:
    @lru_cache(maxsize=PROMPTS_KEPT)
    def stands(opener: str, partner: str, index: int | None) -> tuple[Stand, Stand]:
        secrets = (agents[opener].secret, agents[partner].secret)
        if index is not None:
            secrets = (scenarios[index].opener_secret, scenarios[index].partner_secret)
        return (
            Stand(Part(agents[opener], partner, secrets[0], index), None, remembered((), partner, opens=True)),
            Stand(Part(agents[partner], opener, secrets[1], index), None, remembered((), opener, opens=False)),
        )

    return stands


def _prompts(settings: SecretGameSettings, rules: str) -> Callable[[Part, int, Held], str]:
    def prompt(part: Part, messages_left: int, held: Held) -> str:
        key = (part.agent.name, part.partner, part.secret, part.scenario, messages_left, held)
        return written(part.agent.instructions, *key)

    @lru_cache(maxsize=PROMPTS_KEPT)
    def written(
        own: str, name: str, partner: str, secret: str, scenario: int | None, messages_left: int, held: Held
    ) -> str:
        common = settings.scenarios[scenario].instructions if scenario is not None else ""
        instructions = "\n\n".join(filter(None, (common, own)))
        return system_prompt(Briefing(name, partner, secret, rules, messages_left, held, instructions))

    return prompt
