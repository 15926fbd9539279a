"""Query mutation as a study: what it asks, what it costs, and what comes out of it."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.model_fields import models_named
from tidepool.engine.config.sections import Config, ConfigSections
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.studies.mutation.config import HASHING, MutationSettings
from tidepool.engine.studies.mutation.inputs import with_files
from tidepool.engine.studies.mutation.statistics import mutation_statistics
from tidepool.engine.studies.plan import Plan

SETTINGS = MutationSettings


def freeze(config: Config, folder: Path | None) -> Config:
    return config.model_copy(update={"settings": with_files(settings_of(config), folder)})


def models(config: FrozenConfig) -> set[str]:
    settings = settings_of(config)
    unused = {"encoder": settings.encoder == HASHING, "judge": settings.reward != "judge"}
    return models_named(settings, but=[name for name, idle in unused.items() if idle])


def plan(config: FrozenConfig) -> Plan:
    from tidepool.engine.studies.mutation.plan import planned

    return planned(config, settings_of(config))


async def play(run: BatchRun) -> None:
    from tidepool.engine.studies.mutation.story import Story

    await Story(run, settings_of(run.config)).run()


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig) -> dict[str, Any]:
    return mutation_statistics(connection, batch["number"], settings_of(config))


def settings_of(config: ConfigSections) -> MutationSettings:
    return cast(MutationSettings, config.settings)
