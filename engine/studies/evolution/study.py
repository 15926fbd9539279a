"""Prompt evolution as a study: its declaration, and what is taken in before a batch begins."""

from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.results.blocks import KindReport
from tidepool.engine.studies.kinds import KindSpec, deferred
from tidepool.storage.transfer.tables import ExportContents

if TYPE_CHECKING:
    from tidepool.engine.config.section import Section
    from tidepool.engine.config.sections import Config, FrozenConfig

HERE = "tidepool.engine.studies.evolution"


def settings() -> "type[Section]":
    from tidepool.engine.studies.evolution.config import EvolutionSettings

    return EvolutionSettings


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.evolution.gepa import require_extra
    from tidepool.engine.studies.evolution.inputs import settings_of, with_problems
    from tidepool.engine.studies.evolution.tasks.scorer import with_code_frozen
    from tidepool.engine.studies.evolution.width import with_limits, with_sizes

    settings = with_code_frozen(with_sizes(settings_of(config)), folder)
    if not settings.material:
        settings = settings.model_copy(update={"material": "own" if settings.seed_prompts else "built-in"})
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


def report() -> KindReport:
    from tidepool.engine.studies.evolution import report

    return report


KIND = KindSpec(
    name="evolution",
    title="Evolution",
    summary="a population of prompts gets better at a set of problems",
    units="genomes",
    settings=settings,
    freeze=freeze,
    models=models,
    code=deferred(f"{HERE}.tasks.scorer:code_of"),
    find_code=deferred(f"{HERE}.tasks.scorer:find_code"),
    plan=deferred(f"{HERE}.plan:plan"),
    play=deferred(f"{HERE}.story:play"),
    statistics=deferred(f"{HERE}.statistics:statistics"),
    report=report,
    glimpse=deferred(f"{HERE}.report:EvolutionGlimpse"),
    methods=deferred(f"{HERE}.methods:methods"),
    differences=deferred(f"{HERE}.comparison:differences"),
    outcomes=deferred(f"{HERE}.comparison:outcomes"),
    contents=ExportContents(
        views=("messages", "genomes"), where_filled=("answers",), beside_units=("genomes",), details=None
    ),
    shape=deferred(f"{HERE}.plan:shape"),
    files=("problems", "choose_from", "judge_from"),
    filled_in=("frozen", "scorer_sha256"),
    roles={"model": "solver", "models": "solver", "mutator": "rewriter", "judge": "judge"},
    idle_roles=lambda section: (
        *(("mutator",) if section.get("strategy") == "random" else ()),
        *(() if section.get("task") == "judge" and not section.get("scorer") else ("judge",)),
    ),
)
