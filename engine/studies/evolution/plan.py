"""The plan of an evolution: requests and tokens, as expected for its whole length, and at most.

The expected search is planned generation by generation, in waves. The maximum combines all requests that are possible.
"""

from collections.abc import Iterator
from functools import cached_property
from math import ceil, expm1, log1p, perm

from tidepool.engine.call import TOKENS_PER_MESSAGE
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.runtime.plans import (
    EXPECTED,
    MOST,
    Plan,
    PlannedCalls,
    Sizing,
    UsualTokens,
    merged,
    reasoning_notes,
)
from tidepool.engine.studies.evolution.breeding import MOST_TOKENS, RANDOM_SEGMENTS, Breeding, material_of, seeds_of
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluator import Numbering, calls_in, rungs
from tidepool.engine.studies.evolution.final_test import seed_rungs
from tidepool.engine.studies.evolution.genome import QUESTION, fill_template, is_fixed, split_segments
from tidepool.engine.studies.evolution.gepa import MINIBATCH
from tidepool.engine.studies.evolution.grader import UNCLEAR_SHARE
from tidepool.engine.studies.evolution.problems.problem_set import ProblemSet
from tidepool.engine.studies.evolution.rewrites import (
    MOST_FAILURES,
    REWRITES,
    SYSTEM,
    TASKS,
    FailedProblem,
    rewrite_request,
)
from tidepool.engine.studies.evolution.tasks.judge import MOST_TOKENS as JUDGE_TOKENS
from tidepool.engine.studies.evolution.tasks.judge import judge_request, judge_system
from tidepool.engine.studies.evolution.tasks.scorer import code_of
from tidepool.engine.studies.evolution.tasks.task import task_of
from tidepool.storage.text import one_line

SOLUTION, REWRITE, RATING = UsualTokens(120, 24), UsualTokens(120, 40), UsualTokens(60, 12)
"""usual lengths of a solution, a rewritten prompt and a judge's rating"""
_FIXED = 10
"""tokens of a simulated solution besides those that repeat its question, about half of it"""
_SHOWN_REPLY = 400
"""characters of a wrong reply that a model reflects on"""
_GROWTH = 2
"""the maximum assumes prompts of at least this many times the longest seed"""
_SAMPLED = 50
"""how many problems are measured for their length"""


