"""GEPA (the package of that name, an extra) on the same problems and with the same budget as the other strategies.

GEPA knows no generations: it reflects on one prompt at a time and keeps a Pareto front. Here a generation is as many
calls as one of the genetic strategy takes, so that budgets, stop rules and plots mean the same. The seeds are raced
first, as everywhere, and GEPA starts from the best of that generation. No reply is asked for twice: what a parent
answers in a minibatch is known from its full evaluation.
"""

from dataclasses import replace
from typing import Any

from tidepool.engine.config.presets import resolve_model
from tidepool.engine.errors import UsageError
from tidepool.engine.streams import seed_of
from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.evaluation.grader import Marks
from tidepool.engine.studies.evolution.evaluation.validation import score
from tidepool.engine.studies.evolution.final_test.finale import by_problem
from tidepool.engine.studies.evolution.operators.breeding import Breeding, Child, copied
from tidepool.engine.studies.evolution.operators.offspring import rewritten_by_model
from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.strategies.founders import founders, material_of
from tidepool.engine.studies.evolution.strategies.gepa_questions import MINIBATCH, Exam, Question, Reflection, Result
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
        if evaluator.grader.gathers(MINIBATCH) and not evaluator.run.resumed:
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
            case Exam():
                return await self._examine(question)
            case Reflection():
                return await self._reflect(question)
        return self._turn()

    async def _examine(self, exam: Exam) -> list[Result]:
        known = self._results.setdefault(exam.prompt, {})
        places = [place for place in dict.fromkeys(exam.places) if place not in known]
        if places:
            candidate = self._open[exam.prompt]
            look = int(candidate.genome.generation == 0)
            (marks,) = await self._evaluator.meet([(candidate, places)], look)
            problems = [self._evaluator.problems[place] for place in places]
            known |= dict(zip(places, results(marks, problems), strict=True))
        return [known[place] for place in exam.places]

    async def _reflect(self, asked: Reflection) -> str | None:
        evaluator, generation = self._evaluator, len(self._evaluator.history)
        mother = evaluator.known[asked.prompt].genome
        rng = evaluator.stream("examples", generation, self._proposals)
        child = Child(copied(mother, generation, evaluator.showable, rng), "reflect")
        name, wave = f"g{generation}.{self._proposals}", evaluator.numbering.next_wave()
        self._proposals += 1
        evaluator.run.expect_wave(wave, {resolve_model(evaluator.settings.mutator): 1})
        genome = await rewritten_by_model(evaluator, child, asked.failures, name, wave)
        for candidate in evaluator.admit(
            [genome], self._proposals - 1, rest=[evaluator.known[key].genome.shape for key in self._results]
        ):
            self._open[genome.key] = candidate
            self._entrants.append(candidate)
            return genome.key
        return None

    def _turn(self) -> bool:
        """Between two iterations: who was judged is told, and the generation ends when its calls are used up."""
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
        return bool(self._rule)

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
