"""Prompt evolution: search on training problems, then an honest word on held-out ones."""

from hashlib import sha256
from typing import Any

from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.studies.evolution.evaluator import Evaluator, Numbering
from tidepool.engine.studies.evolution.final_test import (
    best_seed,
    by_problem,
    compare,
    examine,
    portrait,
    score,
)
from tidepool.engine.studies.evolution.gepa import gepa_search
from tidepool.engine.studies.evolution.grader import Grader, open_marker
from tidepool.engine.studies.evolution.inputs import problems_of, settings_of
from tidepool.engine.studies.evolution.plan import plan
from tidepool.engine.studies.evolution.records import RESULT, VALIDATION, counted_reasons
from tidepool.engine.studies.evolution.rewrites import ACCEPTED
from tidepool.engine.studies.evolution.strategies import search, search_at_random


async def play(run: BatchRun) -> None:
    settings = settings_of(run.config)
    async with open_marker(run, settings) as marker:
        await _evolve(run, Grader(run, settings, marker, problems_of(run.config).training))


async def _evolve(run: BatchRun, grader: Grader) -> None:
    settings, problems = settings_of(run.config), problems_of(run.config)
    for split, group in (("search", problems.training), ("judge", problems.validation)):
        for number, problem in enumerate(group):  # kept once, for the answers to name them
            run.ledger.put_problem(split=split, number=number, question=problem.question, gold=problem.answer)
    evaluator = Evaluator(run, settings, problems.training, grader, Numbering())
    evaluator.units_ahead = plan(run.config).units
    stopped_by = await (gepa_search if settings.strategy == "gepa" else search)(evaluator)
    evaluator.units_ahead, search_calls = 0, evaluator.calls
    baseline = await best_seed(evaluator)
    baseline_calls = evaluator.calls - search_calls
    rival = evaluator.fork("r") if settings.random_baseline else None
    if rival is not None:
        await search_at_random(rival, search_calls)
    champion, drawn = evaluator.leader(), rival.leader() if rival else None
    marks = await examine(evaluator, [champion, baseline, *([drawn] if drawn else [])], problems.validation)
    champion_marks, baseline_marks = (marks[finalist.genome.key] for finalist in (champion, baseline))
    result = {
        "champion": portrait(champion, champion_marks, problems.training),
        "baseline": portrait(baseline, baseline_marks, problems.training),
        **compare(by_problem(champion_marks), by_problem(baseline_marks)),
        "stopped_by": stopped_by,
        "calls_saved_by_racing": evaluator.calls_saved,
        "search_calls": search_calls,
        "baseline_calls": baseline_calls,
        **rewrite_figures(evaluator),
        "random_search": None,
    }
    if rival and drawn:
        random_marks = marks[drawn.genome.key]
        result["random_search"] = {
            **portrait(drawn, random_marks, problems.training),
            "calls": rival.calls,
            **compare(by_problem(champion_marks), by_problem(random_marks)),
        }
    # How the champion did on each held-out problem, so that batches can be compared problem by problem.
    questions = sha256("\x1f".join(problem.question for problem in problems.validation).encode()).hexdigest()
    scores = [score(replies) for replies in by_problem(champion_marks)]
    run.ledger.put_finding(VALIDATION, {"problems": questions, "champion": scores})
    run.ledger.put_finding(RESULT, result)
    if evaluator.performance:
        evaluator.performance.write("what followed the search")
    run.reason = stopped_by


def rewrite_figures(evaluator: Evaluator) -> dict[str, Any]:
    """How many came back, and how many of them were refused for which reason."""
    refused = {reason: count for reason, count in evaluator.rewrites.most_common() if reason != ACCEPTED}
    if refused:
        evaluator.run.log("info", f"Rewrites refused: {counted_reasons(refused)}.")
    return {"rewrites": evaluator.rewrites.total(), "refused_rewrites": refused}
