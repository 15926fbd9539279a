"""The secret game as a study: who meets whom, and what comes out of it."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from engine.config import Agent, Config
from engine.errors import UsageError
from engine.planning import Plan, PlannedCalls, merged
from engine.presets import resolve_model
from engine.prices import expected_tokens
from engine.secret_game.config import SecretGameSettings
from engine.secret_game.conversation import Cast, Conversation
from engine.secret_game.outcomes import OutcomeRow
from engine.secret_game.pairing import Schedule
from engine.secret_game.prompts import Briefing, system_prompt
from engine.secret_game.statistics import basic_statistics
from engine.tide import Tide, UnitPlan

SETTINGS = SecretGameSettings

WORDS_OF_A_MESSAGE = 60
"""output tokens a message is taken to have, for plans"""


def freeze(config: Config, folder: Path) -> Config:
    if config.agent_ids:  # the library's agents come in when the batch starts, and are checked then
        return config
    names = [agent.name for agent in config.agents]
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise UsageError(f"Two agents are called {doubled[0]!r}. Give each agent a name of its own.")
    settings = settings_of(config)
    if len(names) < 2 and settings.pairing != "ordered":
        raise UsageError(f"The secret game needs at least two agents in [[agents]]; there are {len(names)}.")
    for agent in config.agents:
        if not agent.secret.strip():
            raise UsageError(f'The agent {agent.name!r} has no secret. Give it one: secret = "…".')
    return config


def models(config: Config) -> set[str]:
    return {resolve_model(agent.model) for agent in config.agents}


def plan(config: Config) -> Plan:
    settings = settings_of(config)
    schedule = schedule_of(config)
    agents = {agent.name: agent for agent in config.agents}
    length = settings.messages_per_interaction
    spoken: Counter[tuple[int, str]] = Counter()
    for meeting in schedule.meetings():
        pair = (meeting.opener, meeting.partner)
        for turn in range(1, length + 1):
            spoken[turn, pair[(turn - 1) % 2]] += 1
    calls = []
    for (turn, name), count in spoken.items():
        system = expected_tokens(_sample_prompt(config, agents[name], length))
        output = min(agents[name].max_tokens, WORDS_OF_A_MESSAGE)
        calls.append(PlannedCalls(turn, resolve_model(agents[name].model), count, system + turn * (output + 8), output))
    return Plan(schedule.total, merged(calls), (f"A message is taken to have {WORDS_OF_A_MESSAGE} tokens.",))


def _sample_prompt(config: Config, agent: Agent, length: int) -> str:
    rules = Cast.of(config).rules
    return system_prompt(Briefing(agent.name, agent.name, agent.secret, rules, length, instructions=agent.instructions))


async def play(tide: Tide) -> None:
    config = tide.config
    schedule = schedule_of(config)
    tide.expect_units(schedule.total)
    cast_of_game = Cast.of(config)
    await tide.units(
        UnitPlan(
            meeting.sequence_number,
            Conversation(cast_of_game, meeting).talk,
            participants=(meeting.opener, meeting.partner),
            game=meeting.game,
            round=meeting.round,
            interaction_type="dyadic",
        )
        for meeting in schedule.meetings()
    )


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: Config) -> dict[str, Any]:
    rows = (
        OutcomeRow(*row)
        for row in connection.execute(
            "SELECT conversation_id, mode, game, agent, opponent, opener, revealed, obtained, detector, turn, score "
            "FROM outcomes WHERE batch_id = ?",
            (batch["id"],),
        )
    )
    failed = Counter(
        cast(tuple[str, str], tuple(json.loads(participants)))
        for (participants,) in connection.execute(
            "SELECT participants FROM conversations WHERE batch_id = ? AND status = 'failed'", (batch["id"],)
        )
    )
    return basic_statistics(rows, failed)


def settings_of(config: Config) -> SecretGameSettings:
    return cast(SecretGameSettings, config.settings)


def schedule_of(config: Config) -> Schedule:
    settings = settings_of(config)
    interactions = settings.stated_interactions()
    return Schedule(
        agents=tuple(agent.name for agent in config.agents),
        pairing=settings.pairing,
        seed=config.batch.seed,
        games=settings.games,
        rounds=settings.rounds if interactions is None or "rounds" in settings.model_fields_set else None,
        num_interactions=interactions,
    )
