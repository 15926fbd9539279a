"""The honest end: champion and best seed prompt meet problems that chose neither of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tidepool.engine.streams import seed_of
from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.evaluation.evaluator import NOTHING_ANSWERED, Evaluator
from tidepool.engine.studies.evolution.evaluation.fitness import Replies
from tidepool.engine.studies.evolution.evaluation.grader import Marks, Paper
from tidepool.engine.studies.evolution.evaluation.validation import compare, held_out
from tidepool.engine.studies.evolution.problems.problem_set import Problem

Validated = Mapping[str, Marks]
"""by prompt"""


async def validated(evaluator: Evaluator, finalists: Sequence[Candidate], problems: Sequence[Problem]) -> Validated:
    """All of them in one wave; a prompt that is there twice is asked once."""
    genomes = {one.genome.prompt: one.genome for one in finalists}
    units = [
        evaluator.run.open_unit(
            evaluator.numbering.next_unit(), participants=(genome.id,), interaction_type="validation"
        )
        for genome in genomes.values()
    ]
    evaluator.run.expect_units(evaluator.numbering.units)
    wave = evaluator.numbering.next_wave()
    questions = list(enumerate(problems))
    sitting = zip(units, genomes.values(), strict=True)
    papers = [Paper(unit, "validation", genome, questions, "judge", wave) for unit, genome in sitting]
    marks = await evaluator.grader.mark(papers)
    for unit, marked in zip(units, marks, strict=True):
        answered = any(sample for by_problem in marked.values() for samples in by_problem for sample in samples)
        evaluator.run.close_unit(unit, None if answered else NOTHING_ANSWERED)
    return dict(zip(genomes, marks, strict=True))


def portrait(candidate: Candidate, marks: Marks) -> dict[str, Any]:
    """One prompt as the contract shows it, with its figures by model."""
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
    }


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
