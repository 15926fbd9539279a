"""The final test of an evolution: compares the champion with the best seed prompt on held-out problems.

1. `best_seed` evaluates every seed prompt as carefully as the champion. A race drops a seed after a few problems, so a
   comparison with the remaining seed would overstate the gain.
2. `examine` asks the finalists the held-out problems, and `compare` tests the differences.

The interval of right or wrong answers is Wilson's. With several replies per problem it is that of a rate over problems. Graded
scores have Student's interval over problems. Two prompts are compared problem by problem, with Student's interval, or Bonett and
Price's if few differ. A reply without a readable answer is neither right nor wrong here. It is left out, with bounds for the
cases that all such replies are wrong or right. A verdict must hold, with its test, also if all of them count against it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from tidepool.engine.inference.contrasts import SIGNIFICANT, interval_of_mean
from tidepool.engine.inference.intervals import UNIT, Interval, interval_over, wilson
from tidepool.engine.inference.significance import corrected
from tidepool.engine.studies.evolution.breeding import SEED, seeds_of
from tidepool.engine.studies.evolution.evaluator import FIRST_RUNG, NOTHING_ANSWERED, Candidate, Evaluator, Rung, rungs
from tidepool.engine.studies.evolution.fitness import Replies, mean_metrics
from tidepool.engine.studies.evolution.grader import Marks, Paper
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.records import HeldOutScores, compared_scores
from tidepool.engine.studies.evolution.tasks.verdict import Verdict
from tidepool.engine.studies.evolution.variation import elites


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The result of one prompt on the held-out problems."""

    accuracy: float | None
    """None: no answer could be read"""
    ci95: Interval | None
    problems: int
    """with at least one readable answer"""
    missing: float
    """share of requests that failed"""
    unclear: float | None = None
    """share of replies without a readable answer; None: no replies"""
    bounds: Interval | None = None
    """bounds of the accuracy, if all unclear replies were wrong, or right"""


def compare(champion: Sequence[Replies], others: Sequence[Sequence[Replies]]) -> list[dict[str, Any]]:
    """The champion against each of the others: one family, with Holm's correction. Replies are by problem, in the same order.

    `better` is `None` if the difference is not significant, or if unclear replies could reverse it. `p_value` is `None` if too
    few problems have replies for both."""
    ours = scores_of(champion)
    found = [_compared(ours, scores_of(other)) for other in others]
    family = (corrected([one[name] for one in found]) for name in ("p_value", "p_value_bounded"))
    for one, p_value, bounded in zip(found, *family, strict=True):
        better = "champion" if one["difference"] > 0 else "baseline"
        told_apart = bounded is not None and bounded <= SIGNIFICANT
        one |= {"p_value_holm": p_value, "better": better if told_apart else None}
        del one["p_value_bounded"]
    return found


def _compared(champion: HeldOutScores, baseline: HeldOutScores) -> dict[str, Any]:
    found = compared_scores(champion, baseline)
    if found is None:
        nothing = dict.fromkeys(("p_value", "p_value_bounded", "difference_ci95", "difference_bounds"))
        return {**nothing, "difference": 0.0, "pairs": 0}
    both = enumerate(zip(champion.known, baseline.known, strict=True))
    gaps = {problem: one - other for problem, (one, other) in both if one is not None and other is not None}
    return {
        **found.as_json(),
        "pairs": found.known.clusters,
        "won": [problem for problem, gap in gaps.items() if gap > 0],
        "lost": [problem for problem, gap in gaps.items() if gap < 0],
    }


def scores_of(problems: Sequence[Replies]) -> HeldOutScores:
    known, lowest, highest = ([score(replies, unclear) for replies in problems] for unclear in (None, 0.0, 1.0))
    return HeldOutScores(known, lowest, highest)


def held_out(problems: Sequence[Replies]) -> HeldOut:
    scores, lowest, highest = ([share for share in one if share is not None] for one in scores_of(problems))
    samples = sum(map(len, problems))
    replies = [reply for group in problems for reply in group if reply is not None]
    missing = 1 - len(replies) / samples if samples else 0.0
    if not replies:
        return HeldOut(None, None, 0, missing)
    unclear = fmean(reply.correct is None for reply in replies)
    accuracy, bounds = fmean(scores) if scores else None, (fmean(lowest), fmean(highest))
    return HeldOut(accuracy, _interval(scores, replies), len(scores), missing, unclear, bounds)


def _interval(scores: Sequence[float], replies: Sequence[Verdict]) -> Interval | None:
    """The interval of a problem's mean score."""
    if any(reply.worth not in (0, 1) for reply in replies):
        return interval_of_mean(scores, UNIT)
    if len(scores) == sum(reply.correct is not None for reply in replies):
        return wilson(fmean(scores), len(scores)) if scores else None
    return interval_over((sum(scores), len(scores)), [(share, 1) for share in scores], UNIT)


