"""The honest end: champion and best seed prompt meet problems that chose neither of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean, variance
from typing import Any

from tidepool.engine.call import expected_tokens, seed_of
from tidepool.engine.statistics.contrasts import student
from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.evaluation.evaluator import NOTHING_ANSWERED, Evaluator
from tidepool.engine.studies.evolution.evaluation.fitness import Replies, consistency, efficiency, mean_metrics
from tidepool.engine.studies.evolution.evaluation.grader import Marks, Paper
from tidepool.engine.studies.evolution.evaluation.objectives import Objective
from tidepool.engine.studies.evolution.evaluation.validation import compare, held_out
from tidepool.engine.studies.evolution.problems.problem_set import Problem, Split
from tidepool.engine.studies.evolution.tasks.verdict import Verdict

Validated = Mapping[str, Marks]
"""by key"""


async def validated(evaluator: Evaluator, finalists: Sequence[Candidate], problems: Sequence[Problem]) -> Validated:
    return await examined(evaluator, finalists, problems, "judge", "validation")


async def examined(
    evaluator: Evaluator, finalists: Sequence[Candidate], problems: Sequence[Problem], split: Split, name: str
) -> Validated:
    """All of them in one wave; a prompt that is there twice is asked once."""
    genomes = {one.genome.key: one.genome for one in finalists}
    units = [
        evaluator.run.open_unit(evaluator.numbering.next_unit(), participants=(genome.id,), interaction_type=name)
        for genome in genomes.values()
    ]
    evaluator.run.expect_units(evaluator.numbering.units)
    wave = evaluator.numbering.next_wave(evaluator.grader.waves)
    questions = list(enumerate(problems))
    sitting = zip(units, genomes.values(), strict=True)
    papers = [Paper(unit, name, genome, questions, split, wave) for unit, genome in sitting]
    marks = await evaluator.grader.mark(papers)
    for unit, marked in zip(units, marks, strict=True):
        answered = any(sample for by_problem in marked.values() for samples in by_problem for sample in samples)
        evaluator.run.close_unit(unit, None if answered else NOTHING_ANSWERED)
    return dict(zip(genomes, marks, strict=True))


def portrait(candidate: Candidate, marks: Marks, problems: Sequence[Problem]) -> dict[str, Any]:
    """One prompt as the contract shows it, with its figures by model. `problems` are those of the search."""
    outcome = held_out(by_problem(marks))
    genome, fitness = candidate.genome, candidate.fitness
    models = {}
    for model, marked in marks.items():
        trained, alone = candidate.by_model.get(model), held_out(by_problem({model: marked}))
        models[model] = {
            "fitness": trained.total if trained else None,
            "accuracy": trained.accuracy if trained else None,
            "validation_accuracy": alone.accuracy,
            "validation_ci95": alone.ci95,
        }
    return {
        "prompt": genome.prompt,
        "examples": [{"question": problems[one].question, "answer": problems[one].answer} for one in genome.examples],
        "length": {"words": len(candidate.spoken.split()), "tokens": expected_tokens(candidate.spoken)},
        "fitness": fitness.total if fitness else None,
        "accuracy": fitness.accuracy if fitness else None,
        "validation_accuracy": outcome.accuracy,
        "validation_ci95": outcome.ci95,
        "validation_problems": outcome.problems,
        "validation_missing": outcome.missing,
        "missing": candidate.missing,
        "genome_id": genome.id,
        "generation": genome.generation,
        "operator": genome.operator,
        "components": asdict(fitness) if fitness else None,
        "models": models,
        "metrics": _metrics(marks) or None,
    }


def front_portraits(
    front: Sequence[Candidate], objectives: Sequence[Objective], marks: Validated
) -> list[dict[str, Any]]:
    """Each with its objectives as the search measured them, and on the held-out problems with their intervals."""
    return [
        {
            "genome_id": one.genome.id,
            "prompt": one.genome.prompt,
            "generation": one.genome.generation,
            "objectives": {goal.name: goal.measured(one.fitness) for goal in objectives},
            "held_out": {goal.name: _held_out(goal, marks[one.genome.key], one) for goal in objectives},
        }
        for one in front
    ]


def _held_out(goal: Objective, marks: Marks, one: Candidate) -> dict[str, Any]:
    """Of what does not differ by problem there is one figure."""
    if goal.name == "accuracy":
        found = held_out(by_problem(marks))
        return {"value": found.accuracy, "ci95": found.ci95}
    if goal.name in ("words", "diversity"):
        return {"value": goal.measured(one.fitness), "ci95": None}
    return _over_problems(goal.name, marks)


def _metrics(marks: Marks) -> dict[str, Any]:
    """What a scorer measured beside its score, by name."""
    named = (name for replies in by_problem(marks) for reply in replies if reply for name in reply.metrics)
    return {name: _over_problems(name, marks) for name in dict.fromkeys(named)}


def _over_problems(name: str, marks: Marks) -> dict[str, Any]:
    """Student's interval over problems, which are the units."""
    replies = [[reply for reply in of_problem if reply is not None] for of_problem in by_problem(marks)]
    values = [value for of_problem in replies if of_problem and (value := _measured(name, of_problem)) is not None]
    if len(values) < 2:
        return {"value": values[0] if values else None, "ci95": None}
    spread = student("student", len(values), fmean(values), variance(values) / len(values), len(values) - 1)
    return {"value": spread.difference, "ci95": spread.interval}


def _measured(name: str, replies: Sequence[Verdict]) -> float | None:
    """Of one problem."""
    match name:
        case "tokens":
            return fmean(reply.length for reply in replies)
        case "efficiency":
            return efficiency(fmean(reply.length for reply in replies))
        case "consistency":
            return consistency([replies])
    return mean_metrics(replies).get(name)


def comparison(ours: Marks, theirs: Marks, seed: int) -> dict[str, Any]:
    """Paired by problem."""
    compared = compare(by_problem(ours), by_problem(theirs), seed_of(seed, "comparison") & 0xFFFFFFFF)
    return {
        "p_value": compared.p_value,
        "difference": compared.difference,
        "pairs": compared.pairs,
        "better": compared.better,
    }


def by_problem(marks: Marks) -> list[Replies]:
    """The replies to each problem, of all models together: they resemble each other more than other problems'."""
    return [
        [sample and sample.verdict for samples in of_problem for sample in samples]
        for of_problem in zip(*marks.values(), strict=True)
    ]
