"""What an evolution will take: its whole length, unless a stop rule ends it sooner; and the most it can take."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle

from tidepool.engine.call import Call, Message
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.prices import TOKENS_PER_MESSAGE, expected_tokens
from tidepool.engine.studies.evolution.asking import SOLUTIONS
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluation.numbering import Numbering
from tidepool.engine.studies.evolution.evaluation.objectives import MOST_ON_FRONT
from tidepool.engine.studies.evolution.evaluation.racing import Rung, calls_in, rungs
from tidepool.engine.studies.evolution.final_test.choosing import BEST
from tidepool.engine.studies.evolution.final_test.seed_final import seed_rungs
from tidepool.engine.studies.evolution.inputs import problems_of, settings_of, warnings_about
from tidepool.engine.studies.evolution.operators.breeding import RANDOM_SEGMENTS, Breeding
from tidepool.engine.studies.evolution.operators.offspring import MOST_TOKENS
from tidepool.engine.studies.evolution.operators.rewrites import (
    MOST_FAILURES,
    REWRITES,
    TASKS,
    FailedProblem,
    rewrite_request,
)
from tidepool.engine.studies.evolution.problems.problem_set import Problem, ProblemSet
from tidepool.engine.studies.evolution.strategies.founders import material_of, seeds_of
from tidepool.engine.studies.evolution.strategies.gepa_questions import MINIBATCH
from tidepool.engine.studies.evolution.tasks.judge import MOST_TOKENS as JUDGE_TOKENS
from tidepool.engine.studies.evolution.tasks.judge import judge_request, judge_system
from tidepool.engine.studies.planned_calls import (
    EXPECTED,
    MOST,
    Plan,
    PlannedCalls,
    Sizing,
    UsualTokens,
    is_simulated,
    merged,
    reasoning_notes,
)

SOLUTION, REWRITE, RATING = UsualTokens(120, 30), UsualTokens(120, 40), UsualTokens(60, 25)
"""a solution, a rewritten prompt and a judge's rating usually have"""
_SHOWN_REPLY = 400
"""letters of a wrong reply that a model reflects on"""
_GROWTH = 2
"""a prompt is taken to become at most so many times as long as the longest seed"""
_SAMPLED = 50
_HEARD = 24
"""solutions of a simulated solver that are heard beforehand"""
_ACCEPTED = 0.25
"""share of GEPA's proposals that are taken to be accepted, and so to meet every problem"""

NOTE = (
    "The whole length is expected: stop rules may end it sooner, and at most no prompt is known before. A solution is "
    "expected to have {} tokens; a prompt is taken to grow to twice the longest seed, or to a rewriter's {} tokens, at most."
)
GEPA_NOTE = "GEPA decides as it goes how much it proposes; its many small waves are shown as three a generation."


def plan(config: FrozenConfig) -> Plan:
    settings, problems = settings_of(config), problems_of(config)
    expected = _ExpectedSearch(_Sizes(settings, problems, EXPECTED))
    most = _WorstSearch(_Sizes(settings, problems, MOST))
    notes = (
        NOTE.format(max(expected.solution(model) for model in settings.solvers()), MOST_TOKENS),
        *((GEPA_NOTE,) if settings.strategy == "gepa" else ()),
    )
    calls, worst = expected.calls(), tuple(most.calls())
    return Plan(
        *(expected.units, calls, (*notes, *reasoning_notes(settings))),
        at_most=worst,
        call_cap=most.cap,
        warnings=warnings_about(config),
    )


def shape(config: FrozenConfig) -> list[str]:
    """How many prompts there can be."""
    size, most = settings_of(config).population_size, settings_of(config).max_generations
    return [f"{size:,} prompts × at most {most:,} generations = {size * most:,}"]


