"""Runs and plans a secret game."""

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.call import Call, Message, expected_input, most_input
from tidepool.engine.config.sections import Config, reasoning_of
from tidepool.engine.errors import UsageError
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import (
    EXPECTED,
    MOST,
    REASONING_NOTE,
    Plan,
    PlannedCalls,
    Sizing,
    UsualTokens,
    merged,
)
from tidepool.engine.runtime.services import stop_notes, units_at_a_time
from tidepool.engine.studies.branches import BranchKind
from tidepool.engine.studies.conversation import OneByOne, Rehearsal, rehearsed_number
from tidepool.engine.studies.secret_game import story
from tidepool.engine.studies.secret_game.casting import Cast, Succession, schedule_of, settings_of, succession_of
from tidepool.engine.studies.secret_game.detectors.normalise import fold
from tidepool.engine.studies.secret_game.pairing import PlannedConversation, Schedule, Tally, tally_of
from tidepool.engine.studies.secret_game.prompts import EarlierConversation, memory_messages
from tidepool.engine.studies.secret_game.secrets import refuse_what_cannot_be_measured, warnings_about
from tidepool.engine.studies.secret_game.story import Conversation, Game, Knowledge
from tidepool.engine.studies.study import Study

if TYPE_CHECKING:
    from tidepool.engine.inference.measures import PlannedBatch
    from tidepool.engine.studies.secret_game.expectations import WatchedGame


class SecretGame(Study):
    branches: BranchKind | None = story

    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        names = [agent.name for agent in config.agents]
        first: dict[str, int] = {}
        for place, name in enumerate(names):
            if first.setdefault(name, place) != place:
                message = f"Two agents are called {name!r}. Give each agent a different name."
                raise UsageError(message, ("agents", place, "name"))
        settings = settings_of(config)
        fewest = 1 if settings.pairing == "ordered" else 2
        if len(names) < fewest:
            message = f"The secret game needs at least {fewest} agents in [[agents]], but there are {len(names)}."
            raise UsageError(message, ("agents",))
        for place, agent in enumerate(config.agents):
            if not agent.secret.strip() and not settings.scenarios:
                message = f'The agent {agent.name!r} has no secret. Give it one: secret = "…".'
                raise UsageError(message, ("agents", place, "secret"))
        if folder is not None:  # a frozen batch keeps its settings
            refuse_what_cannot_be_measured(config)
        if settings.mode == "targeted":
            _check_target(settings.targeted_secret or "", [agent.secret for agent in config.agents])
        return config

    def plan(self) -> Plan:
        cast, schedule = Cast(self.config), schedule_of(self.config)
        tally = tally_of(schedule)
        succession = succession_of(cast, schedule, units_at_a_time(self.config, cast.model_names, schedule.total))
        expected = [
            piece
            for planned in merged(_rehearse(cast, schedule, tally, EXPECTED))
            for piece in _in_rounds(planned, succession)
        ]
        notes = (*_notes(cast), *stop_notes(self.config, cast.model_names, schedule.total))
        at_most = tuple(_rehearse(cast, schedule, tally, MOST))
        return Plan(schedule.total, tuple(expected), notes, warnings_about(self.config), at_most=at_most)

    async def play(self, run: BatchRun) -> None:
        conversations = story.GameConversations(run)
        run.expect_units(conversations.total)
        await run.units(conversations.plans())

    def shape(self) -> list[str]:
        """The number of possible pairs."""
        agents = len(self.config.agents)
        if settings_of(self.config).pairing == "ordered":
            return [f"{agents:,} agents: {agents:,}² = {agents**2:,} ordered pairs"]
        return [f"{agents:,} agents: C({agents},2) = {comb(agents, 2):,} pairs"]

    def values_planned(self) -> "PlannedBatch":
        from tidepool.engine.studies.secret_game.expectations import planned

        return planned(self.config)

    def stop_target(self) -> "WatchedGame":
        from tidepool.engine.studies.secret_game.expectations import watch_game

        return watch_game(self.config)


