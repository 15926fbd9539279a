"""What all conversations of a batch share: agents, prompts, and which conversations wait for others.

Rounds of a game follow one another where an agent remembers or keeps secrets; games do not wait for each other.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import cast

from tidepool.engine.call import Message
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import Agent, ConfigSections, FrozenConfig
from tidepool.engine.runtime.services import groups_of
from tidepool.engine.studies.secret_game.config import Scenario, SecretGameSettings
from tidepool.engine.studies.secret_game.pairing import COUNTED, PlannedConversation, Schedule
from tidepool.engine.studies.secret_game.prompts import Briefing, memory_messages, rules_text, system_prompt
from tidepool.engine.studies.secret_game.scoring import KEEPING_MODES

CACHED_PROMPTS = 20_000

HeldSecrets = tuple[str, ...] | None


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
    """One side's part in a conversation."""

    agent: Agent
    partner: str
    secret: str
    scenario: int | None


@dataclass(frozen=True, slots=True)
class Start:
    """Where a side stands when the talk begins."""

    role: Role
    held: HeldSecrets
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
    prompt: Callable[[Role, int, HeldSecrets], str]
    """what a side is told with so many messages left, holding these secrets: the same words again and again"""
    fresh: Callable[[str, str, int | None], tuple[Start, Start]]
    """where opener and partner of a scenario stand who remember nothing: shared by all their conversations"""

    @classmethod
    def of(cls, config: FrozenConfig) -> "Cast":
        settings = settings_of(config)
        keeps_secrets = settings.mode in KEEPING_MODES
        agents = {agent.name: agent for agent in config.agents}
        return cls(
            agents=agents,
            models={agent.name: resolve_model(agent.model) for agent in config.agents},
            secrets={agent.name: agent.secret for agent in config.agents},
            settings=settings,
            scoring=settings.scoring.model_dump(),
            detectors=settings.wording_detectors,
            judge_model=resolve_model(settings.judge) if settings.judged else None,
            keeps_secrets=keeps_secrets,
            linked=keeps_secrets or any(agent.memory == "long" for agent in config.agents),
            prompt=_prompts(settings, rules_of(settings)),
            fresh=_fresh_starts(agents, settings.scenarios),
        )

    @property
    def model_names(self) -> set[str]:
        """every model"""
        return {*self.models.values(), *((self.judge_model,) if self.judge_model else ())}

    def remembers(self, name: str) -> bool:
        return self.agents[name].memory == "long"

    def starts(self, meeting: PlannedConversation) -> tuple[Start, Start]:
        """Of the opener and of the partner, before either remembers or holds anything."""
        return self.fresh(meeting.opener, meeting.partner, meeting.scenario_of(len(self.settings.scenarios)))

    def roles(self, meeting: PlannedConversation) -> tuple[Role, Role]:
        """Of the opener and of the partner."""
        opener, partner = self.starts(meeting)
        return opener.role, partner.role


def rules_of(settings: SecretGameSettings) -> str:
    target = settings.targeted_secret if settings.announce_target else None
    return rules_text(settings.mode, settings.scoring.model_dump(), target)


def _fresh_starts(
    agents: Mapping[str, Agent], scenarios: Sequence[Scenario]
) -> Callable[[str, str, int | None], tuple[Start, Start]]:
    @lru_cache(maxsize=CACHED_PROMPTS)
    def starts(opener: str, partner: str, index: int | None) -> tuple[Start, Start]:
        opener_secret, partner_secret = agents[opener].secret, agents[partner].secret
        if index is not None:
            opener_secret, partner_secret = scenarios[index].opener_secret, scenarios[index].partner_secret
        return (
            Start(Role(agents[opener], partner, opener_secret, index), None, memory_messages((), partner, opens=True)),
            Start(Role(agents[partner], opener, partner_secret, index), None, memory_messages((), opener, opens=False)),
        )

    return starts


def _prompts(settings: SecretGameSettings, rules: str) -> Callable[[Role, int, HeldSecrets], str]:
    def prompt(role: Role, messages_left: int, held: HeldSecrets) -> str:
        key = (role.agent.name, role.partner, role.secret, role.scenario, messages_left, held)
        return written(role.agent.instructions, *key)

    @lru_cache(maxsize=CACHED_PROMPTS)
    def written(
        text: str, name: str, partner: str, secret: str, scenario: int | None, messages_left: int, held: HeldSecrets
    ) -> str:
        common = settings.scenarios[scenario].instructions if scenario is not None else ""
        instructions = "\n\n".join(filter(None, (common, text)))
        return system_prompt(Briefing(name, partner, secret, rules, messages_left, held, instructions))

    return prompt


@dataclass(frozen=True, slots=True)
class Succession:
    free: int
    """conversations that wait for no other"""
    linked: int
    """conversations that wait for earlier ones"""
    rounds: int
    """that follow one another, each with an equal part of the linked conversations"""
    groups: int = 1
    """of conversations that the service takes up one after another"""

    @property
    def share_free(self) -> float:
        return self.free / (self.free + self.linked)

    def together(self, *, waits: bool) -> int:
        """How many conversations go at the pace of one that waits for earlier ones, or that does not."""
        in_a_round = self.linked / self.rounds if self.rounds else 0.0
        return max(1, round(in_a_round if waits else self.free / self.groups + in_a_round))


def succession_of(cast: Cast, schedule: Schedule, at_once: int | None = None) -> Succession:
    """`at_once`: so many conversations are taken up before others; None: all."""
    groups = groups_of(schedule.total, at_once)
    if not cast.linked:
        return Succession(schedule.total, 0, 0, groups)
    size = schedule.total if groups == 1 or at_once is None else at_once
    counted = _Count(cast, size)
    counted.take(islice(schedule.meetings(), COUNTED))
    if schedule.total <= COUNTED:
        return Succession(counted.free, counted.linked, counted.rounds, groups)
    free = round(schedule.total * counted.free / (counted.free + counted.linked))
    rounds = groups * min(schedule.rounds_of_game(1)[1], -(-size // schedule.conversations_per_round))
    return Succession(free, schedule.total - free, rounds if free < schedule.total else 0, groups)


def waits(cast: Cast, meeting: PlannedConversation) -> list[str]:
    """Who of the two begins only when its earlier rounds are over."""
    return [name for name in {meeting.opener, meeting.partner} if cast.keeps_secrets or cast.remembers(name)]


class _Count:
    """Goes through a schedule and finds for each conversation how many must have ended before it, one after another."""

    def __init__(self, cast: Cast, group: int) -> None:
        self._cast = cast
        self._group = group
        self.free = self.linked = self.rounds = 0
        self._depth = 0
        """of the group so far"""
        self._before: dict[str, int] = defaultdict(int)
        """by agent: how deep its talks of earlier rounds lie"""
        self._now: dict[str, int] = defaultdict(int)

    def take(self, meetings: Iterable[PlannedConversation]) -> None:
        last: PlannedConversation | None = None
        for place, meeting in enumerate(meetings):
            new_group = not place % self._group
            if new_group:
                self.rounds, self._depth = self.rounds + self._depth, 0
            if new_group or last is None or meeting.game != last.game:
                self._before.clear()
                self._now.clear()
            elif meeting.round != last.round:
                self._before |= self._now
            self._wait(waits(self._cast, meeting))
            last = meeting
        self.rounds += self._depth

    def _wait(self, waiting: Sequence[str]) -> None:
        if not waiting:
            self.free += 1
            return
        self.linked += 1
        depth = 1 + max(self._before[name] for name in waiting)
        for name in waiting:
            self._now[name] = max(self._now[name], depth)
        self._depth = max(self._depth, depth)
