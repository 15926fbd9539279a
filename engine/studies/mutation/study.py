"""Query mutation as a study: what it asks, what it costs, and what comes out of it."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tidepool.engine.config.presets import resolve_model
from tidepool.engine.config.sections import Config
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.studies.mutation.config import HASHING, MutationSettings
from tidepool.engine.studies.mutation.inputs import with_files
from tidepool.engine.studies.mutation.statistics import mutation_statistics
from tidepool.engine.studies.plan import Plan

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
    from tidepool.engine.studies.mutation.plan import planned

    return planned(config, settings_of(config))


async def play(run: BatchRun) -> None:
    from tidepool.engine.studies.mutation.story import Story

    await Story(run, settings_of(run.config)).run()


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: Config) -> dict[str, Any]:
    return mutation_statistics(connection, batch["number"], settings_of(config))


def settings_of(config: Config) -> MutationSettings:
    return cast(MutationSettings, config.settings)
