"""Prompt evolution as a study: search on training problems, then an honest word on held-out ones."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from engine.config import Config
from engine.evolution.arena import Arena
from engine.evolution.builtin.sets import SETS
from engine.evolution.chronicle import Chronicle
from engine.evolution.config import EvolutionSettings, FrozenProblems, ProblemEntry
from engine.evolution.examiner import Examiner
from engine.evolution.finale import by_problem, comparison, portrait, validated
from engine.evolution.numbering import Numbering
from engine.evolution.outlook import outlook
from engine.evolution.pace import with_limits, with_sizes
from engine.evolution.problems import Problem, ProblemSet, problem_set
from engine.evolution.report import report
from engine.evolution.seed_final import best_seed
from engine.evolution.strategies.random_search import search_on
from engine.evolution.strategies.strategy import check_strategy, strategy_named
from engine.evolution.validation import score
from engine.planning import Plan
from engine.presets import resolve_model
from engine.tide import Tide

SETTINGS = EvolutionSettings


def freeze(config: Config, folder: Path) -> Config:
    settings = with_sizes(settings_of(config))
    check_strategy(settings.strategy)
    if settings.frozen is None and settings.problems not in SETS:
        settings = settings.model_copy(update={"frozen": _taken_in(settings, config.batch.seed, folder)})
    return config.model_copy(update={"settings": settings, "service": with_limits(config.service, settings)})


def models(config: Config) -> set[str]:
    settings = settings_of(config)
    mutators = {resolve_model(settings.mutator)} if settings.strategy != "random" else set()
    return {*settings.solvers(), *mutators}


def plan(config: Config) -> Plan:
    return outlook(settings_of(config), problems_of(config))


async def play(tide: Tide) -> None:
    settings, problems = settings_of(tide.config), problems_of(tide.config)
    examiner, numbering, chronicle = Examiner(tide, settings), Numbering(), Chronicle(tide)
    arena = Arena(tide, settings, problems.training, examiner, numbering, chronicle)
    arena.units_ahead = plan(tide.config).units
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
        **comparison(ours, theirs, tide.seed),
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
            **comparison(ours, random_marks, tide.seed),
        }
    chronicle.tell_validation(problems.validation, [score(replies) for replies in by_problem(ours)])
    chronicle.tell_result(result)
    tide.reason = stopped_by


async def random_rival(arena: Arena, calls: int) -> Arena:
    """A random search that starts from the same judged seeds and makes at least so many calls in all."""
    rival = arena.fork("r")
    await search_on(rival, calls)
    return rival


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: Config) -> dict[str, Any]:
    return {"strategy": settings_of(config).strategy, **report(connection, batch["number"])}


def settings_of(config: Config) -> EvolutionSettings:
    return cast(EvolutionSettings, config.settings)


def problems_of(config: Config) -> ProblemSet:
    settings = settings_of(config)
    if settings.frozen is None:
        return problem_set(settings.problems, settings.max_problems, settings.validation_problems, config.batch.seed)
    training, validation = (
        tuple(Problem(entry.question, entry.answer) for entry in entries)
        for entries in (settings.frozen.training, settings.frozen.validation)
    )
    return ProblemSet(settings.problems, training, validation)


def _taken_in(settings: EvolutionSettings, seed: int, folder: Path) -> FrozenProblems:
    found = problem_set(settings.problems, settings.max_problems, settings.validation_problems, seed, folder)
    training, validation = (
        [ProblemEntry(question=problem.question, answer=problem.answer) for problem in problems]
        for problems in (found.training, found.validation)
    )
    return FrozenProblems(training=training, validation=validation)
