"""Asks a model the problems under a prompt, and scores the replies."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from tidepool.engine.call import Call, Message, expected_tokens
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.registries import SCORERS
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.genome import Genome, fill_template, parts
from tidepool.engine.studies.evolution.problems.problem_set import Problem, Split
from tidepool.engine.studies.evolution.tasks.judge import judge_reply
from tidepool.engine.studies.evolution.tasks.scorer import ScorerMarker, allowed_scorer, is_own
from tidepool.engine.studies.evolution.tasks.task import AnswerTask, task_of
from tidepool.engine.studies.evolution.tasks.verdict import Scorer, SolverReply, Unmarked, Verdict, stored_verdict
from tidepool.engine.studies.evolution.width import pace_of
from tidepool.storage import tables
from tidepool.storage.states import FinishReason

T = TypeVar("T")


class MarkedReply(NamedTuple):
    verdict: Verdict
    text: str


Marks = dict[str, list[list[MarkedReply | None]]]
"""by model, the samples of each problem of the paper; None: the request failed, or its score is missing"""

StoredMarks = Mapping[str, Mapping[str, Any]]
"""stored marks of a unit, by step: a stored mark is never replaced"""


@dataclass(frozen=True, slots=True)
class Paper:
    """The problems for one genome in one wave."""

    unit: Unit
    name: str
    """the genome's name, e.g. g4.17"""
    genome: Genome
    questions: Sequence[tuple[int, Problem]]
    """each with its number in its split"""
    split: Split
    wave: int
    first_sample: int = 0


Mark = Callable[[SolverReply, Problem], Awaitable[Verdict | Unmarked]]
"""scores one reply"""


@asynccontextmanager
async def open_marker(run: BatchRun, settings: EvolutionSettings) -> AsyncIterator[Mark]:
    if not is_own(settings.scorer):
        yield _mark_of(settings)
        return
    found, warn = allowed_scorer(settings), partial(run.log, "warning")
    marker = ScorerMarker(found, settings.marking_seconds, settings.pass_mark, warn)
    try:
        yield marker.mark
    finally:
        await marker.close()


def _mark_of(settings: EvolutionSettings) -> Mark:
    if settings.scorer:
        scorer: Scorer = SCORERS.named(settings.scorer)

        async def mark(reply: SolverReply, problem: Problem) -> Verdict:
            return scorer(reply.text, problem.answer, reply.length)

        return mark
    return partial(judge_reply, settings) if settings.judged else partial(_read_reply, settings, task_of(settings))


async def _read_reply(settings: EvolutionSettings, task: AnswerTask, reply: SolverReply, problem: Problem) -> Verdict:
    """Compares the answer that it reads with the expected one. A judge may score replies without a readable answer."""
    verdict = task.mark(reply.text, problem, reply.length, cut=reply.cut)
    if verdict.correct is not None or not settings.judges_unclear:
        return verdict
    judgement = await judge_reply(settings, reply, problem)
    if isinstance(judgement, Unmarked):
        return replace(verdict, unclear=f"{verdict.unclear}; {judgement.why}")
    return replace(verdict, correct=judgement.correct)


UNCLEAR_SHARE = 0.03
"""expected share of replies without a readable answer, which a judge scores"""


