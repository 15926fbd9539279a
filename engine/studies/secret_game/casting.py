"""What all conversations of a batch share: agents, prompts, and which conversations wait for others.

Rounds of a game run in sequence if an agent remembers or keeps secrets. Games do not wait for each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import cast

from tidepool.engine.call import Message
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import Agent, ConfigSections, FrozenConfig
from tidepool.engine.runtime.services import groups_of
from tidepool.engine.studies.secret_game.config import SecretGameSettings
from tidepool.engine.studies.secret_game.pairing import COUNTED, PlannedConversation, Schedule
from tidepool.engine.studies.secret_game.prompts import Briefing, memory_messages, rules_text, system_prompt
from tidepool.engine.studies.secret_game.scoring import keeps_secrets

CACHED_PROMPTS = 20_000

HeldSecrets = tuple[str, ...] | None
Start = tuple[HeldSecrets, tuple[Message, ...]]
"""the secrets that a side holds when the conversation begins, and its context: the scene, and all that it remembers"""


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
class Role:
    """One side's role in a conversation, shared by all conversations of the same two agents and scenario."""

    agent: Agent
    partner: str
    secret: str
    scenario: int | None
    opens: bool
    fresh: "Start"
    """its start if it remembers and holds nothing"""


class Cast:
    def __init__(self, config: FrozenConfig) -> None:
        settings = self.settings = settings_of(config)
        self.agents = {agent.name: agent for agent in config.agents}
        self.models = {agent.name: resolve_model(agent.model) for agent in config.agents}
        self.secrets = {agent.name: agent.secret for agent in config.agents}
        self.scoring: Mapping[str, float] = settings.scoring.model_dump()
        self.judge_model = resolve_model(settings.judge) if settings.judged else None
        self.model_names = {*self.models.values(), *((self.judge_model,) if self.judge_model else ())}
        self.keeps_secrets = keeps_secrets(settings.mode)
        self.linked = self.keeps_secrets or any(agent.memory == "long" for agent in config.agents)
        """some conversations wait for earlier ones of their game"""
        self._rules = rules_of(settings)
        self._roles = lru_cache(CACHED_PROMPTS)(self._new_roles)
        self._prompt = lru_cache(CACHED_PROMPTS)(self._new_prompt)

    def remembers(self, name: str) -> bool:
        return self.agents[name].memory == "long"

    def roles(self, meeting: PlannedConversation) -> tuple[Role, Role]:
        """The roles of the opener and of the partner."""
        return self._roles(meeting.opener, meeting.partner, meeting.scenario_of(len(self.settings.scenarios)))

    def _new_roles(self, opener: str, partner: str, index: int | None) -> tuple[Role, Role]:
        secrets = self.secrets[opener], self.secrets[partner]
        if index is not None:
            scenario = self.settings.scenarios[index]
            secrets = scenario.opener_secret, scenario.partner_secret
        return (
            Role(
                self.agents[opener], partner, secrets[0], index, True, (None, memory_messages((), partner, opens=True))
            ),
            Role(self.agents[partner], opener, secrets[1], index, False, (None, ())),
        )

    def prompt(self, role: Role, messages_left: int, held: HeldSecrets) -> str:
        """The system prompt of a side with this many messages left and these secrets, cached since it repeats."""
        return self._prompt(role.agent.name, role.partner, role.secret, role.scenario, messages_left, held)

    def _new_prompt(
        self, name: str, partner: str, secret: str, scenario: int | None, messages_left: int, held: HeldSecrets
    ) -> str:
        common = self.settings.scenarios[scenario].instructions if scenario is not None else ""
        instructions = "\n\n".join(filter(None, (common, self.agents[name].instructions)))
        return system_prompt(Briefing(name, partner, secret, self._rules, messages_left, held, instructions))


def rules_of(settings: SecretGameSettings) -> str:
    target = settings.targeted_secret if settings.announce_target else None
    return rules_text(settings.mode, settings.scoring.model_dump(), target)


@dataclass(frozen=True, slots=True)
class Succession:
    free: int
    """conversations that wait for no other"""
    linked: int
    """conversations that wait for earlier ones"""
    rounds: int
    """the number of steps in sequence, each with an equal part of the linked conversations"""
    groups: int = 1
    """the number of groups of conversations that the service starts in sequence"""

    def together(self, *, waits: bool) -> int:
        """How many conversations run at the pace of one that waits for earlier ones, or of one that does not."""
        in_a_round = self.linked / self.rounds if self.rounds else 0.0
        return max(1, round(in_a_round if waits else self.free / self.groups + in_a_round))


def succession_of(cast: Cast, schedule: Schedule, at_once: int | None = None) -> Succession:
    """`at_once`: how many conversations start before others; None: all."""
    groups = groups_of(schedule.total, at_once)
    if not cast.linked:
        return Succession(schedule.total, 0, 0, groups)
    size = schedule.total if groups == 1 or at_once is None else at_once
    counted = [not waits(cast, meeting) for meeting in islice(schedule.meetings(), COUNTED)]
    free = round(schedule.total * sum(counted) / len(counted))
    rounds = groups * min(schedule.rounds_of_game(1)[1], -(-size // schedule.conversations_per_round))
    return Succession(free, schedule.total - free, rounds if free < schedule.total else 0, groups)


def waits(cast: Cast, meeting: PlannedConversation) -> list[str]:
    """The agents of the two that must wait until their earlier rounds are over."""
    return [name for name in {meeting.opener, meeting.partner} if cast.keeps_secrets or cast.remembers(name)]