def score(replies: Replies, unclear: float | None = None) -> float | None:
    """The share of right answers to one problem among its replies, or the mean score. Unclear replies get the value `unclear`;
    None leaves them out."""
    worths = [unclear if reply.correct is None else reply.worth for reply in replies if reply is not None]
    known = [worth for worth in worths if worth is not None]
    return fmean(known) if known else None


LEAST_SHARE = 4
"""a seed gets at least one in this many problems"""
WHY = "seed_final"


async def best_seed(evaluator: Evaluator) -> Candidate:
    if not evaluator.settings.seed_final:
        return evaluator.leader(SEED)
    seeds = seeds_of(evaluator.settings)
    opened = {seed.name: seed for seed in evaluator.admit(seeds, purpose=WHY)}
    field = [evaluator.known[genome.prompt] for genome in seeds]
    for rung in seed_rungs(len(evaluator.problems), len(field), evaluator.settings.racing):
        assignments = [(seed, places) for seed in field if (places := _remaining_problems(evaluator, seed, rung))]
        for seed, _ in assignments:
            if seed.name not in opened:
                evaluator.reopen(seed, WHY)
                opened[seed.name] = seed
        if assignments:
            await evaluator.evaluate(assignments, rung.look)
        scores = evaluator.scores([seed.genome for seed in field])
        field = [field[index] for index in elites(scores, rung.keep)]
    for seed in opened.values():
        evaluator.close(seed)
    return evaluator.leader(SEED)


def seed_rungs(problems: int, seeds: int, racing: bool) -> tuple[Rung, ...]:
    return rungs(problems, seeds, racing, first=max(FIRST_RUNG, problems // LEAST_SHARE))


def _remaining_problems(evaluator: Evaluator, candidate: Candidate, rung: Rung) -> Sequence[int]:
    """Seeds got the problems in the order of the first generation, up to the point where they dropped out."""
    order = evaluator.order(0)
    if rung.look:
        return [] if candidate.looked_again else order
    return order[candidate.problems_done : rung.end]


NAME = "validation"


async def examine(
    evaluator: Evaluator, finalists: Sequence[Candidate], problems: Sequence[Problem]
) -> dict[str, Marks]:
    """All of them in one wave; a duplicate prompt is asked once. The marks are by prompt."""
    genomes = {candidate.genome.prompt: candidate.genome for candidate in finalists}
    units = [
        evaluator.run.open_unit(evaluator.numbering.next_unit(), participants=(genome.id,), interaction_type=NAME)
        for genome in genomes.values()
    ]
    evaluator.run.expect_units(evaluator.numbering.units)
    wave = evaluator.numbering.next_wave(evaluator.grader.waves)
    questions = list(enumerate(problems))
    sitting = zip(units, genomes.values(), strict=True)
    papers = [Paper(unit, NAME, genome, questions, "judge", wave) for unit, genome in sitting]
    marks = await evaluator.grader.mark(papers)
    for unit, marked in zip(units, marks, strict=True):
        answered = any(sample for by_problem in marked.values() for samples in by_problem for sample in samples)
        evaluator.run.close_unit(unit, None if answered else NOTHING_ANSWERED)
    return dict(zip(genomes, marks, strict=True))


def portrait(candidate: Candidate, marks: Marks) -> dict[str, Any]:
    """One prompt as in the JSON summary, with its results by model."""
    outcome = held_out(by_problem(marks))
    genome, fitness = candidate.genome, candidate.fitness
    models = {}
    for model, marked in marks.items():
        trained, held = candidate.by_model.get(model), held_out(by_problem({model: marked}))
        models[model] = {
            "fitness": trained.total if trained else None,
            "accuracy": trained.accuracy if trained else None,
            "validation_accuracy": held.accuracy,
            "validation_ci95": held.ci95,
        }
    return {
        "prompt": genome.prompt,
        "fitness": fitness.total if fitness else None,
        "accuracy": fitness.accuracy if fitness else None,
        "validation_accuracy": outcome.accuracy,
        "validation_ci95": outcome.ci95,
        "validation_problems": outcome.problems,
        "validation_missing": outcome.missing,
        "unclear": outcome.unclear,
        "accuracy_bounds": outcome.bounds,
        "missing": candidate.missing,
        "genome_id": genome.id,
        "generation": genome.generation,
        "operator": genome.operator,
        "components": asdict(fitness) if fitness else None,
        "models": models,
        "metrics": _metrics(marks) or None,
    }


def _metrics(marks: Marks) -> dict[str, Any]:
    """The other metrics of a scorer, by name, with Student's interval over problems, which are the units."""
    values: dict[str, list[float]] = {}
    for replies in by_problem(marks):
        for name, value in mean_metrics(reply for reply in replies if reply is not None).items():
            values.setdefault(name, []).append(value)
    return {name: {"value": fmean(scores), "ci95": interval_of_mean(scores)} for name, scores in values.items()}


def by_problem(marks: Marks) -> list[Replies]:
    """The replies to each problem, of all models together: they correlate more than replies to different problems."""
    return [
        [sample and sample.verdict for samples in of_problem for sample in samples]
        for of_problem in zip(*marks.values(), strict=True)
    ]