@dataclass(frozen=True)
class _Sizes:
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
        """Prompts that meet the problems that choose."""
        return self.finalists * BEST if self.problems.choosing else 0

    @cached_property
    def on_front(self) -> int:
        """Prompts of a front beside the finalists: at most, or as there often are."""
        return (MOST_ON_FRONT if self.sizing.worst else MOST_ON_FRONT // 2) if self.settings.objectives else 0

    @cached_property
    def seeds(self) -> int:
        return len(seeds_of(self.settings))

    @cached_property
    def children(self) -> int:
        """Of a generation; elites may be too few where seeds are."""
        settings = self.settings
        if settings.strategy == "random":
            return settings.population_size
        kept = min(settings.elite_size, self.seeds) if self.sizing.worst else settings.elite_size
        return settings.population_size - kept

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
    def generations(self) -> int:
        """As many as max_calls lets there be: the next one must fit even if all of it is new and rewritten."""
        settings = self.settings
        if not settings.max_calls:
            return settings.max_generations
        later = self.judged(self.children) + self.rewrites
        room = settings.max_calls - 2 * self.first - settings.population_size
        return 1 if room < 0 else min(settings.max_generations, 2 + room // max(1, later))

    def rungs(self, genomes: int) -> tuple[Rung, ...]:
        return rungs(len(self.problems.training), genomes, self.settings.racing)

    def judged(self, genomes: int) -> int:
        return calls_in(self.rungs(genomes), self.weight)

    @cached_property
    def first(self) -> int:
        return self.judged(self.settings.population_size)

    def seed_final(self) -> list[int]:
        """Problems asked in each rung. What the seeds were answered in the first generation is not asked again; of that
        the least is known."""
        known = min(self.seeds, self.settings.population_size) * self.rungs(self.settings.population_size)[0].end
        asked = []
        for rung in seed_rungs(len(self.problems.training), self.seeds, self.settings.racing):
            asked.append(max(0, rung.entrants * (rung.end - rung.start) - known))
            known = 0
        return asked

    # -- tokens ------------------------------------------------------------------------------------------

    @cached_property
    def _measured(self) -> list[Problem]:
        known = [*self.problems.training, *self.problems.choosing, *self.problems.validation]
        return known if self.sizing.worst else known[:: max(1, len(known) // _SAMPLED)]

    @cached_property
    def _prompt(self) -> int:
        if self.sizing.worst:
            return max(_GROWTH * self.sizing.longest(self._seed_prompts), self._drawn, MOST_TOKENS)
        seed = self.sizing.longest(self._first_prompts)
        return (seed + self._drawn) // 2 if self.settings.strategy == "random" and self.generations > 1 else seed

    @cached_property
    def _seed_prompts(self) -> list[str]:
        return [genome.prompt for genome in seeds_of(self.settings)]

    @property
    def _first_prompts(self) -> list[str]:
        """Those that a search begins with."""
        return self._seed_prompts[: self.settings.population_size]

    @cached_property
    def _drawn(self) -> int:
        """A prompt of sentences drawn at random."""
        count = RANDOM_SEGMENTS[1] if self.sizing.worst else sum(RANDOM_SEGMENTS) / 2
        segments = material_of(self.settings).segments
        return round(min(count, len(segments)) * (self.sizing.longest(segments) + 0.5))

    @cached_property
    def solving(self) -> dict[str, tuple[int, int]]:
        """By model: the tokens of a call, in and out."""
        question = self.sizing.longest(problem.question for problem in self._measured)
        settings = self.settings
        solved = (
            question + self.sizing.longest(_solution(problem) for problem in self._measured) + 2 * TOKENS_PER_MESSAGE
        )
        told = self._prompt + question + TOKENS_PER_MESSAGE
        told += solved * (settings.few_shot if self.sizing.worst else settings.few_shot // 2)
        return {
            model: (told, self.sizing.reply(model, self._solution(model), settings.max_tokens, settings))
            for model in settings.solvers()
        }

    @cached_property
    def judging(self) -> tuple[int, int]:
        """The tokens of a judgement, in and out."""
        settings, judge = self.settings, resolve_model(self.settings.judge)
        told = self.sizing.text(judge_system(settings.rubric)) + TOKENS_PER_MESSAGE
        told += self.sizing.longest(judge_request(problem, " ") for problem in self._measured)
        told += max(
            self.sizing.read_again(model, self._solution(model), settings.max_tokens) for model in settings.solvers()
        )
        return told, self.sizing.reply(judge, RATING, JUDGE_TOKENS, settings)

    def _solution(self, model: str) -> UsualTokens:
        """What a simulated solver says to these prompts can be heard beforehand."""
        if self.sizing.worst or not is_simulated(model):
            return SOLUTION
        from tidepool.engine.simulated.responders import responder_for

        heard = []
        for place, prompt in zip(range(_HEARD), cycle(self._likely_prompts()), strict=False):
            question = self._measured[place % len(self._measured)].question
            call = Call("", 0, model, (Message("user", question),), system=prompt)
            heard.append(expected_tokens(responder_for(call)(call, place).text))
        return UsualTokens(SOLUTION.of_a_model, sum(heard) // len(heard))

    def _likely_prompts(self) -> Iterator[str]:
        """Seeds, and the same with a sentence more, as mutation makes them."""
        sentences = cycle(material_of(self.settings).segments[::7])
        for prompt in self._first_prompts:
            yield prompt
            if self.generations > 1:
                yield f"{prompt} {next(sentences)}"

    @cached_property
    def rewriting(self) -> tuple[int, int]:
        failures = [FailedProblem(one.question, one.answer, "x" * self._shown) for one in self._measured]
        shown = self.sizing.longest(rewrite_request("reflect", "", [one]).user for one in failures)
        request = rewrite_request("reflect", "")
        told = self.sizing.text(request.system) + self.sizing.text(request.user) + self._prompt + TOKENS_PER_MESSAGE
        reflected = 1.0 if self.sizing.worst or self.settings.strategy != "genetic" else 1 / len(REWRITES)
        task = self.sizing.text(TASKS["reflect"])
        told += round(reflected * MOST_FAILURES * max(0, shown - task))
        model = resolve_model(self.settings.mutator)
        return told, self.sizing.reply(model, REWRITE, MOST_TOKENS, self.settings)

    @cached_property
    def _shown(self) -> int:
        """Letters of a wrong reply."""
        if self.sizing.worst:
            return 2 * _SHOWN_REPLY
        return min(_SHOWN_REPLY, 4 * SOLUTION.by(self.settings.solvers()[0]))


class _ExpectedSearch:
    """Generation after generation, in waves."""

    def __init__(self, sizes: _Sizes) -> None:
        self._sizes = sizes
        self._settings = sizes.settings
        self._gepa = self._settings.strategy == "gepa"
        self._numbering = Numbering()
        self._calls: list[PlannedCalls] = []
        self.units = 0

    def solution(self, model: str) -> int:
        return self._sizes.solving[model][1]

    def calls(self) -> tuple[PlannedCalls, ...]:
        settings, sizes = self._settings, self._sizes
        for generation in range(sizes.generations):
            self._generation(generation)
        searched = sum(planned.calls for planned in self._calls)
        if settings.seed_final:
            for asked in sizes.seed_final():
                self._solve(asked)
            self.units += sizes.seeds
        if settings.random_baseline:
            self._solve(self._rival(searched))
        self._solve(sizes.chosen_from * len(sizes.problems.choosing))
        finalists = self._finalists() + sizes.on_front
        self.units += sizes.chosen_from
        self._solve(round(finalists * len(sizes.problems.validation)))
        self.units += round(finalists)
        return merged(self._calls)

    def _finalists(self) -> float:
        """Who leads after one generation is often a seed prompt itself, and is asked once."""
        if self._sizes.generations > 1:
            return self._sizes.finalists
        return 2 - min(1.0, self._sizes.seeds / self._settings.population_size)

    def _rival(self, searched: int) -> int:
        """Problems that a random search meets until it has as many calls: whole generations."""
        each = calls_in(self._sizes.rungs(self._settings.population_size))
        later = (searched - self._sizes.first) / self._sizes.weight
        return each * -(-round(later) // each) if later > 0 else 0

    def _generation(self, generation: int) -> None:
        genomes = self._sizes.children if generation else self._settings.population_size
        asked = [rung.entrants * (rung.end - rung.start) for rung in self._sizes.rungs(genomes)]
        rewrites = self._rewrites() if generation else 0
        if rewrites:
            self._rewrite(rewrites)
        if self._gepa and generation:
            self._propose(rewrites, sum(asked) - (rewrites - self._sizes.rewrites) // self._sizes.weight)
            return
        for one in asked:
            self._solve(one)
        self.units += genomes

    def _rewrites(self) -> int:
        sizes = self._sizes
        if not self._gepa:
            return sizes.rewrites
        whole = sizes.judged(sizes.children) + sizes.rewrites
        return max(1, round(whole / (1 + sizes.weight * (3 + _ACCEPTED * len(sizes.problems.training)))))

    def _propose(self, proposals: int, asked: int) -> None:
        """GEPA's generation: one proposal after the other meets a few problems, and if it is taken all of them."""
        at_first = min(asked, MINIBATCH * proposals)
        self._solve(at_first, proposals)
        self._solve(asked - at_first, max(1, round(_ACCEPTED * proposals)))
        self.units += proposals

    def _rewrite(self, count: int) -> None:
        model, rounds = resolve_model(self._settings.mutator), count if self._gepa else 1
        self._calls.append(PlannedCalls(self._numbering.next_wave(), model, count, *self._sizes.rewriting, rounds))

    def _solve(self, asked: int, rounds: int = 1) -> None:
        self._calls += self._solved(asked, rounds) if asked > 0 else ()

    def _solved(self, asked: int, rounds: int) -> Iterator[PlannedCalls]:
        wave = self._numbering.next_wave()
        for model in self._settings.solvers():
            calls = asked * self._settings.samples
            yield PlannedCalls(wave, model, calls, *self._sizes.solving[model], rounds)
        if self._settings.judged:
            judge, marked = resolve_model(self._settings.judge), asked * self._sizes.weight // 2
            yield PlannedCalls(self._numbering.next_wave(), judge, marked, *self._sizes.judging, rounds)


class _WorstSearch:
    """All that can come together: no stop rule but max_calls and max_generations, no prompt that is known before."""

    def __init__(self, sizes: _Sizes) -> None:
        self._sizes = sizes
        settings = sizes.settings
        generations = settings.max_generations - 1
        solves, rewrites = generations * sizes.judged(sizes.children), generations * sizes.rewrites
        later = solves + rewrites
        if settings.strategy == "gepa" and generations:
            later += 1 + sizes.weight * (2 * MINIBATCH + len(sizes.problems.training))
            solves = rewrites = later
        if settings.max_calls:
            later = min(later, max(0, settings.max_calls - sizes.first))
        self._solves = sizes.first + min(solves, later)
        self._rewrites = min(rewrites, later)
        self._after = self._afterwards(later)
        self.cap = sizes.first + later + self._after
        """solves and rewrites cannot both reach their most where max_calls binds"""

    def _afterwards(self, later: int) -> int:
        """Calls of the seeds' final, of a random search that goes on until it has as many, and of the held-out problems."""
        sizes, settings = self._sizes, self._sizes.settings
        problems = (sizes.finalists + sizes.on_front) * len(sizes.problems.validation)
        problems += sizes.chosen_from * len(sizes.problems.choosing)
        problems += sum(sizes.seed_final()) if settings.seed_final else 0
        rival = later + sizes.first if settings.random_baseline and later else 0
        return problems * sizes.weight + rival

    def calls(self) -> Iterator[PlannedCalls]:
        settings = self._sizes.settings
        if self._rewrites:
            yield PlannedCalls(1, resolve_model(settings.mutator), self._rewrites, *self._sizes.rewriting)
        solved = self._solves + self._after
        if settings.judged:
            solved -= solved // 2
            yield PlannedCalls(1, resolve_model(settings.judge), solved, *self._sizes.judging)
        for model in settings.solvers():
            yield PlannedCalls(1, model, -(-solved // len(settings.solvers())), *self._sizes.solving[model])


def _solution(problem: Problem) -> str:
    """At least as long as an example shows it."""
    worked = max((str(problem.fields.get(name) or "") for name in SOLUTIONS), key=len)
    return f"{worked}\n#### {problem.answer}"