def _check_target(target: str, secrets: list[str]) -> None:
    if fold(target).strip() not in {fold(secret).strip() for secret in secrets}:
        near = get_close_matches(target, secrets, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        message = f"secret_game.targeted_secret {target!r} is not the secret of any agent.{hint}"
        raise UsageError(message, ("secret_game", "targeted_secret"))


MESSAGE, VERDICT = UsualTokens(60, 23), UsualTokens(30, 12)


def _rehearse(cast: Cast, schedule: Schedule, tally: Tally, sizing: Sizing) -> Iterator[PlannedCalls]:
    def speeches(wave: int, speaker: str) -> int:
        return tally[(wave + 1) % 2][speaker]

    rehearsal = Rehearsal(sizing, lambda call: VERDICT if call.form else MESSAGE, speeches)
    game = _RehearsedGame(cast, sizing)
    length = cast.settings.messages_per_interaction
    for meeting in schedule.sample(rehearsed_number(schedule.total, length, len(cast.agents))):
        talk = Conversation(cast, OneByOne(), meeting, game if cast.linked else None)
        rehearsal.play(talk.play, lambda call: game.remembered.get(call.speaker or "", 0))
    return rehearsal.planned(schedule.total)


class _RehearsedGame(Game):
    """Models what agents bring from earlier rounds, which are not rehearsed. It assumes that they hold half of the possible secrets."""

    learns = False

    def __init__(self, cast: Cast, sizing: Sizing) -> None:
        self._players = cast
        self._sizing = sizing
        self._secrets = sorted(cast.secrets.values(), key=len, reverse=True)
        self._tokens = {name: self._conversation_tokens(name) for name in cast.agents if cast.remembers(name)}
        """of one remembered conversation"""
        self.remembered: dict[str, int] = {}
        """tokens of all that an agent remembers in the current conversation"""

    def _conversation_tokens(self, agent: str) -> int:
        cast, sizing = self._players, self._sizing
        sizes = {name: sizing.reply(cast.models[name], MESSAGE, one.max_tokens) for name, one in cast.agents.items()}
        mean = (sizes[agent] + sum(sizes.values()) // len(sizes)) // 2
        message = Message("user", "xxxx" * (max(sizes.values()) if sizing.worst else mean))
        talk = EarlierConversation(max(cast.agents, key=len), (message,) * cast.settings.messages_per_interaction)
        request = Call("", 0, "", memory_messages((talk,), agent, opens=True)[:-1])
        return most_input(request) if sizing.worst else expected_input(request)

    async def knowledge_of(self, agent: str, meeting: PlannedConversation) -> Knowledge | None:
        cast, size = self._players, len(self._players.agents)
        in_a_round = 2 * size - 1 if cast.settings.pairing == "ordered" else 1
        talks = (meeting.round - 1) * in_a_round
        known = Knowledge("")
        if cast.remembers(agent) and talks:
            self.remembered[agent] = talks * self._tokens[agent]
            known.talks.append(EarlierConversation(meeting.partner, ()))
        held = min(talks, size - 1)
        known.held = {secret: secret for secret in self._secrets[: held if self._sizing.worst else held // 2]}
        return known

    def end(self, *ignored: object) -> None:
        """No conversation waits for it."""


def _in_rounds(planned: PlannedCalls, succession: Succession) -> Iterator[PlannedCalls]:
    """The part that waits for no other conversation, and the part that runs round by round."""
    free = round(planned.calls * (succession.free / (succession.free + succession.linked)))
    for calls, rounds in ((free, succession.groups), (planned.calls - free, succession.rounds)):
        if calls:
            yield replace(planned, calls=calls, rounds=rounds)


def _notes(cast: Cast) -> Iterator[str]:
    usual = sorted({MESSAGE.by(model) for model in cast.models.values()})
    yield f"A message is expected to have {' or '.join(map(str, usual))} tokens."
    if reasoning := max(reasoning_of(agent).get("max_reasoning_tokens", 0) for agent in cast.agents.values()):
        yield REASONING_NOTE.format(reasoning)
    if cast.judge_model:
        yield f"A verdict of the judge is expected to have {VERDICT.by(cast.judge_model)} tokens."
    if cast.linked:
        yield "Rounds of a game run in sequence, so a provider batch contains one message position of one round."
