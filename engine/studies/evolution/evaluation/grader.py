"""Asks problems: genomes × problems × models × samples as one stream of calls, as wide as the pace allows.

A call that failed for good is a gap in the marks, never a wrong answer, and nobody waits for it.
"""

from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from tidepool.engine.call import Call
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.config.sections import reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.prices import expected_tokens
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.evolution.asking import Asking
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluation.pace import pace_of
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.problems.problem_set import Problem, Split
from tidepool.engine.studies.evolution.tasks.given_reply import GivenReply
from tidepool.engine.studies.evolution.tasks.marking import Marker
from tidepool.engine.studies.evolution.tasks.task import AnswerTask
from tidepool.engine.studies.evolution.tasks.verdict import Unmarked, Verdict, kept
from tidepool.storage.states import FinishReason

T = TypeVar("T")


class Marked(NamedTuple):
    verdict: Verdict
    text: str


Marks = dict[str, list[list[Marked | None]]]
"""by model: for each problem of the paper its samples; None: that call failed, or its mark is missing"""

Kept = Mapping[str, Mapping[str, Any]]
"""the marks that the file has of a unit, by step: what was marked once stays marked so"""


@dataclass(frozen=True, slots=True)
class Paper:
    """What one genome is asked in one wave."""

    unit: Unit
    name: str
    """the genome's, e.g. g4.17"""
    genome: Genome
    questions: Sequence[tuple[int, Problem]]
    """each with its number in its split"""
    split: Split
    wave: int
    first_sample: int = 0


class Grader:
    def __init__(self, run: BatchRun, settings: EvolutionSettings, marker: Marker, search: Sequence[Problem]) -> None:
        self._run = run
        self._settings = settings
        self._marker = marker
        self.asking = Asking(AnswerTask(settings.task, tuple(settings.labels)), search)
        self.models = settings.solvers()
        self.waves = 2 if settings.judged else 1
        """that a sitting takes: replies, and a judge's marks of them"""

    def calls_for(self, problems: int) -> int:
        return problems * self._settings.calls_of_problem()

    async def mark(self, papers: Sequence[Paper]) -> list[Marks]:
        """The marks of each paper, in their order: all of them are one wave."""
        problems = sum(len(paper.questions) for paper in papers)
        for place, calls in enumerate(self._waves(problems)):
            self._run.expect_wave(papers[0].wave + place, calls)
        pace = pace_of(self._settings, gathers=self.gathers(problems))
        marked = (self._mark_one(paper, pace.calls_at_once) for paper in papers)
        return await self.together(marked, pace.genomes_at_once)

    def _waves(self, problems: int) -> Iterator[dict[str, int]]:
        """What a sitting asks, by model: solutions, then a judge's marks of them."""
        replies = problems * self._settings.samples
        yield dict.fromkeys(self.models, replies)
        if self._settings.judged:
            yield {resolve_model(self._settings.judge): replies * len(self.models)}

    def gathers(self, problems: int) -> bool:
        """Whether a wave of so many problems leaves through a batch API, of whichever model."""
        return any(
            self._run.gathers(provider, count)
            for wave in self._waves(problems)
            for provider, count in _by_provider(wave).items()
        )

    async def together(self, stories: Iterable[Awaitable[T]], at_once: int | None = None) -> list[T]:
        """All at once, or so many at a time; one by one where the study is asked to."""
        if at_once is None:
            at_once = None if self._settings.enable_async_evaluation else 1
        return await (self._run.all(stories) if at_once is None else self._run.lanes(stories, at_once))

    async def _mark_one(self, paper: Paper, at_once: int | None) -> Marks:
        kept = self._run.ledger.marks_of(paper.unit.number) if self._run.resumed else {}
        calls = (
            self._ask(paper, number, problem, model, paper.first_sample + sample, kept)
            for number, problem in paper.questions
            for model in self.models
            for sample in range(self._settings.samples)
        )
        return self._arranged(await self.together(calls, at_once), len(paper.questions))

    def _arranged(self, replies: list[Marked | None], problems: int) -> Marks:
        marks: Marks = {model: [] for model in self.models}
        left = iter(replies)
        for _ in range(problems):
            for model in self.models:
                marks[model].append(list(islice(left, self._settings.samples)))
        return marks

    async def _ask(
        self, paper: Paper, number: int, problem: Problem, model: str, sample: int, kept: Kept
    ) -> Marked | None:
        step = f"{paper.name}/p{number}/s{sample}"
        step = step if len(self.models) == 1 else f"{step}/{model}"
        reply = await self._answer(paper, problem, model, step)
        mark = reply and await self._mark(reply, problem, kept.get(step))
        if not paper.unit.settled:
            self._run.ledger.put_answer(
                paper.unit.number,
                step=step,
                generation=paper.genome.generation,
                genome_id=paper.genome.id,
                split=paper.split,
                problem=number,
                sample=sample,
                **(mark.columns() if mark else {}),
            )
        return Marked(mark, reply.text) if reply and isinstance(mark, Verdict) else None

    async def _mark(self, reply: GivenReply, problem: Problem, before: Mapping[str, Any] | None) -> Verdict | Unmarked:
        """What was marked stays marked so; a judge is asked all the same, which is a replay, or a second try where it failed."""
        mark = kept(before, reply.length) if before else None
        if mark and not self._settings.judged:
            return mark
        if (seals := self._run.context.run.seals) is not None:
            seals.refuse_unknown(reply.text)
        said = await self._marker.mark(reply, problem)
        return mark if isinstance(mark, Verdict) else said

    async def _answer(self, paper: Paper, problem: Problem, model: str, step: str) -> GivenReply | None:
        system, messages = self.asking.asked(paper.genome, problem)
        call = Call(
            step=step,
            wave=paper.wave,
            model=model,
            messages=messages,
            system=system,
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
        return GivenReply(reply.text, length, cut, paper.unit, step, paper.wave)


def _by_provider(calls: Mapping[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for model, count in calls.items():
        found[model.partition(":")[0]] += count
    return found
