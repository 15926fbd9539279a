"""The plan of an evolution: calls and tokens, as expected for its whole length, and at most.

`PlanSizes` counts the calls of the parts of a search and estimates their tokens. The expected search goes generation by
generation in waves; the worst one takes together all that can come.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tidepool.engine.call import TOKENS_PER_MESSAGE
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.studies.evolution.breeding import MOST_TOKENS, RANDOM_SEGMENTS, Breeding
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluator import Numbering, Rung, calls_in, rungs
from tidepool.engine.studies.evolution.final_test import BEST, seed_rungs
from tidepool.engine.studies.evolution.genome import QUESTION, fill_template, is_fixed, split_segments
from tidepool.engine.studies.evolution.gepa import MINIBATCH
from tidepool.engine.studies.evolution.grader import SOLUTIONS
from tidepool.engine.studies.evolution.inputs import problems_of, settings_of, warnings_about
from tidepool.engine.studies.evolution.problems.problem_set import Problem, ProblemSet
from tidepool.engine.studies.evolution.rewrites import (
    MOST_FAILURES,
    REWRITES,
    SYSTEM,
    TASKS,
    FailedProblem,
    rewrite_request,
)
from tidepool.engine.studies.evolution.strategies import material_of, seeds_of
from tidepool.engine.studies.evolution.tasks.judge import MOST_TOKENS as JUDGE_TOKENS
from tidepool.engine.studies.evolution.tasks.judge import judge_request, judge_system
from tidepool.engine.studies.evolution.tasks.scorer import code_of
from tidepool.engine.studies.evolution.tasks.task import AnswerTask
from tidepool.engine.studies.planned_calls import (
    EXPECTED,
    MOST,
    Plan,
    PlannedCalls,
    Sizing,
    UsualTokens,
    merged,
    reasoning_notes,
)
from tidepool.storage.text import one_line

SOLUTION, REWRITE, RATING = UsualTokens(120, 30), UsualTokens(120, 40), UsualTokens(60, 12)
"""a solution, a rewritten prompt and a judge's rating usually have"""
_SHOWN_REPLY = 400
"""letters of a wrong reply that a model reflects on"""
_GROWTH = 2
"""a prompt is taken to become at most so many times as long as the longest seed"""
_SAMPLED = 50
"""problems whose length is measured"""


