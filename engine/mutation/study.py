"""Query mutation as a study: what it asks, what it costs, and what comes out of it."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from engine.config import Config
from engine.mutation.config import HASHING, MutationSettings
from engine.mutation.material import with_files
from engine.mutation.statistics import mutation_statistics
from engine.planning import Plan
from engine.presets import resolve_model
from engine.tide import Tide

SETTINGS = MutationSettings


def freeze(config: Config, folder: Path) -> Config:
    return config.model_copy(update={"settings": with_files(settings_of(config), folder)})


def models(config: Config) -> set[str]:
    settings = settings_of(config)
    called = [settings.target, settings.mutator]
    if settings.reward == "judge":
        called.append(settings.judge)
    if settings.encoder != HASHING:
        called.append(settings.encoder)
    return set(map(resolve_model, called))


def plan(config: Config) -> Plan:
    from engine.mutation.forecast import forecast

    return forecast(config, settings_of(config))


async def play(tide: Tide) -> None:
    from engine.mutation.course import Course

    await Course(tide, settings_of(tide.config)).run()


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: Config) -> dict[str, Any]:
    return mutation_statistics(connection, batch["number"], settings_of(config))


def settings_of(config: Config) -> MutationSettings:
    return cast(MutationSettings, config.settings)
