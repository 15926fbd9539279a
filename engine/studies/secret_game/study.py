"""The secret game as a study: its declaration, and what is checked before a batch begins."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.errors import UsageError
from tidepool.engine.results.blocks import KindReport
from tidepool.engine.studies.kinds import KindSpec
from tidepool.engine.studies.secret_game.exports import CONTENTS

if TYPE_CHECKING:
    from tidepool.engine.branching.talks import BranchKind
    from tidepool.engine.call import Call
    from tidepool.engine.config.frozen import FrozenConfig
    from tidepool.engine.config.sections import Config, Section
    from tidepool.engine.config.stored import StoredConfig
    from tidepool.engine.design.outcomes import KindOutcomes
    from tidepool.engine.results.glimpse import Glimpse
    from tidepool.engine.results.method_words import KindMethods
    from tidepool.engine.runtime.batch_run import BatchRun
    from tidepool.engine.stopping.watched import Watched
    from tidepool.engine.studies.plan import Plan


def settings() -> "type[Section]":
    from tidepool.engine.studies.secret_game.config import SecretGameSettings

    return SecretGameSettings


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.secret_game.casting import settings_of

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
    if folder is not None:  # a batch that was frozen before goes on as it began
        from tidepool.engine.studies.secret_game.secrets.examination import refuse_what_cannot_be_measured

        refuse_what_cannot_be_measured(config)
    if settings.mode == "targeted":
        _check_target(settings.targeted_secret or "", [agent.secret for agent in config.agents])
    return config


def _check_target(target: str, secrets: list[str]) -> None:
    from tidepool.engine.studies.secret_game.detectors.folding import fold

    if fold(target).strip() not in {fold(secret).strip() for secret in secrets}:
        near = get_close_matches(target, secrets, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        told = f"secret_game.targeted_secret {target!r} is the secret of no agent.{hint}"
        raise UsageError(told, ("secret_game", "targeted_secret"))


def models(config: "FrozenConfig") -> set[str]:
    from tidepool.engine.config.model_fields import models_named
    from tidepool.engine.studies.secret_game.casting import settings_of

    settings = settings_of(config)
    unused = set() if settings.judged else {"judge"}
    return models_named(settings, unused).union(*map(models_named, config.agents))


def plan(config: "FrozenConfig") -> "Plan":
    from tidepool.engine.studies.secret_game.plan import plan

    return plan(config)


def first_requests(config: "FrozenConfig") -> "Iterator[Call]":
    from tidepool.engine.studies.secret_game.plan import first_requests

    return first_requests(config)


def shape(config: "FrozenConfig") -> list[str]:
    from tidepool.engine.studies.secret_game.plan import shape

    return shape(config)


async def play(run: "BatchRun") -> None:
    from tidepool.engine.studies.secret_game.story import play

    await play(run)


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: "StoredConfig") -> dict[str, Any]:
    from tidepool.engine.studies.secret_game.statistics import statistics

    return statistics(connection, batch, config)


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    from tidepool.engine.studies.secret_game.comparison import differences

    return differences(connection, batches)


def outcomes() -> "KindOutcomes":
    from tidepool.engine.studies.secret_game.outcomes import OUTCOMES

    return OUTCOMES


def methods(
    batch: Mapping[str, Any], config: "StoredConfig", statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> "KindMethods":
    from tidepool.engine.studies.secret_game.methods import methods

    return methods(batch, config, statistics, connection)


def stopping(config: "FrozenConfig") -> "Watched":
    from tidepool.engine.studies.secret_game.stopping import watched

    return watched(config)


def report() -> KindReport:
    from tidepool.engine.studies.secret_game import report

    return report


def branches() -> "BranchKind":
    from tidepool.engine.studies.secret_game import branches

    return branches


def glimpse(settings: Mapping[str, Any]) -> "Glimpse":
    from tidepool.engine.studies.secret_game.glimpse import GameGlimpse

    return GameGlimpse()


KIND = KindSpec(
    name="secret_game",
    title="Secret game",
    summary="agents with secrets talk in pairs: who reveals, who obtains?",
    units="conversations",
    settings=settings,
    freeze=freeze,
    models=models,
    plan=plan,
    play=play,
    statistics=statistics,
    report=report,
    glimpse=glimpse,
    methods=methods,
    first_requests=first_requests,
    differences=differences,
    outcomes=outcomes,
    contents=CONTENTS,
    branches=branches,
    shape=shape,
    stopping=stopping,
    talks=True,
    people="agents",
    roles={"agents": "agents", "judge": "judge"},
    idle_roles=lambda section: () if "'judge'" in str(section.get("detection")) else ("judge",),
)