@dataclass(frozen=True)
class PlanSizes:
    """How many calls the parts of a search take, and how long they are."""

    settings: EvolutionSettings
    problems: ProblemSet
    sizing: Sizing

    @cached_property
    def weight(self) -> int:
        """Calls of a problem."""
        return self.settings.calls_of_problem()

    @cached_property
    def finalists(self) -> int:
        return 3 if self.settings.random_baseline else 2

    @cached_property
    def chosen_from(self) -> int:
        """Prompts that meet the problems that choose: the best, the best seeds, a random search's."""
        return self.finalists * BEST if self.problems.choosing else 0

    @cached_property
    def seeds(self) -> int:
        return len(seeds_of(self.settings))

    @cached_property
    def children(self) -> int:
        """Of a generation; elites may be too few where seeds are."""
        settings = self.settings
        if settings.strategy == "random":
            return settings.population_size
        elites = min(settings.elite_size, self.seeds) if self.sizing.worst else settings.elite_size
        return settings.population_size - elites

    @cached_property
    def rewrites(self) -> int:
        """Of a generation."""
        match self.settings.strategy:
            case "random":
                return 0
            case "reflective":
                return self.children
        return self.children if self.sizing.worst else round(self.children * Breeding().rewrite_share)

    @cached_property
    def proposals(self) -> int:
        """Of GEPA, at once."""
        return min(self.settings.proposals, max(1, len(self.problems.training) // MINIBATCH))

    @cached_property
    def generations(self) -> int:
        """As many as max_calls lets there be: the next one must fit even if all of it is new and rewritten."""
        settings = self.settings
        if not settings.max_calls:
            return settings.max_generations
        later = self.judged(self.children) + self.rewrites
        allowance = settings.max_calls - 2 * self.first - settings.population_size
        return 1 if allowance < 0 else min(settings.max_generations, 2 + allowance // max(1, later))

    def rungs(self, genomes: int) -> tuple[Rung, ...]:
        return rungs(len(self.problems.training), genomes, self.settings.racing)

    def judged(self, genomes: int) -> int:
        return calls_in(self.rungs(genomes), self.weight)

    @cached_property
    def first(self) -> int:
        return self.judged(self.settings.population_size)

    def seed_final(self) -> list[int]:
        """Problems asked in each rung. What the seeds were answered in the first generation is not asked again; of that
        the least is known: all of them met its first rung."""
        size = self.settings.population_size
        known = min(self.seeds, size) * self.rungs(size)[0].end
        plan = seed_rungs(len(self.problems.training), self.seeds, self.settings.racing)
        calls = [rung.entrants * (rung.end - rung.start) for rung in plan]
        return [max(0, calls[0] - known), *calls[1:]]

    # -- tokens ------------------------------------------------------------------------------------------

    @cached_property
    def _measured(self) -> list[Problem]:
        known = [*self.problems.training, *self.problems.choosing, *self.problems.validation]
        return known if self.sizing.worst else known[:: max(1, len(known) // _SAMPLED)]

    @cached_property
    def _prompt(self) -> int:
        if self.sizing.worst:
            return max(_GROWTH * self.sizing.longest(self._seed_prompts), self._drawn, MOST_TOKENS)
        if self.settings.strategy == "random":
            return self._drawn
        # A child is about a sentence longer than a seed.
        return self.sizing.longest(self._seed_prompts) + self.sizing.longest(material_of(self.settings).segments)

    @cached_property
    def _seed_prompts(self) -> list[str]:
        return [genome.prompt for genome in seeds_of(self.settings)]

    @cached_property
    def _drawn(self) -> int:
        """A prompt of sentences drawn at random."""
        segments, (fewest, most) = material_of(self.settings).segments, RANDOM_SEGMENTS
        count = min(most if self.sizing.worst else (fewest + most) / 2, len(segments))
        return round(count * (self.sizing.longest(segments) + 0.5))

    @cached_property
    def solving(self) -> dict[str, tuple[int, int]]:
        """By model: the tokens of a call, in and out."""
        question = self.sizing.longest(self._questions())
        settings = self.settings
        solved = (
            question + self.sizing.longest(_solution(problem) for problem in self._measured) + 2 * TOKENS_PER_MESSAGE
        )
        prompt = self._prompt + question + TOKENS_PER_MESSAGE
        examples = min(settings.few_shot, len(self.problems.training) - 1)
        prompt += round(solved * (examples if self.sizing.worst else examples / 2))
        return {
            model: (prompt, self.sizing.reply(model, SOLUTION, settings.max_tokens, settings))
            for model in settings.solvers()
        }

    def _questions(self) -> Iterator[str]:
        """As messages: with all that a prompt puts around them."""
        around = [prompt for prompt in self._seed_prompts if any(map(is_fixed, split_segments(prompt)))]
        for problem in self._measured:
            yield problem.question
            yield from (fill_template(prompt, problem) for prompt in around)

    @cached_property
    def judging(self) -> tuple[int, int]:
        """The tokens of a judgement, in and out."""
        settings, judge = self.settings, resolve_model(self.settings.judge)
        prompt = self.sizing.text(judge_system(settings.rubric)) + TOKENS_PER_MESSAGE
        prompt += self.sizing.longest(judge_request(problem, " ") for problem in self._measured)
        prompt += max(self.sizing.read_again(model, SOLUTION, settings.max_tokens) for model in settings.solvers())
        return prompt, self.sizing.reply(judge, RATING, JUDGE_TOKENS, settings)

    @cached_property
    def rewriting(self) -> tuple[int, int]:
        reply = "x" * (2 * _SHOWN_REPLY if self.sizing.worst else _SHOWN_REPLY)
        failures = [FailedProblem(problem.question, problem.answer, reply) for problem in self._measured]
        shown = self.sizing.longest(rewrite_request("reflect", "", [failure]) for failure in failures)
        prompt = (
            self.sizing.text(SYSTEM)
            + self.sizing.text(rewrite_request("reflect", QUESTION))
            + self._prompt
            + TOKENS_PER_MESSAGE
        )
        reflected = 1.0 if self.sizing.worst or self.settings.strategy != "genetic" else 1 / len(REWRITES)
        task = self.sizing.text(TASKS["reflect"])
        prompt += round(reflected * MOST_FAILURES * max(0, shown - task))
        return prompt, self.sizing.reply(resolve_model(self.settings.mutator), REWRITE, MOST_TOKENS, self.settings)


def _solution(problem: Problem) -> str:
    """At least as long as an example shows it."""
    worked = max((str(problem.fields.get(name) or "") for name in SOLUTIONS), key=len)
    return f"{worked}\n#### {problem.answer}"


NOTE = (
    "The whole length is expected: stop rules may end it sooner. At most, no two prompts are the same. A solution is "
    "expected to have {} tokens; a prompt is taken to grow to twice the longest seed, or to a rewriter's {} tokens, at most."
)
GEPA_NOTE = "GEPA decides as it goes how much it proposes; its many small waves are shown together."


def plan(config: FrozenConfig) -> Plan:
    settings, problems = settings_of(config), problems_of(config)
    sizes = PlanSizes(settings, problems, EXPECTED)
    expected = _ExpectedSearch(sizes)
    notes = (
        _data(settings, problems),
        NOTE.format(max(replied for _, replied in sizes.solving.values()), MOST_TOKENS),
        *((GEPA_NOTE,) if settings.strategy == "gepa" else ()),
    )
    calls = expected.calls()
    worst, cap = _worst_search(PlanSizes(settings, problems, MOST))
    return Plan(
        *(expected.units, calls, (*notes, *reasoning_notes(settings))),
        at_most=worst,
        call_cap=cap,
        warnings=(*(f"Runs code on this machine: {code}." for code in code_of(config)), *warnings_about(config)),
    )


def _data(settings: EvolutionSettings, problems: ProblemSet) -> str:
    """Which problems these are, with one as it was read: a wrong column shows."""
    choosing = f"{len(problems.choosing):,} to choose by, " if problems.choosing else ""
    first = problems.training[0]
    task = AnswerTask(settings.task, tuple(settings.labels)).kind(first.answer)
    answer = f" → {one_line(first.answer, 30)}" if first.answer else ""
    return (
        f"Problems of {one_line(problems.name, 60)}: {len(problems.training):,} to search by, {choosing}{len(problems.validation):,} held out; "
        f"{'marked by a scorer' if settings.scorer else f'task {task}'}, such as: {one_line(first.question, 70)}{answer}"
    )


def shape(config: FrozenConfig) -> list[str]:
    """How many prompts there can be."""
    size, most = settings_of(config).population_size, settings_of(config).max_generations
    return [f"{size:,} prompts × at most {most:,} generations = {size * most:,}"]


class _ExpectedSearch:
    """Generation after generation, in waves."""

    def __init__(self, sizes: PlanSizes) -> None:
        self._sizes = sizes
        self._settings = sizes.settings
        self._gepa = self._settings.strategy == "gepa"
        self._numbering = Numbering()
        self._calls: list[PlannedCalls] = []
        self.units = 0

    def calls(self) -> tuple[PlannedCalls, ...]:
        settings, sizes = self._settings, self._sizes
        for generation in range(sizes.generations):
            self._generation(generation)
        if (
            self._gepa and sizes.generations > 1 and not settings.max_calls
        ):  # it looks at its calls between two iterations
            self._solve(sizes.proposals * (MINIBATCH + len(sizes.problems.training) // 2))
        searched = sum(planned.calls for planned in self._calls)
        if settings.seed_final:
            for count in sizes.seed_final():
                self._solve(count)
            self.units += sizes.seeds
        if settings.random_baseline:
            self._solve(self._rival(searched))
        self._solve(sizes.chosen_from * len(sizes.problems.choosing))
        self._solve(sizes.finalists * len(sizes.problems.validation))
        self.units += sizes.chosen_from + sizes.finalists
        return merged(self._calls)

    def _rival(self, searched: int) -> int:
        """Problems that a random search meets until it has as many calls: whole generations."""
        each = calls_in(self._sizes.rungs(self._settings.population_size))
        later = (searched - self._sizes.first) / self._sizes.weight
        return each * -(-round(later) // each) if later > 0 else 0

    def _generation(self, generation: int) -> None:
        """GEPA's takes as many calls as the genetic strategy's, in many small waves, which are shown together."""
        sizes, settings = self._sizes, self._settings
        genomes, rewrites = (sizes.children, sizes.rewrites) if generation else (settings.population_size, 0)
        rounds = -(-rewrites // sizes.proposals) if self._gepa and rewrites else 1
        if rewrites:
            model, wave = resolve_model(settings.mutator), self._numbering.next_wave()
            self._calls.append(PlannedCalls(wave, model, rewrites, *sizes.rewriting, rounds))
        for rung in sizes.rungs(genomes):
            self._solve(rung.entrants * (rung.end - rung.start), rounds)
        self.units += genomes + (rewrites if self._gepa else 0)  # GEPA drops most proposals after a few problems

    def _solve(self, count: int, rounds: int = 1) -> None:
        if count <= 0:
            return
        settings, sizes, wave = self._settings, self._sizes, self._numbering.next_wave()
        for model, tokens in sizes.solving.items():
            self._calls.append(PlannedCalls(wave, model, count * settings.samples, *tokens, rounds))
        if settings.judged:
            judge, marked = resolve_model(settings.judge), count * sizes.weight // 2
            self._calls.append(PlannedCalls(self._numbering.next_wave(), judge, marked, *sizes.judging, rounds))


def _worst_search(sizes: PlanSizes) -> tuple[tuple[PlannedCalls, ...], int]:
    """All that can come together, and how many calls that is at most: solves and rewrites cannot both reach their most where
    max_calls binds. No stop rule holds but max_calls and max_generations, and no prompt is known before."""
    settings, generations = sizes.settings, sizes.settings.max_generations - 1
    solves, rewrites = generations * sizes.judged(sizes.children), generations * sizes.rewrites
    later = solves + rewrites
    if settings.strategy == "gepa" and generations:
        proposed = sizes.proposals * (1 + sizes.weight * (2 * MINIBATCH + len(sizes.problems.training)))
        solves = rewrites = later = max(later, generations * proposed) + proposed
    if settings.max_calls:
        later = min(later, max(0, settings.max_calls - sizes.first))
    # After the search: the seeds' final, the held-out problems, and a random search until it has as many calls.
    problems = sizes.finalists * len(sizes.problems.validation) + sizes.chosen_from * len(sizes.problems.choosing)
    problems += sum(sizes.seed_final()) if settings.seed_final else 0
    after = problems * sizes.weight
    after += later + sizes.first if settings.random_baseline and later else 0
    calls = []
    if rewrites and later:
        calls.append(PlannedCalls(1, resolve_model(settings.mutator), min(rewrites, later), *sizes.rewriting))
    solved = sizes.first + min(solves, later) + after
    if settings.judged:
        solved -= solved // 2
        calls.append(PlannedCalls(1, resolve_model(settings.judge), solved, *sizes.judging))
    each = -(-solved // len(sizes.solving))
    calls += [PlannedCalls(1, model, each, *tokens) for model, tokens in sizes.solving.items()]
    return tuple(calls), sizes.first + later + after