class SearchPlan:
    """The number of requests in each part of a search, and their lengths."""

    def __init__(self, settings: EvolutionSettings, problems: ProblemSet, sizing: Sizing) -> None:
        self.settings, self.problems, self.sizing = settings, problems, sizing
        self.weight = settings.calls_of_problem()
        """requests per problem, except those to a judge of unclear replies"""
        self.finalists = 3 if settings.random_baseline else 2
        self.seeds = [genome.prompt for genome in seeds_of(settings)]
        elites = min(settings.elite_size, len(self.seeds)) if sizing.worst else settings.elite_size
        self.children = settings.population_size - (0 if settings.strategy == "random" else elites)
        shares = {"random": 0.0, "reflective": 1.0}
        usual = 1.0 if sizing.worst else Breeding().rewrite_share
        self.rewrites = round(self.children * shares.get(settings.strategy, usual))
        """of a generation"""
        self.proposals = min(settings.proposals, max(1, len(problems.training) // MINIBATCH))
        """of GEPA, at once"""
        self.first = self.weight * self._asked(settings.population_size)
        """requests of the first generation"""
        known = [*problems.training, *problems.validation]
        self._measured = known if sizing.worst else known[:: max(1, len(known) // _SAMPLED)]
        self._prompt = self._prompt_tokens()
        self.solving = self._solving(self._prompt)
        """by model: input and output tokens of a request"""
        self._solving_by_seeds = self._solving(sizing.longest(self.seeds))
        """the same, with the seeds as prompts"""
        self.units = 0
        self._numbering = Numbering()
        self._calls: list[PlannedCalls] = []
        self._unclear: list[PlannedCalls] = []
        """requests to a judge of unclear replies"""

    def _asked(self, genomes: int) -> int:
        """Problems asked in a generation with so many new genomes."""
        return calls_in(rungs(len(self.problems.training), genomes, self.settings.racing))

    def _generations(self) -> int:
        """As many as max_calls allows: the next generation must fit even if all of it is new and rewritten."""
        settings = self.settings
        if not settings.max_calls:
            return settings.max_generations
        usual = 1 + UNCLEAR_SHARE * settings.judges_unclear
        later = usual * self.weight * self._asked(self.children) + self.rewrites
        next_first = settings.calls_of_problem(most=True) * self._asked(settings.population_size)
        allowance = settings.max_calls - usual * self.first - next_first - settings.population_size
        return 1 if allowance < 0 else min(settings.max_generations, 2 + int(allowance / max(1, later)))

    def _seed_final(self) -> list[int]:
        """Problems asked in each rung. Answers of seeds from the first generation are not requested again. Only the minimum of
        these is known: all seeds got the first rung."""
        if not self.settings.seed_final:
            return []
        size, problems, racing = self.settings.population_size, len(self.problems.training), self.settings.racing
        known = min(len(self.seeds), size) * rungs(problems, size, racing)[0].end
        calls = [rung.entrants * (rung.end - rung.start) for rung in seed_rungs(problems, len(self.seeds), racing)]
        return [max(0, calls[0] - known), *calls[1:]]

    def _distinct_at_random(self, drawn: int) -> float:
        """How many of so many prompts of a random search differ. A few sentences make few prompts."""
        material, (fewest, most) = material_of(self.settings), RANDOM_SEGMENTS
        sentences, frames = len(material.segments), max(1, len(set(material.frames)))
        lengths = [min(length, sentences) for length in range(fewest, most + 1)]
        orders = ((frames * perm(sentences, length), lengths.count(length) / len(lengths)) for length in {*lengths})
        return sum(-number * expm1(drawn * log1p(-share / number)) if number > 1 else 1 for number, share in orders)

    # -- tokens ------------------------------------------------------------------------------------------

    def _prompt_tokens(self) -> int:
        sizing, segments, (fewest, most) = self.sizing, material_of(self.settings).segments, RANDOM_SEGMENTS
        sentence, seed = sizing.longest(segments), sizing.longest(self.seeds)
        drawn = round(min(most if sizing.worst else (fewest + most) / 2, len(segments)) * (sentence + 0.5))
        if sizing.worst:
            return max(_GROWTH * seed, drawn, MOST_TOKENS)
        return drawn if self.settings.strategy == "random" else seed + sentence  # a child is about a sentence longer

    def _solving(self, prompt: int) -> dict[str, tuple[int, int]]:
        sizing, settings = self.sizing, self.settings
        task = task_of(settings)
        form = sizing.longest(task.message("", problem) for problem in self._measured)
        asked = prompt + sizing.longest(self._questions()) + form + TOKENS_PER_MESSAGE
        question = sizing.longest(problem.question for problem in self._measured)
        usual = UsualTokens(SOLUTION.of_a_model, _FIXED + question // 2)
        return {
            model: (asked, sizing.reply(model, usual, settings.max_tokens, settings)) for model in settings.solvers()
        }

    def _questions(self) -> Iterator[str]:
        """As messages, with all text that a prompt adds."""
        around = [prompt for prompt in self.seeds if any(map(is_fixed, split_segments(prompt)))]
        for problem in self._measured:
            yield problem.question
            yield from (fill_template(prompt, problem) for prompt in around)

    @cached_property
    def _judging(self) -> tuple[int, int]:
        """The input and output tokens of a judgement."""
        settings, judge = self.settings, resolve_model(self.settings.judge)
        prompt = self.sizing.text(judge_system(settings.rubric)) + TOKENS_PER_MESSAGE
        prompt += self.sizing.longest(judge_request(problem, " ") for problem in self._measured)
        prompt += max(self.sizing.read_again(model, SOLUTION, settings.max_tokens) for model in settings.solvers())
        return prompt, self.sizing.reply(judge, RATING, JUDGE_TOKENS, settings)

    @cached_property
    def _rewriting(self) -> tuple[int, int]:
        sizing, model = self.sizing, resolve_model(self.settings.mutator)
        reply = "x" * (2 * _SHOWN_REPLY if sizing.worst else _SHOWN_REPLY)
        failures = [FailedProblem(problem.question, problem.answer, reply) for problem in self._measured]
        shown = sizing.longest(rewrite_request("reflect", "", [failure]) for failure in failures)
        prompt = sizing.text(SYSTEM) + sizing.text(rewrite_request("reflect", QUESTION)) + self._prompt
        reflected = 1.0 if sizing.worst or self.settings.strategy != "genetic" else 1 / len(REWRITES)
        prompt += round(reflected * MOST_FAILURES * max(0, shown - sizing.text(TASKS["reflect"])))
        return prompt + TOKENS_PER_MESSAGE, sizing.reply(model, REWRITE, MOST_TOKENS, self.settings)

    def _judged(self, wave: int, calls: int, rounds: int = 1) -> PlannedCalls:
        return PlannedCalls(wave, resolve_model(self.settings.judge), calls, *self._judging, rounds)

    def _rewritten(self, wave: int, calls: int, rounds: int = 1) -> PlannedCalls:
        return PlannedCalls(wave, resolve_model(self.settings.mutator), calls, *self._rewriting, rounds)

    # -- expected: generation by generation, in waves --------------------------------------------------

    def expected(self) -> tuple[PlannedCalls, ...]:
        settings, training = self.settings, len(self.problems.training)
        generations, gepa = self._generations(), settings.strategy == "gepa"
        for generation in range(generations):
            self._generation(generation, gepa)
        if (
            gepa and generations > 1 and not settings.max_calls
        ):  # it checks its number of requests between two iterations
            self._solve(self.proposals * (MINIBATCH + training // 2))
        later = (sum(planned.calls for planned in self._calls) - self.first) / self.weight
        for count in self._seed_final():
            self._solve(count, by_seeds=count)
        if settings.random_baseline and later > 0:  # whole generations until it has as many requests, or no new prompt
            size = settings.population_size
            wanted = size * -(-round(later) // self._asked(size))
            whole, rest = divmod(min(wanted, round(self._distinct_at_random(10 * size))), size)
            self._solve(whole * self._asked(size) + (self._asked(rest) if rest else 0))
        finalists = self.finalists if later > 0 else 1  # without children, the champion is the best seed
        self._solve(finalists * len(self.problems.validation), by_seeds=len(self.problems.validation))
        self.units += finalists + (len(self.seeds) if settings.seed_final else 0)
        return merged([*self._calls, *self._unclear])

    def _generation(self, generation: int, gepa: bool) -> None:
        """A generation of GEPA makes as many requests as the genetic strategy's, in many small waves, which are shown together."""
        genomes, rewrites = (self.children, self.rewrites) if generation else (self.settings.population_size, 0)
        if generation and self.settings.strategy == "random":
            distinct, size = self._distinct_at_random, self.settings.population_size
            genomes = round(distinct(generation * size) - distinct((generation - 1) * size))
        rounds = -(-rewrites // self.proposals) if gepa and rewrites else 1
        if rewrites:
            self._calls.append(self._rewritten(self._numbering.next_wave(), rewrites, rounds))
        for rung in rungs(len(self.problems.training), genomes, self.settings.racing):
            solves = rung.entrants * (rung.end - rung.start)
            self._solve(solves, rounds, by_seeds=0 if generation else solves)
        self.units += genomes + (rewrites if gepa else 0)  # GEPA drops most proposals after a few problems

    def _solve(self, count: int, rounds: int = 1, *, by_seeds: int = 0) -> None:
        """One wave. `by_seeds` of the problems are asked with a seed as the prompt."""
        if count <= 0:
            return
        settings, wave = self.settings, self._numbering.next_wave()
        for problems, solving in ((by_seeds, self._solving_by_seeds), (count - by_seeds, self.solving)):
            for model, tokens in solving.items():
                if problems:
                    self._calls.append(PlannedCalls(wave, model, problems * settings.samples, *tokens, rounds))
        if settings.judged:
            self._calls.append(self._judged(self._numbering.next_wave(), count * self.weight // 2, rounds))
        elif settings.judges_unclear:
            unclear = ceil(UNCLEAR_SHARE * count * self.weight)
            self._unclear.append(self._judged(self._numbering.next_wave(), unclear, rounds))

    # -- maximum ----------------------------------------------------------------------------------------

    def most(self) -> tuple[tuple[PlannedCalls, ...], int]:
        """All possible requests, and their maximum number. Solutions and rewrites cannot both reach their maximum if max_calls
        binds. Of the stop rules, only max_calls and max_generations apply, and no prompt is known before."""
        settings, generations = self.settings, self.settings.max_generations - 1
        solves, rewrites = generations * self.weight * self._asked(self.children), generations * self.rewrites
        later = solves + rewrites
        if settings.strategy == "gepa" and generations:
            proposed = self.proposals * (1 + self.weight * (2 * MINIBATCH + len(self.problems.training)))
            solves = rewrites = later = max(later, generations * proposed) + proposed
        if settings.max_calls:
            later = min(later, max(0, settings.max_calls - self.first))
        # After the search: the seeds' final, the held-out problems, and a random search with as many requests.
        after = (self.finalists * len(self.problems.validation) + sum(self._seed_final())) * self.weight
        doubled = 2 if settings.judges_unclear else 1
        after += doubled * (later + self.first) if settings.random_baseline and later else 0
        calls = [self._rewritten(1, min(rewrites, later))] if rewrites and later else []
        solved, cap = self.first + min(solves, later) + after, self.first + later + after
        if settings.judged:
            solved -= solved // 2
        if settings.judged or settings.judges_unclear:
            calls.append(self._judged(1, solved))
        each = -(-solved // len(self.solving))
        calls += [PlannedCalls(1, model, each, *tokens) for model, tokens in self.solving.items()]
        return tuple(calls), cap + (solved if settings.judges_unclear else 0)


NOTE = (
    "The expected values are for the whole length. Stop rules may end it sooner. The maximum assumes that all prompts differ. A "
    "solution is expected to have {} tokens. A prompt grows at most to twice the longest seed, or to a rewriter's {} tokens."
)
GEPA_NOTE = "GEPA decides during the search how much it proposes. Its many small waves are shown together."


def plan(settings: EvolutionSettings, problems: ProblemSet) -> Plan:
    expected = SearchPlan(settings, problems, EXPECTED)
    calls = expected.expected()
    worst, cap = SearchPlan(settings, problems, MOST).most()
    notes = (
        _data(settings, problems),
        NOTE.format(max(replied for _, replied in expected.solving.values()), MOST_TOKENS),
        *((GEPA_NOTE,) if settings.strategy == "gepa" else ()),
        *reasoning_notes(settings),
    )
    doubts = settings.frozen.notes if settings.frozen else ()
    warnings = (*(f"Runs code on this machine: {code}." for code in code_of(settings)), *doubts)
    return Plan(expected.units, calls, notes, warnings, at_most=worst, call_cap=cap)


def _data(settings: EvolutionSettings, problems: ProblemSet) -> str:
    """Describes the problems and shows one as it was parsed, so that you notice a wrong column."""
    first = problems.training[0]
    task = task_of(settings).kind(first.answer)
    answer = f" → {one_line(first.answer, 30)}" if first.answer else ""
    return (
        f"Problems of {one_line(problems.name, 60)}: {len(problems.training):,} for training, {len(problems.validation):,} held out, "
        f"{'scored by a scorer' if settings.scorer else f'task {task}'}. For example: {one_line(first.question, 70)}{answer}"
    )
