"""GEPA (the package of that name, an extra) on the same problems and with the same budget as the other strategies.

GEPA knows no generations: it reflects on one prompt at a time and keeps a Pareto front. Here a generation is as many
calls as one of the genetic strategy takes, so that budgets, stop rules and plots mean the same. The seeds are raced
first, as everywhere, and GEPA starts from the best of that generation. No reply is asked for twice: what a parent
answers in a minibatch is known from its full evaluation.
"""

from dataclasses import replace
from typing import Any

from tidepool.engine.errors import UsageError
from tidepool.engine.streams import seed_of
from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.evaluation.grader import Marks
from tidepool.engine.studies.evolution.evaluation.validation import score
from tidepool.engine.studies.evolution.finale import by_problem
from tidepool.engine.studies.evolution.handover import Ask, Handover
from tidepool.engine.studies.evolution.operators.breeding import COPY, Breeding, Child
from tidepool.engine.studies.evolution.operators.offspring import rewritten_by_model
from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.strategies.founders import founders, material_of
from tidepool.engine.studies.evolution.strategies.gepa_questions import Exam, Question, Reflection, Result

NEEDS_EXTRA = 'evolution.strategy = "gepa" needs the extra `gepa`: pip install "tidepool-lab[gepa]"'
SMALL_WAVES = (
    "GEPA asks a few calls at a time, and each time waits for the answers: through a batch API that takes long. "
    'service.name = "live" does not wait.'
)
MOST_IDLE = 50
"""iterations without a single call: whatever GEPA looks at is solved"""


async def search(arena: Evaluator) -> str:
    require_extra()
    await arena.judge(founders(arena, material_of(arena.settings)))
    return arena.stopped() or await GepaSearch(arena).run()


def require_extra() -> None:
    from importlib.util import find_spec

    if find_spec("gepa") is None:
        raise UsageError(NEEDS_EXTRA, ("evolution", "strategy"))


class GepaSearch:
    """Answers what GEPA asks, and keeps the books of its generations."""

    def __init__(self, arena: Evaluator) -> None:
        self._arena = arena
        self._results: dict[str, dict[int, Result]] = {}
        """by prompt and place"""
        self._open: dict[str, Candidate] = {}
        """those of the iteration under way, by prompt"""
        self._entrants: list[Candidate] = []
        """proposals of this generation"""
        self._proposals = 0
        self._ends = arena.calls + self._calls_of_generation()
        """calls at which this generation is over"""
        self._seen = arena.calls
        self._idle = 0
        self._rule = ""

    async def run(self) -> str:
        arena, start = self._arena, self._arena.leader()
        if arena.examiner.gathers and not arena.run.resumed:
            arena.run.log("warning", SMALL_WAVES)
        arena.call_back(start, "genome")
        self._open[start.genome.prompt] = start

        def work(ask: Ask) -> None:
            from tidepool.engine.studies.evolution.strategies.gepa_library import optimise

            optimise(ask, start.genome.prompt, len(arena.problems), seed_of(arena.run.seed, "gepa"))

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
            contender = self._open[exam.prompt]
            look = int(contender.genome.generation == 0)
            (marks,) = await self._arena.meet([(contender, places)], look)
            problems = [self._arena.problems[place] for place in places]
            known |= dict(zip(places, results(marks, problems), strict=True))
        return [known[place] for place in exam.places]

    async def _reflect(self, asked: Reflection) -> str | None:
        arena, generation = self._arena, len(self._arena.history)
        mother = arena.known[asked.prompt].genome
        child = Child(mother.child(mother.segments, COPY, generation), "reflect")
        name, wave = f"g{generation}.{self._proposals}", arena.numbering.next_wave()
        self._proposals += 1
        genome = await rewritten_by_model(arena, child, asked.failures, name, wave)
        for contender in arena.admit([genome], self._proposals - 1, rest=list(self._results)):
            self._open[genome.prompt] = contender
            self._entrants.append(contender)
            return genome.prompt
        return None

    def _turn(self) -> bool:
        """Between two iterations: who was judged is told, and the generation ends when its calls are used up."""
        arena = self._arena
        for contender in self._open.values():
            arena.close(contender)
        self._open.clear()
        self._idle = self._idle + 1 if arena.calls == self._seen else 0
        self._seen = arena.calls
        solved = self._idle >= MOST_IDLE
        if solved or arena.calls >= self._ends:
            self._end_generation()
            self._rule = arena.stopped() or ("solved" if solved else "")
        return bool(self._rule)

    def _end_generation(self) -> None:
        """Its population: every prompt that met all problems, and what was proposed in it."""
        arena = self._arena
        whole = (arena.known[prompt] for prompt, met in self._results.items() if len(met) == len(arena.problems))
        population = {one.genome.prompt: one.genome for one in (*whole, *self._entrants)}
        arena.end_generation(list(population.values()), self._entrants)
        self._entrants, self._proposals = [], 0
        self._ends += self._calls_of_generation()

    def _calls_of_generation(self) -> int:
        """As many as the genetic strategy's: its children raced, and a share of them rewritten."""
        settings = self._arena.settings
        children = settings.population_size - settings.elite_size
        return self._arena.calls_of_generation(children, round(children * Breeding().rewrite_share))


def results(marks: Marks, problems: list[Problem]) -> list[Result]:
    """By problem, over all models and samples: the share of right replies, and one of the wrong ones."""
    found = [Result(score(replies)) for replies in by_problem(marks)]
    for place, problem in enumerate(problems):
        samples = (sample for marked in marks.values() for sample in marked[place])
        wrong = next((sample for sample in samples if sample and not sample.verdict.correct), None)
        if wrong:
            found[place] = replace(found[place], failure=FailedProblem(problem.question, problem.answer, wrong.text))
    return found
