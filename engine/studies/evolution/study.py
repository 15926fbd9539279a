"""Prompt evolution as a study: its declaration, and what is taken in before a batch begins."""

from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.studies.kinds import KindSpec, LazyModules
from tidepool.storage.transfer.tables import ExportContents

if TYPE_CHECKING:
    from tidepool.engine.config.sections import Config

_LAZY = LazyModules(__package__)


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


KIND = KindSpec(
    name="evolution",
    title="Evolution",
    summary="a population of prompts gets better at a set of problems",
    units="genomes",
    settings=_LAZY.value("config", "EvolutionSettings"),
    freeze=freeze,
    code=_LAZY.function("tasks.scorer", "code_of"),
    find_code=_LAZY.function("tasks.scorer", "find_code"),
    plan=_LAZY.function("plan", "plan"),
    play=_LAZY.function("story", "play"),
    statistics=_LAZY.function("statistics", "statistics"),
    report=_LAZY.module("report"),
    glimpse=_LAZY.function("report", "EvolutionGlimpse"),
    methods=_LAZY.function("methods", "methods"),
    differences=_LAZY.function("comparison", "differences"),
    outcomes=_LAZY.function("comparison", "outcomes"),
    contents=ExportContents(
        views=("messages", "genomes"), where_filled=("answers",), beside_units=("genomes",), details=None
    ),
    shape=_LAZY.function("plan", "shape"),
    files=("problems", "choose_from", "judge_from"),
    filled_in=("frozen", "scorer_sha256"),
    roles={"model": "solver", "models": "solver", "mutator": "rewriter", "judge": "judge"},
    idle_roles=lambda section: (
        *(("mutator",) if section.get("strategy") == "random" else ()),
        *(() if section.get("task") == "judge" and not section.get("scorer") else ("judge",)),
    ),
)
