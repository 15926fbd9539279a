"""The secret game as a study: who meets whom, and what comes out of it."""

import sqlite3
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.model_fields import models_named
from tidepool.engine.config.sections import Config
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.core.unit import UnitPlan
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.plan import Plan
from tidepool.engine.studies.secret_game.casting import Cast, schedule_of, settings_of
from tidepool.engine.studies.secret_game.config import SecretGameSettings
from tidepool.engine.studies.secret_game.detectors.folding import fold
from tidepool.engine.studies.secret_game.game import Game
from tidepool.engine.studies.secret_game.story import Conversation

SETTINGS = SecretGameSettings


def freeze(config: Config, folder: Path | None) -> Config:
    names = [agent.name for agent in config.agents]
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if first.setdefault(name, place) != place:
            told = f"Two agents are called {name!r}. Give each agent a name of its own."
            raise UsageError(told, ("agents", place, "name"))
    settings = settings_of(config)
    fewest = 1 if settings.pairing == "ordered" else 2
    if len(names) < fewest:
        told = f"The secret game needs at least {fewest} agents in [[agents]]; there are {len(names)}."
        raise UsageError(told, ("agents",))
    for place, agent in enumerate(config.agents):
        if not agent.secret.strip() and not settings.scenarios:
            told = f'The agent {agent.name!r} has no secret. Give it one: secret = "…".'
            raise UsageError(told, ("agents", place, "secret"))
    if settings.mode == "targeted":
        _check_target(settings.targeted_secret or "", [agent.secret for agent in config.agents])
    return config


def _check_target(target: str, secrets: list[str]) -> None:
    if fold(target).strip() not in {fold(secret).strip() for secret in secrets}:
        near = get_close_matches(target, secrets, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        told = f"secret_game.targeted_secret {target!r} is the secret of no agent.{hint}"
        raise UsageError(told, ("secret_game", "targeted_secret"))


def models(config: FrozenConfig) -> set[str]:
    settings = settings_of(config)
    unused = set() if settings.judged else {"judge"}
    return models_named(settings, unused).union(*map(models_named, config.agents))


def plan(config: FrozenConfig) -> Plan:
    from tidepool.engine.studies.secret_game.plan import planned

    return planned(config)


async def play(run: BatchRun) -> None:
    schedule = schedule_of(run.config)
    run.expect_units(schedule.total)
    await run.units(_conversations(run))


def _conversations(run: BatchRun) -> Iterator[UnitPlan]:
    """In the order of the schedule, so that nobody waits for a conversation that was not taken up before."""
    players, schedule = Cast.of(run.config), schedule_of(run.config)
    game: Game | None = None
    number = 0
    for a_round in schedule.play():
        if players.linked and a_round.game != number:
            number = a_round.game
            game = Game(players, run, schedule.conversations_in_game(number))
        for agent in a_round.sits_out:
            run.ledger.put_sit_out(a_round.game, a_round.number, agent)
        for meeting in a_round.meetings:
            if game:
                game.announce(meeting)
        for meeting in a_round.meetings:
            yield UnitPlan(
                meeting.sequence_number,
                Conversation(players, run, meeting, game).play,
                participants=(meeting.opener, meeting.partner),
                game=meeting.game,
                round=meeting.round,
                interaction_type="dyadic",
            )


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig) -> dict[str, Any]:
    from tidepool.engine.studies.secret_game.recorded_statistics import recorded_statistics

    return recorded_statistics(connection, batch, config)