class Grader:
    def __init__(self, run: BatchRun, settings: EvolutionSettings, mark: Mark) -> None:
        self._run = run
        self._settings = settings
        self._mark_reply = mark
        self._task = task_of(settings)
        self.models = settings.solvers()
        self.waves = 2 if settings.judged or settings.judges_unclear else 1
        """waves per evaluation: replies, and a judge's scores of them"""

    def calls_for(self, problems: int, *, most: bool = False) -> int:
        """Excludes requests to a judge of unclear replies, unless the maximum is requested."""
        return problems * self._settings.calls_of_problem(most=most)

    def unclear_judged(self, marked: Iterable[Marks]) -> int:
        """How many replies a judge scored because no answer could be read."""
        if not self._settings.judges_unclear:
            return 0
        samples = (sample for marks in marked for rows in marks.values() for row in rows for sample in row)
        return sum(sample is not None and sample.verdict.unclear != "" for sample in samples)

    async def mark(self, papers: Sequence[Paper]) -> list[Marks]:
        """The marks of each paper, in their order; all papers form one wave."""
        problems = sum(len(paper.questions) for paper in papers)
        for place, calls in enumerate(self._waves(problems)):
            self._run.expect_wave(papers[0].wave + place, calls)
        genomes_at_once, calls_at_once = pace_of(self._settings, gathers=self.gathers(problems))
        return await self.together((self._mark_one(paper, calls_at_once) for paper in papers), genomes_at_once)

    def _waves(self, problems: int) -> Iterator[dict[str, int]]:
        """The requests of an evaluation, by model: solutions, then a judge's scores of them."""
        replies = problems * self._settings.samples
        yield dict.fromkeys(self.models, replies)
        if self.waves > 1:
            share = 1.0 if self._settings.judged else UNCLEAR_SHARE
            yield {resolve_model(self._settings.judge): round(share * replies * len(self.models))}

    def gathers(self, problems: int) -> bool:
        """Whether a wave of so many problems uses a batch API, for any model."""
        for wave in self._waves(problems):
            by_provider: Counter[str] = Counter()
            for model, count in wave.items():
                by_provider[model.partition(":")[0]] += count
            if any(self._run.gathers(provider, count) for provider, count in by_provider.items()):
                return True
        return False

    async def together(self, stories: Iterable[Awaitable[T]], at_once: int | None = None) -> list[T]:
        """All at once, or at most `at_once` at a time; one by one if the study requires it."""
        if at_once is None:
            at_once = None if self._settings.enable_async_evaluation else 1
        return await (self._run.all(stories) if at_once is None else self._run.lanes(stories, at_once))

    async def _mark_one(self, paper: Paper, at_once: int | None) -> Marks:
        stored = self._run.ledger.marks_of(paper.unit.number) if self._run.resumed else {}
        calls = (
            self._ask(paper, number, problem, model, paper.first_sample + sample, stored)
            for number, problem in paper.questions
            for model in self.models
            for sample in range(self._settings.samples)
        )
        replies = iter(await self.together(calls, at_once))
        marks: Marks = {model: [] for model in self.models}
        for _ in paper.questions:
            for model in self.models:
                marks[model].append(list(islice(replies, self._settings.samples)))
        return marks

    async def _ask(
        self, paper: Paper, number: int, problem: Problem, model: str, sample: int, stored: StoredMarks
    ) -> MarkedReply | None:
        step = f"{paper.name}/p{number}/s{sample}"
        step = step if len(self.models) == 1 else f"{step}/{model}"
        reply = await self._answer(paper, problem, model, step)
        mark = reply and await self._mark(reply, problem, stored.get(step))
        if not paper.unit.settled:
            self._run.ledger.put(
                tables.Answer,
                paper.unit.number,
                step=step,
                generation=paper.genome.generation,
                genome_id=paper.genome.id,
                split=paper.split,
                problem=number,
                sample=sample,
                **(mark.columns() if mark else {}),
            )
        return MarkedReply(mark, reply.text) if reply and isinstance(mark, Verdict) else None

    async def _mark(self, reply: SolverReply, problem: Problem, before: Mapping[str, Any] | None) -> Verdict | Unmarked:
        """Keeps stored marks. A judge is still asked, which is a replay, or a retry after a failure."""
        mark = stored_verdict(before, reply.length) if before else None
        read = isinstance(mark, Verdict) and not mark.unclear
        if mark and not self._settings.judged and (read or not self._settings.judges_unclear):
            return mark
        if (seals := self._run.context.run.seals) is not None:
            seals.refuse_unknown(reply.text)
        verdict = await self._mark_reply(reply, problem)
        return mark if isinstance(mark, Verdict) and mark.correct is not None else verdict

    async def _answer(self, paper: Paper, problem: Problem, model: str, step: str) -> SolverReply | None:
        system, user = parts(paper.genome.prompt)
        call = Call(
            step=step,
            wave=paper.wave,
            model=model,
            messages=(Message("user", self._task.message(fill_template(user, problem), problem)),),
            system=fill_template(system, problem),
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            **reasoning_of(self._settings),
        )
        try:
            reply = await paper.unit.ask(call)
        except CallFailed:
            return None
        length = reply.output_tokens or expected_tokens(reply.text)
        cut = reply.finish_reason == FinishReason.CUT
        return SolverReply(reply.text, length, cut, paper.unit, step, paper.wave)
