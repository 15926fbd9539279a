"""GEPA (the package of that name, an extra) on the same problems and with the same budget as the other strategies.

GEPA knows no generations: it reflects on a few prompts at a time and keeps a Pareto front. Here a generation is as many
calls as one of the genetic strategy takes, so that budgets, stop rules and plots mean the same. The seeds are raced
first, as everywhere, and GEPA starts from the best of that generation. No reply is asked for twice: what a parent
answers in a minibatch is known from its full evaluation.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from tidepool.engine.call import seed_of
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.evaluation.grader import Marks
from tidepool.engine.studies.evolution.evaluation.validation import score
from tidepool.engine.studies.evolution.final_test.finale import by_problem
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.breeding import Breeding, Child, copied
from tidepool.engine.studies.evolution.operators.offspring import rewritten_by_model
from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.strategies.founders import founders, material_of
from tidepool.engine.studies.evolution.strategies.gepa_questions import (
    MINIBATCH,
    Exam,
    Question,
    Reflection,
    Result,
    Turn,
)
from tidepool.engine.studies.evolution.strategies.handover import Ask, Handover

NEEDS_EXTRA = 'evolution.strategy = "gepa" needs the extra `gepa`: pip install "tidepool-lab[gepa]"'
SMALL_WAVES = (
    "GEPA asks a few calls at a time, and each time waits for the answers: through a batch API that takes long. "
    'service.name = "live" does not wait.'
)
MOST_IDLE = 50
"""iterations without a single call: whatever GEPA looks at is solved"""


async def search(evaluator: Evaluator) -> str:
    require_extra()
    await evaluator.judge(founders(evaluator, material_of(evaluator.settings)))
    return evaluator.stopped() or await GepaSearch(evaluator).run()


def require_extra() -> None:
    from importlib.util import find_spec

    if find_spec("gepa") is None:
        raise UsageError(NEEDS_EXTRA, ("evolution", "strategy"))


class GepaSearch:
    """Answers what GEPA asks, and keeps the books of its generations."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._results: dict[str, dict[int, Result]] = {}
        """by prompt and place"""
        self._open: dict[str, Candidate] = {}
        """those of the iteration under way, by prompt"""
        self._entrants: list[Candidate] = []
        """proposals of this generation"""
        self._proposals = 0
        self._ends = evaluator.calls + self._calls_of_generation()
        """calls at which this generation is over"""
        self._seen = evaluator.calls
        self._idle = 0
        self._rule = ""

    async def run(self) -> str:
        evaluator, start = self._evaluator, self._evaluator.leader()
        if evaluator.grader.gathers(MINIBATCH * (evaluator.settings.proposals or 1)) and not evaluator.run.resumed:
            evaluator.run.log("warning", SMALL_WAVES)
        evaluator.call_back(start, "genome")
        self._open[start.genome.key] = start

        def work(ask: Ask) -> None:
            from tidepool.engine.studies.evolution.strategies.gepa_library import optimise

            optimise(ask, start.genome.key, len(evaluator.problems), seed_of(evaluator.run.seed, "gepa"))

        await Handover().lead(work, self._answer)
        return self._rule

    async def _answer(self, question: Question) -> Any:
        match question:
            case Turn():
                return self._turn()
            case (Exam(), *_):
                return await self._examine(cast(tuple[Exam, ...], question))
        return await self._reflect(cast(tuple[Reflection, ...], question))

    async def _examine(self, exams: Sequence[Exam]) -> list[list[Result]]:
        """What is not known yet is asked together; only the first prompt, which raced as a seed, is asked apart."""
        missing: dict[str, dict[int, None]] = {}
        for exam in exams:
            known = self._results.setdefault(exam.prompt, {})
            missing.setdefault(exam.prompt, {}).update({place: None for place in exam.places if place not in known})
        sittings = [(self._open[prompt], list(places)) for prompt, places in missing.items() if places]
        for look in (0, 1):
            await self._meet([one for one in sittings if int(one[0].genome.generation == 0) == look], look)
        return [[self._results[exam.prompt][place] for place in exam.places] for exam in exams]

    async def _meet(self, sittings: Sequence[tuple[Candidate, list[int]]], look: int) -> None:
        marked = await self._evaluator.meet(sittings, look) if sittings else []
        for (candidate, places), marks in zip(sittings, marked, strict=True):
            found = results(marks, [self._evaluator.problems[place] for place in places])
            self._results[candidate.genome.key] |= dict(zip(places, found, strict=True))

    async def _reflect(self, asked: Sequence[Reflection]) -> list[str | None]:
        evaluator, wave = self._evaluator, self._evaluator.numbering.next_wave()
        evaluator.run.expect_wave(wave, {resolve_model(evaluator.settings.mutator): len(asked)})
        first = self._proposals
        self._proposals += len(asked)
        genomes = await evaluator.grader.together(
            self._proposal(one, place, wave) for place, one in enumerate(asked, first)
        )
        return [self._admitted(genome, place) for place, genome in enumerate(genomes, first)]

    async def _proposal(self, asked: Reflection, place: int, wave: int) -> Genome:
        evaluator, generation = self._evaluator, len(self._evaluator.history)
        mother, rng = evaluator.known[asked.prompt].genome, evaluator.stream("examples", generation, place)
        child = Child(copied(mother, generation, evaluator.showable, rng), "reflect")
        return await rewritten_by_model(evaluator, child, asked.failures, f"g{generation}.{place}", wave)

    def _admitted(self, genome: Genome, place: int) -> str | None:
        """None: it is known already."""
        evaluator = self._evaluator
        rest = [evaluator.known[key].genome.shape for key in self._results]
        for candidate in evaluator.admit([genome], place, rest=rest):
            self._open[genome.key] = candidate
            self._entrants.append(candidate)
            return genome.key
        return None

    def _turn(self) -> int:
        """Between two iterations: who was judged is told, and the generation ends when its calls are used up. Answers with the
        proposals that may be made now: as many as max_calls leaves room for, even if all of them meet every problem."""
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
        return 0 if self._rule else self._room()

    def _room(self) -> int:
        settings, evaluator = self._evaluator.settings, self._evaluator
        most = min(settings.proposals or 1, max(1, len(evaluator.problems) // MINIBATCH))
        if not settings.max_calls:
            return most
        each = 1 + evaluator.grader.calls_for(MINIBATCH + len(evaluator.problems))
        room = min(most, (settings.max_calls - evaluator.calls) // each)
        if room < 1:
            self._end_generation()
            self._rule = "max_calls"
        return max(0, room)

    def _end_generation(self) -> None:
        """Its population: every prompt that met all problems, and what was proposed in it."""
        evaluator = self._evaluator
        whole = (
            evaluator.known[prompt] for prompt, met in self._results.items() if len(met) == len(evaluator.problems)
        )
        population = {one.genome.key: one.genome for one in (*whole, *self._entrants)}
        evaluator.end_generation(list(population.values()), self._entrants)
        self._entrants, self._proposals = [], 0
        self._ends += self._calls_of_generation()

    def _calls_of_generation(self) -> int:
        """As many as the genetic strategy's: its children raced, and a share of them rewritten."""
        settings = self._evaluator.settings
        children = settings.population_size - settings.elite_size
        return self._evaluator.calls_of_generation(children, round(children * Breeding().rewrite_share))


def results(marks: Marks, problems: list[Problem]) -> list[Result]:
    """By problem, over all models and samples: the share of right replies, and one of the wrong ones."""
    found = [Result(score(replies)) for replies in by_problem(marks)]
    for place, problem in enumerate(problems):
        samples = (sample for marked in marks.values() for sample in marked[place])
        wrong = next((sample for sample in samples if sample and not sample.verdict.correct), None)
        if wrong:
            found[place] = replace(found[place], failure=FailedProblem(problem.question, problem.answer, wrong.text))
    return found
