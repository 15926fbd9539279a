"""Prompt evolution as a study: its declaration, and what is taken in before a batch begins."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.results.blocks import KindReport
from tidepool.engine.studies.kinds import KindSpec
from tidepool.storage.transfer.tables import ExportContents

if TYPE_CHECKING:
    from tidepool.engine.config.section import Section
    from tidepool.engine.config.sections import Config, FrozenConfig
    from tidepool.engine.config.stored import StoredConfig
    from tidepool.engine.design.outcomes import KindOutcomes
    from tidepool.engine.results.blocks import KindMethods
    from tidepool.engine.results.glimpse import Glimpse
    from tidepool.engine.runtime.batch_run import BatchRun
    from tidepool.engine.studies.plan import Plan

CONTENTS = ExportContents(
    views=("messages", "genomes"), where_filled=("answers",), beside_units=("genomes",), details=None
)


def settings() -> "type[Section]":
    from tidepool.engine.studies.evolution.config import EvolutionSettings

    return EvolutionSettings


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.evolution.gepa import PROPOSALS, require_extra
    from tidepool.engine.studies.evolution.inputs import settings_of, with_problems
    from tidepool.engine.studies.evolution.tasks.scorer import with_code_frozen
    from tidepool.engine.studies.evolution.width import with_limits, with_sizes

    settings = with_code_frozen(with_sizes(settings_of(config)), folder)
    if folder is not None and not settings.material:  # a batch that was frozen without it goes on with both
        settings = settings.model_copy(update={"material": "own" if settings.seed_prompts else "built-in"})
    if folder is not None and settings.guards is None:  # a batch that was frozen without them goes on without
        settings = settings.model_copy(update={"guards": True})
    if folder is not None and settings.strategy == "gepa" and settings.proposals is None:  # frozen without it: one
        settings = settings.model_copy(update={"proposals": PROPOSALS})
    if settings.strategy == "gepa":
        require_extra()
    settings = with_problems(settings, config.batch.seed, folder)
    return config.model_copy(update={"settings": settings, "service": with_limits(config.service, settings)})


def models(config: "FrozenConfig") -> set[str]:
    from tidepool.engine.config.section import models_named
    from tidepool.engine.studies.evolution.inputs import settings_of

    settings = settings_of(config)
    unused = {"mutator": settings.strategy == "random", "judge": not settings.judged}
    return models_named(settings, but={name for name, idle in unused.items() if idle})


def code(config: "FrozenConfig") -> tuple[str, ...]:
    from tidepool.engine.studies.evolution.inputs import settings_of
    from tidepool.engine.studies.evolution.tasks.scorer import code_in_words

    return code_in_words(settings_of(config))


def find_code(config: "FrozenConfig", folders: Sequence[Path]) -> None:
    from tidepool.engine.studies.evolution.inputs import settings_of
    from tidepool.engine.studies.evolution.tasks.scorer import find_code

    find_code(settings_of(config), folders)


def plan(config: "FrozenConfig") -> "Plan":
    from tidepool.engine.studies.evolution.plan import plan

    return plan(config)


def shape(config: "FrozenConfig") -> list[str]:
    from tidepool.engine.studies.evolution.plan import shape

    return shape(config)


async def play(run: "BatchRun") -> None:
    from tidepool.engine.studies.evolution.story import play

    await play(run)


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: "StoredConfig") -> dict[str, Any]:
    from tidepool.engine.studies.evolution.statistics import statistics

    return statistics(connection, batch, config)


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    from tidepool.engine.studies.evolution.comparison import differences

    return differences(connection, batches)


def outcomes() -> "KindOutcomes":
    from tidepool.engine.studies.evolution.comparison import OUTCOMES

    return OUTCOMES


def methods(
    batch: Mapping[str, Any], config: "StoredConfig", statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> "KindMethods":
    from tidepool.engine.studies.evolution.methods import methods

    return methods(batch, config, statistics, connection)


def report() -> KindReport:
    from tidepool.engine.studies.evolution import report

    return report


def glimpse(settings: Mapping[str, Any]) -> "Glimpse":
    from tidepool.engine.studies.evolution.report import EvolutionGlimpse

    return EvolutionGlimpse(settings)


KIND = KindSpec(
    name="evolution",
    title="Evolution",
    summary="a population of prompts gets better at a set of problems",
    units="genomes",
    settings=settings,
    freeze=freeze,
    models=models,
    code=code,
    find_code=find_code,
    plan=plan,
    play=play,
    statistics=statistics,
    report=report,
    glimpse=glimpse,
    methods=methods,
    differences=differences,
    outcomes=outcomes,
    contents=CONTENTS,
    shape=shape,
    files=("problems", "choose_from", "judge_from"),
    filled_in=("frozen", "scorer_sha256"),
    roles={"model": "solver", "models": "solver", "mutator": "rewriter", "judge": "judge"},
    idle_roles=lambda section: (
        *(("mutator",) if section.get("strategy") == "random" else ()),
        *(() if section.get("task") == "judge" and not section.get("scorer") else ("judge",)),
    ),
)
