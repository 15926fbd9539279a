"""Who marks the replies of a study: a task by its name, a scorer of an installed package, or one of the user's own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from tidepool.engine.registries import SCORERS
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.code_run import CodeRuns
from tidepool.engine.studies.evolution.tasks.code_task import CodeMarker
from tidepool.engine.studies.evolution.tasks.given_reply import GivenReply
from tidepool.engine.studies.evolution.tasks.judge import JudgeMarker
from tidepool.engine.studies.evolution.tasks.own_scorer import allowed, own_scorer
from tidepool.engine.studies.evolution.tasks.scorer_process import ScorerMarker, ScorerProcess
from tidepool.engine.studies.evolution.tasks.task import AnswerTask
from tidepool.engine.studies.evolution.tasks.verdict import Scorer, Unmarked, Verdict


class Marker(Protocol):
    async def mark(self, reply: GivenReply, problem: Problem) -> Verdict | Unmarked: ...

    async def close(self) -> None: ...


class _AtOnce:
    """What marks within this process has nothing to close."""

    async def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _ByTask(_AtOnce):
    task: AnswerTask

    async def mark(self, reply: GivenReply, problem: Problem) -> Verdict:
        return self.task.mark(reply.text, problem, reply.length, cut=reply.cut)


@dataclass(frozen=True, slots=True)
class _ByScorer(_AtOnce):
    scorer: Scorer

    async def mark(self, reply: GivenReply, problem: Problem) -> Verdict:
        return self.scorer(reply.text, problem.answer, reply.length)


@asynccontextmanager
async def open_marker(run: BatchRun, settings: EvolutionSettings) -> AsyncIterator[Marker]:
    marker = _marker_of(run, settings)
    try:
        yield marker
    finally:
        await marker.close()


def _marker_of(run: BatchRun, settings: EvolutionSettings) -> Marker:
    if own := own_scorer(settings.scorer):
        process = ScorerProcess(allowed(own, settings.scorer_sha256), settings.marking_seconds)
        return ScorerMarker(process, settings.pass_mark, lambda words: run.log("warning", words))
    if settings.scorer:
        return _ByScorer(SCORERS.named(settings.scorer))
    if settings.judged:
        return JudgeMarker(settings)
    if settings.task == "python":
        return CodeMarker(CodeRuns(settings.marking_seconds))
    return _ByTask(AnswerTask(settings.task, tuple(settings.labels)))
