"""A genome in the evaluator: what it was asked so far, and what that says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.evolution.evaluation.fitness import Fitness, Replies, Weights, fitness_of, overall
from tidepool.engine.studies.evolution.evaluation.grader import Marks
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.rewrites import MOST_FAILURES, FailedProblem
from tidepool.engine.studies.evolution.problems.problem_set import Problem


@dataclass(slots=True)
class Candidate:
    genome: Genome
    name: str
    """e.g. g4.17"""
    unit: Unit
    diversity: float
    """its distance to the rest of its generation"""
    spoken: str
    """prompt and examples: what counts as its length"""
    replies: dict[str, list[Replies]] = field(default_factory=dict)
    """by model, one entry for each problem it met"""
    failures: list[FailedProblem] = field(default_factory=list)
    """problems it got wrong, for a model that reflects"""
    asked: int = 0
    met: int = 0
    """problems it has met, in the order of its generation; each counts once"""
    looked_again: bool = False
    """it has met all of them once more"""
    by_model: Mapping[str, Fitness | None] = field(default_factory=dict)
    fitness: Fitness | None = None
    """None: nothing came back"""

    def take(self, marks: Marks, problems: Sequence[Problem], weights: Weights) -> None:
        for model, marked in marks.items():
            mine = self.replies.setdefault(model, [])
            for problem, samples in zip(problems, marked, strict=True):
                mine.append([sample and sample.verdict for sample in samples])
                self.asked += len(samples)
                wrong = (sample.text for sample in samples if sample and not sample.verdict.correct)
                text = next(wrong, None)
                if text is not None and len(self.failures) < MOST_FAILURES:
                    self.failures.append(FailedProblem(problem.question, problem.answer, text))
        self.by_model = {
            model: fitness_of(replies, self.spoken, self.diversity, weights) for model, replies in self.replies.items()
        }
        self.fitness = overall(list(self.by_model.values()))

    @property
    def total(self) -> float | None:
        return self.fitness.total if self.fitness else None

    @property
    def missing(self) -> float:
        return self.fitness.missing if self.fitness else 1.0

    def details(self) -> dict[str, Any]:
        """What the file keeps of it beside the contract's columns."""
        by_model = {
            model: fitness and {"fitness": fitness.total, "accuracy": fitness.accuracy}
            for model, fitness in self.by_model.items()
        }
        return {
            "unit": self.unit.number,
            "asked": self.asked,
            **({"examples": self.genome.examples} if self.genome.examples else {}),
            **(asdict(self.fitness) if self.fitness else {}),
            "by_model": by_model,
        }
