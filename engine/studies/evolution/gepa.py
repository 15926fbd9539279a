"""GEPA (the package of that name, an extra) on the same problems and with the same budget as the other strategies.

GEPA has no generations: it reflects on a few prompts at a time and keeps a Pareto front. Here a generation is as many requests
as a generation of the genetic strategy, so that budgets, stop rules and plots mean the same. The seeds are raced first, as in
all strategies, and GEPA starts from the best of them. No reply is requested twice: a parent's answers in a minibatch are known
from its full evaluation.

The package cannot wait asynchronously, so it runs in a thread and passes each of its questions to the task of the study
(`lead`). That task counts as busy while the thread computes, so waves stay exact. A question is answered before the thread
continues, so a replay makes the same requests in the same order.

GEPA requires a number for every problem. A failed request is not a wrong answer, so it gets the mean of the other results in
its batch. Without any results there is nothing to reflect on, and a child without replies is not accepted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from threading import Event
from typing import Any, cast

from tidepool.engine.call import seed_of
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.breeding import Breeding, founders, material_of, reflected, rewrite_by_model
from tidepool.engine.studies.evolution.evaluator import Candidate, Evaluator
from tidepool.engine.studies.evolution.final_test import by_problem, score
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.grader import Marks
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.rewrites import FailedProblem

MINIBATCH = 3
"""problems per reflection, GEPA's default"""


@dataclass(frozen=True, slots=True)
class Exam:
    """Answered with a Result for each place."""

    prompt: str
    places: tuple[int, ...]
    """of the training problems"""


@dataclass(frozen=True, slots=True)
class Result:
    share: float | None
    """share of right replies; None: no replies"""
    failure: FailedProblem | None = None


@dataclass(frozen=True, slots=True)
class Reflection:
    """Answered with a new prompt, or None."""

    prompt: str
    failures: tuple[FailedProblem, ...]


Question = tuple[Exam, ...] | tuple[Reflection, ...] | None
"""several questions of one kind get as many answers. None is asked between two iterations, and answered with the number of
proposals to make now, or 0 at the end of the search"""


Ask = Callable[[Any], Any]


_LOOK_SECONDS = 0.2
"""seconds after which a waiting thread checks whether the run is over"""


class SearchEnded(BaseException):
    """The run is over, so the thread must unwind. Libraries do not catch it as an ordinary error."""


async def lead(work: Callable[[Ask], None], answer: Callable[[Any], Awaitable[Any]]) -> None:
    """Runs `work` in a thread to its end. `answer` answers its questions in this task."""
    loop, ended = asyncio.get_running_loop(), Event()
    questions: asyncio.Queue[tuple[Any, Future[Any]] | None] = asyncio.Queue()

    def ask(question: Any) -> Any:
        reply: Future[Any] = Future()
        if not ended.is_set():
            loop.call_soon_threadsafe(questions.put_nowait, (question, reply))
        while not ended.is_set():
            with suppress(TimeoutError):
                return reply.result(_LOOK_SECONDS)
        raise SearchEnded

    def run() -> None:
        try:
            work(ask)
        except SearchEnded:
            pass
        finally:
            if not ended.is_set():
                loop.call_soon_threadsafe(questions.put_nowait, None)

    thread = asyncio.create_task(asyncio.to_thread(run))
    try:
        while (entry := await questions.get()) is not None:
            question, reply = entry
            reply.set_result(await answer(question))
        await thread
    finally:
        ended.set()


_PROMPT = "prompt"
_Dataset = Mapping[str, Sequence[Mapping[str, Any]]]


def optimise(ask: Ask, start: str, problems: int, seed: int) -> None:
    """Optimises from one prompt until no more proposals are allowed. Prints nothing and writes no file."""
    from gepa import optimize
    from gepa.strategies.proposal_sampling import IndependentSampling

    sampling = IndependentSampling(1)

    def stopped(state: Any) -> bool:
        """Called before each iteration: asks how many proposals to make."""
        sampling.n = ask(None)
        return not sampling.n

    optimize(
        seed_candidate={_PROMPT: start},
        trainset=list(range(problems)),
        adapter=_Adapter(ask),
        reflection_strategy=_Reflector(ask),
        sampling_strategy=sampling,
        reflection_minibatch_size=MINIBATCH,
        stop_callbacks=stopped,
        logger=_NullLogger(),
        track_best_outputs=False,
        seed=seed,
    )


