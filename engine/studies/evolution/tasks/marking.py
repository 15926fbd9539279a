"""Who marks the replies of a study: a task by its name, or a scorer of an installed package."""

from dataclasses import dataclass
from typing import Protocol

from tidepool.engine.registries import SCORERS
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.task import AnswerTask
from tidepool.engine.studies.evolution.tasks.verdict import Scorer, Verdict


class Marker(Protocol):
    def mark(self, reply: str, problem: Problem, length: int = 0, *, cut: bool = False) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class _ByScorer:
    scorer: Scorer

    def mark(self, reply: str, problem: Problem, length: int = 0, *, cut: bool = False) -> Verdict:
        return self.scorer(reply, problem.answer, length)


def marker_of(settings: EvolutionSettings) -> Marker:
    if settings.scorer:
        return _ByScorer(SCORERS.named(settings.scorer))
    return AnswerTask(settings.task, tuple(settings.labels))
