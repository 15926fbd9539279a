"""Prompt evolution as a study: search on training problems, then an honest word on held-out ones."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.model_fields import models_named
from tidepool.engine.config.sections import Config, ConfigSections
from tidepool.engine.config.toml_files import named_file
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.studies.evolution.builtin.sets import SETS
from tidepool.engine.studies.evolution.config import EvolutionSettings, FrozenProblems, ProblemEntry
from tidepool.engine.studies.evolution.evaluator import Evaluator
from tidepool.engine.studies.evolution.finale import by_problem, comparison, portrait, validated
from tidepool.engine.studies.evolution.grader import Grader
from tidepool.engine.studies.evolution.numbering import Numbering
from tidepool.engine.studies.evolution.pace import with_limits, with_sizes
from tidepool.engine.studies.evolution.plan import planned
from tidepool.engine.studies.evolution.problems import Problem, ProblemSet, problem_set
from tidepool.engine.studies.evolution.recorder import Recorder
from tidepool.engine.studies.evolution.seed_final import best_seed
from tidepool.engine.studies.evolution.statistics import report
from tidepool.engine.studies.evolution.strategies.random_search import search_on
from tidepool.engine.studies.evolution.strategies.strategy import check_strategy, strategy_named
from tidepool.engine.studies.evolution.validation import score
from tidepool.engine.studies.plan import Plan

SETTINGS = EvolutionSettings


def freeze(config: Config, folder: Path | None) -> Config:
    settings = with_sizes(settings_of(config))
    check_strategy(settings.strategy)
    if settings.frozen is None and settings.problems not in SETS:
        settings = settings.model_copy(update={"frozen": _taken_in(settings, config.batch.seed, folder)})
    return config.model_copy(update={"settings": settings, "service": with_limits(config.service, settings)})


def models(config: FrozenConfig) -> set[str]:
    settings = settings_of(config)
    return models_named(settings, but={"mutator"} if settings.strategy == "random" else ())


def plan(config: FrozenConfig) -> Plan:
    return planned(settings_of(config), problems_of(config))


async def play(run: BatchRun) -> None:
    settings, problems = settings_of(run.config), problems_of(run.config)
    examiner, numbering, chronicle = Grader(run, settings), Numbering(), Recorder(run)
    arena = Evaluator(run, settings, problems.training, examiner, numbering, chronicle)
    arena.units_ahead = plan(run.config).units
    stopped_by = await strategy_named(settings.strategy).search(arena)
    arena.units_ahead, search_calls = 0, arena.calls
    baseline = await best_seed(arena)
    champion = arena.leader()
    baseline_calls = arena.calls - search_calls
    rival = await random_rival(arena, search_calls) if settings.random_baseline else None
    finalists = [champion, baseline, *([rival.leader()] if rival else [])]
    marks = await validated(arena, finalists, problems.validation)
    ours, theirs = (marks[one.genome.prompt] for one in (champion, baseline))
    result = {
        "champion": portrait(champion, ours),
        "baseline": portrait(baseline, theirs),
        **comparison(ours, theirs, run.seed),
        "stopped_by": stopped_by,
        "calls_saved_by_racing": arena.calls_saved,
        "search_calls": search_calls,
        "baseline_calls": baseline_calls,
        "random_search": None,
    }
    if rival:
        drawn = rival.leader()
        random_marks = marks[drawn.genome.prompt]
        result["random_search"] = {
            **portrait(drawn, random_marks),
            "calls": rival.calls,
            **comparison(ours, random_marks, run.seed),
        }
    chronicle.tell_validation(problems.validation, [score(replies) for replies in by_problem(ours)])
    chronicle.tell_result(result)
    run.reason = stopped_by


async def random_rival(arena: Evaluator, calls: int) -> Evaluator:
    """A random search that starts from the same judged seeds and makes at least so many calls in all."""
    rival = arena.fork("r")
    await search_on(rival, calls)
    return rival


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig) -> dict[str, Any]:
    return {"strategy": settings_of(config).strategy, **report(connection, batch["number"])}


def settings_of(config: ConfigSections) -> EvolutionSettings:
    return cast(EvolutionSettings, config.settings)


def problems_of(config: FrozenConfig) -> ProblemSet:
    settings = settings_of(config)
    if settings.frozen is None:
        return problem_set(settings.problems, settings.max_problems, settings.validation_problems, config.batch.seed)
    training, validation = (
        tuple(Problem(entry.question, entry.answer) for entry in entries)
        for entries in (settings.frozen.training, settings.frozen.validation)
    )
    return ProblemSet(settings.problems, training, validation)


def _taken_in(settings: EvolutionSettings, seed: int, folder: Path | None) -> FrozenProblems:
    if folder is None:
        named_file(settings.problems, folder, "evolution", "problems")
    found = problem_set(settings.problems, settings.max_problems, settings.validation_problems, seed, folder)
    training, validation = (
        [ProblemEntry(question=problem.question, answer=problem.answer) for problem in problems]
        for problems in (found.training, found.validation)
    )
    return FrozenProblems(training=training, validation=validation)