class _Adapter:
    propose_new_texts = None

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        return self.batch_evaluate([(candidate, batch)], capture_traces)[0]

    def batch_evaluate(self, items: list[tuple[dict[str, str], list[int]]], capture_traces: bool = True) -> list[Any]:
        """Sends all of them as one question, and so as one wave."""
        exams = tuple(Exam(candidate[_PROMPT], tuple(batch)) for candidate, batch in items)
        return [self._judged(results, capture_traces) for results in self._ask(exams)]

    def _judged(self, results: list[Result], capture_traces: bool) -> Any:
        from gepa import EvaluationBatch

        answered = [result.share for result in results if result.share is not None]
        mean = fmean(answered) if answered else 0.0
        return EvaluationBatch(
            outputs=results,
            scores=[mean if result.share is None else result.share for result in results],
            trajectories=(results if answered else []) if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> _Dataset:
        return {_PROMPT: [asdict(result.failure) for result in eval_batch.trajectories if result.failure]}


class _Reflector:
    """GEPA's reflections, those of an iteration together. An unusable reflection gives no text, and no child."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def reflect(self, candidate: dict[str, str], dataset: _Dataset, components: list[str]) -> tuple[Any, "_Reflector"]:
        return self.reflect_many([(candidate, dataset, components)])[0]

    def reflect_many(self, jobs: list[tuple[dict[str, str], _Dataset, list[str]]]) -> list[tuple[Any, "_Reflector"]]:
        from gepa.proposer.reflective_mutation.reflection_lm import ReflectionProposal

        reflections = tuple(
            Reflection(candidate[_PROMPT], tuple(FailedProblem(**record) for record in dataset[_PROMPT]))
            for candidate, dataset, _ in jobs
        )
        texts: list[str | None] = self._ask(reflections)
        return [(ReflectionProposal({} if text is None else {_PROMPT: text}), self) for text in texts]


class _NullLogger:
    def log(self, message: str) -> None: ...


NEEDS_EXTRA = 'evolution.strategy = "gepa" needs the extra `gepa`: pip install "tidepool-lab[gepa]"'
SMALL_WAVES = (
    "GEPA sends a few requests at a time and waits for the replies, which takes long with a batch API. "
    'service.name = "live" is faster.'
)
MOST_IDLE = 50
"""iterations without a single request: all problems that GEPA samples are solved"""


async def gepa_search(evaluator: Evaluator) -> str:
    require_extra()
    await evaluator.judge(founders(evaluator, material_of(evaluator.settings)))
    return evaluator.stopped() or await GepaSearch(evaluator).run()


def require_extra() -> None:
    from importlib.util import find_spec

    if find_spec("gepa") is None:
        raise UsageError(NEEDS_EXTRA, ("evolution", "strategy"))


class GepaSearch:
    """Answers GEPA's questions, and records its generations."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._results: dict[str, dict[int, Result]] = {}
        """by prompt and place"""
        self._open: dict[str, Candidate] = {}
        """those of the current iteration, by prompt"""
        self._entrants: list[Candidate] = []
        """proposals of this generation"""
        self._proposals = 0
        self._ends = evaluator.calls + self._calls_of_generation()
        """number of requests at which this generation is over"""
        self._seen = evaluator.calls
        self._idle = 0
        self._rule = ""

    async def run(self) -> str:
        evaluator, start = self._evaluator, self._evaluator.leader()
        if evaluator.grader.gathers(MINIBATCH * (evaluator.settings.proposals)) and not evaluator.run.resumed:
            evaluator.run.log("warning", SMALL_WAVES)
        evaluator.reopen(start, "genome")
        self._open[start.genome.prompt] = start

        def work(ask: Ask) -> None:
            optimise(ask, start.genome.prompt, len(evaluator.problems), seed_of(evaluator.run.seed, "gepa"))

        await lead(work, self._answer)
        return self._rule

    async def _answer(self, question: Question) -> Any:
        match question:
            case None:
                return self._turn()
            case (Exam(), *_):
                return await self._examine(cast(tuple[Exam, ...], question))
        return await self._reflect(cast(tuple[Reflection, ...], question))

    async def _examine(self, exams: Sequence[Exam]) -> list[list[Result]]:
        """Requests all unknown results together. Only the first prompt, which raced as a seed, is requested separately."""
        missing: dict[str, dict[int, None]] = {}
        for exam in exams:
            known = self._results.setdefault(exam.prompt, {})
            missing.setdefault(exam.prompt, {}).update({place: None for place in exam.places if place not in known})
        sittings = [(self._open[prompt], list(places)) for prompt, places in missing.items() if places]
        for look in (0, 1):
            await self._evaluate([one for one in sittings if int(one[0].genome.generation == 0) == look], look)
        return [[self._results[exam.prompt][place] for place in exam.places] for exam in exams]

    async def _evaluate(self, assignments: Sequence[tuple[Candidate, list[int]]], look: int) -> None:
        marked = await self._evaluator.evaluate(assignments, look) if assignments else []
        for (candidate, places), marks in zip(assignments, marked, strict=True):
            scored = results(marks, [self._evaluator.problems[place] for place in places])
            self._results[candidate.genome.prompt] |= dict(zip(places, scored, strict=True))

    async def _reflect(self, reflections: Sequence[Reflection]) -> list[str | None]:
        evaluator, wave = self._evaluator, self._evaluator.numbering.next_wave()
        evaluator.run.expect_wave(wave, {resolve_model(evaluator.settings.mutator): len(reflections)})
        first = self._proposals
        self._proposals += len(reflections)
        genomes = await evaluator.grader.together(
            self._proposal(reflection, place, wave) for place, reflection in enumerate(reflections, first)
        )
        return [self._admitted(genome, place) for place, genome in enumerate(genomes, first)]

    async def _proposal(self, reflection: Reflection, place: int, wave: int) -> Genome:
        evaluator, generation = self._evaluator, len(self._evaluator.history)
        child = reflected(evaluator.known[reflection.prompt].genome, generation)
        return await rewrite_by_model(evaluator, child, reflection.failures, f"g{generation}.{place}", wave)

    def _admitted(self, genome: Genome, place: int) -> str | None:
        """None: it is already known."""
        evaluator = self._evaluator
        rest = [evaluator.known[key].genome.prompt for key in self._results]
        for candidate in evaluator.admit([genome], place, rest=rest):
            self._open[genome.prompt] = candidate
            self._entrants.append(candidate)
            return genome.prompt
        return None

    def _turn(self) -> int:
        """Between two iterations: reports the evaluated prompts, and ends the generation when its requests are used up. Returns
        the number of proposals allowed now: as many as max_calls permits if all of them get every problem."""
        evaluator = self._evaluator
        for candidate in self._open.values():
            evaluator.close(candidate)
        self._open.clear()
        self._idle = self._idle + 1 if evaluator.calls == self._seen else 0
        self._seen = evaluator.calls
        solved = self._idle >= MOST_IDLE
        if solved or evaluator.calls >= self._ends:
            self._end_generation()
            self._rule = evaluator.stopped() or ("solved" if solved else "")
        return 0 if self._rule else self._allowance()

    def _allowance(self) -> int:
        settings, evaluator = self._evaluator.settings, self._evaluator
        most = min(settings.proposals, max(1, len(evaluator.problems) // MINIBATCH))
        if not settings.max_calls:
            return most
        calls = 1 + evaluator.grader.calls_for(MINIBATCH + len(evaluator.problems), most=True)
        allowance = min(most, (settings.max_calls - evaluator.calls) // calls)
        if allowance < 1:
            self._end_generation()
            self._rule = "max_calls"
        return max(0, allowance)

    def _end_generation(self) -> None:
        """Its population: every prompt that got all problems, and all proposals of the generation."""
        evaluator = self._evaluator
        complete = (
            evaluator.known[prompt] for prompt, row in self._results.items() if len(row) == len(evaluator.problems)
        )
        population = {candidate.genome.prompt: candidate.genome for candidate in (*complete, *self._entrants)}
        evaluator.end_generation(list(population.values()), self._entrants)
        self._entrants, self._proposals = [], 0
        self._ends += self._calls_of_generation()

    def _calls_of_generation(self) -> int:
        """As many as the genetic strategy's: its children race, and a share of them is rewritten."""
        settings = self._evaluator.settings
        children = settings.population_size - settings.elite_size
        return self._evaluator.calls_of_generation(children, round(children * Breeding().rewrite_share))


def results(marks: Marks, problems: list[Problem]) -> list[Result]:
    """By problem, over all models and samples: the share of right replies, and one of the wrong replies."""
    scored = [Result(score(replies, 0.0)) for replies in by_problem(marks)]
    for place, problem in enumerate(problems):
        samples = (sample for marked in marks.values() for sample in marked[place])
        wrong = next((sample for sample in samples if sample and not sample.verdict.correct), None)
        if wrong:
            scored[place] = replace(scored[place], failure=FailedProblem(problem.question, problem.answer, wrong.text))
    return scored
