"""Query mutation as a study: its declaration, and what is taken in before a batch begins."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.exports.request import Exporter
from tidepool.engine.results.blocks import KindReport
from tidepool.engine.studies.kinds import KindSpec
from tidepool.storage.transfer.tables import ExportContents, steps_table

if TYPE_CHECKING:
    from tidepool.engine.config.section import Section
    from tidepool.engine.config.sections import Config, FrozenConfig
    from tidepool.engine.config.stored import StoredConfig
    from tidepool.engine.design.outcomes import KindOutcomes
    from tidepool.engine.results.blocks import KindMethods
    from tidepool.engine.results.glimpse import Glimpse
    from tidepool.engine.runtime.batch_run import BatchRun
    from tidepool.engine.studies.plan import Plan


def settings() -> "type[Section]":
    from tidepool.engine.studies.mutation.config import MutationSettings

    return MutationSettings


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.mutation.inputs import settings_of, with_files

    return config.model_copy(update={"settings": with_files(settings_of(config), folder)})


def models(config: "FrozenConfig") -> set[str]:
    from tidepool.engine.config.section import models_named
    from tidepool.engine.studies.mutation.config import HASHING
    from tidepool.engine.studies.mutation.inputs import settings_of

    settings = settings_of(config)
    unused = {"encoder": settings.encoder == HASHING, "judge": settings.reward != "judge"}
    return models_named(settings, but=[name for name, idle in unused.items() if idle])


def plan(config: "FrozenConfig") -> "Plan":
    from tidepool.engine.studies.mutation.plan import plan

    return plan(config)


def shape(config: "FrozenConfig") -> list[str]:
    from tidepool.engine.studies.mutation.plan import shape

    return shape(config)


async def play(run: "BatchRun") -> None:
    from tidepool.engine.studies.mutation.story import play

    await play(run)


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: "StoredConfig") -> dict[str, Any]:
    from tidepool.engine.studies.mutation.statistics import statistics

    return statistics(connection, batch, config)


def formats() -> Mapping[str, Exporter]:
    from tidepool.engine.studies.mutation.policy import FORMATS

    return FORMATS


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    from tidepool.engine.studies.mutation.statistics import differences

    return differences(connection, batches)


def outcomes() -> "KindOutcomes":
    from tidepool.engine.studies.mutation.statistics import OUTCOMES

    return OUTCOMES


def methods(
    batch: Mapping[str, Any], config: "StoredConfig", statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> "KindMethods":
    from tidepool.engine.studies.mutation.methods import methods

    return methods(batch, config, statistics, connection)


def report() -> KindReport:
    from tidepool.engine.studies.mutation import report

    return report


def glimpse(settings: Mapping[str, Any]) -> "Glimpse":
    from tidepool.engine.studies.mutation.report import MutationGlimpse

    return MutationGlimpse()


KIND = KindSpec(
    name="mutation",
    title="Mutation",
    summary="a learner finds out which rewriting of a query helps",
    units="episodes",
    settings=settings,
    freeze=freeze,
    models=models,
    plan=plan,
    play=play,
    statistics=statistics,
    differences=differences,
    outcomes=outcomes,
    report=report,
    glimpse=glimpse,
    methods=methods,
    formats=formats,
    contents=ExportContents(
        views=("messages", "training"), beside_units=("training",), tables=(steps_table,), details="episode"
    ),
    shape=shape,
    files=("queries", "policy"),
    filled_in=("query_list", "policy_content"),
    roles={"target": "target", "mutator": "rewriter", "judge": "judge", "encoder": "encoder"},
    idle_roles=lambda section: () if section.get("reward") == "judge" else ("judge",),
)
