"""What an evolution may take at most: stop rules can only make it shorter."""

from collections.abc import Iterator
from dataclasses import replace

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.prices import expected_tokens
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluation.numbering import Numbering
from tidepool.engine.studies.evolution.evaluation.objectives import MOST_ON_FRONT
from tidepool.engine.studies.evolution.evaluation.racing import Rung, calls_in, rungs
from tidepool.engine.studies.evolution.final_test.choosing import BEST
from tidepool.engine.studies.evolution.final_test.seed_final import seed_rungs
from tidepool.engine.studies.evolution.inputs import problems_of, settings_of, warnings_about
from tidepool.engine.studies.evolution.operators.breeding import Breeding
from tidepool.engine.studies.evolution.problems.problem_set import ProblemSet
from tidepool.engine.studies.evolution.strategies.founders import seeds_of
from tidepool.engine.studies.evolution.strategies.gepa_questions import MINIBATCH
from tidepool.engine.studies.evolution.tasks.judge import judge_system
from tidepool.engine.studies.planned_calls import Plan, PlannedCalls, merged, with_reasoning

PROMPT_TOKENS = 60
REPLY_TOKENS = 120
REWRITE_TOKENS = (400, 120)
JUDGE_TOKENS = 60
_SAMPLED = 50
_ACCEPTED = 0.25
"""share of GEPA's proposals that are taken to be accepted, and so to meet every problem"""

NOTE = (
    f"This is the most it takes: stop rules may end it sooner. A prompt is taken to have {PROMPT_TOKENS} tokens, a "
    f"reply {REPLY_TOKENS}."
)
GEPA_NOTE = "GEPA decides as it goes how much it proposes; its many small waves are shown as three a generation."


def plan(config: FrozenConfig) -> Plan:
    settings = settings_of(config)
    found = replace(_SearchPlan(settings, problems_of(config)).plan(), warnings=warnings_about(config))
    return with_reasoning(found, settings)


def shape(config: FrozenConfig) -> list[str]:
    """How many prompts there can be."""
    size, most = settings_of(config).population_size, settings_of(config).max_generations
    return [f"{size:,} prompts × at most {most:,} generations = {size * most:,}"]


class _SearchPlan:
    def __init__(self, settings: EvolutionSettings, problems: ProblemSet) -> None:
        self._settings = settings
        self._training, self._validation = len(problems.training), len(problems.validation)
        self._choosing = len(problems.choosing)
        self._gepa = settings.strategy == "gepa"
        self._children = settings.population_size - (0 if settings.strategy == "random" else settings.elite_size)
        self._weight = settings.calls_of_problem()
        self._numbering = Numbering()
        self._calls: list[PlannedCalls] = []
        self._units = 0
        sampled = problems.training[:_SAMPLED]
        self._question = sum(expected_tokens(problem.question) for problem in sampled) // len(sampled)
        self._expected = sum(expected_tokens(problem.answer) for problem in sampled) // len(sampled)

    def plan(self) -> Plan:
        settings = self._settings
        for generation in range(self._generations()):
            self._generation(generation)
        searched = sum(planned.calls for planned in self._calls)
        if settings.seed_final:
            self._seed_final()
        if settings.random_baseline:
            self._solve(searched // self._weight)
        finalists = 3 if settings.random_baseline else 2
        if self._choosing:
            self._solve(finalists * BEST * self._choosing)
            self._units += finalists * BEST
        finalists += MOST_ON_FRONT if settings.objectives else 0
        self._solve(finalists * self._validation)
        return Plan(self._units + finalists, merged(self._calls), (NOTE, GEPA_NOTE) if self._gepa else (NOTE,))

    def _generations(self) -> int:
        """As many as max_calls lets there be."""
        settings = self._settings
        if not settings.max_calls:
            return settings.max_generations
        first = calls_in(self._rungs(settings.population_size), self._weight)
        later = calls_in(self._rungs(self._children), self._weight) + self._rewrites()
        return max(1, min(settings.max_generations, 1 + (settings.max_calls - first) // max(1, later)))

    def _generation(self, generation: int) -> None:
        genomes = self._children if generation else self._settings.population_size
        asked = [rung.entrants * (rung.end - rung.start) for rung in self._rungs(genomes)]
        rewrites = self._rewrites() if generation else 0
        if rewrites:
            self._rewrite(rewrites)
        if self._gepa and generation:
            self._propose(rewrites, sum(asked) - (rewrites - self._rewritten_by_breeding()) // self._weight)
            return
        for one in asked:
            self._solve(one)
        self._units += genomes

    def _propose(self, proposals: int, asked: int) -> None:
        """GEPA's generation: one proposal after the other meets a few problems, and if it is taken all of them."""
        at_first = min(asked, MINIBATCH * proposals)
        self._solve(at_first, proposals)
        self._solve(asked - at_first, max(1, round(_ACCEPTED * proposals)))
        self._units += proposals

    def _seed_final(self) -> None:
        """What the seeds were answered in the first generation is not asked again; of that the least is known."""
        settings, seeds = self._settings, len(seeds_of(self._settings))
        known = min(seeds, settings.population_size) * self._rungs(settings.population_size)[0].end
        for rung in seed_rungs(self._training, seeds, settings.racing):
            self._solve(rung.entrants * (rung.end - rung.start) - known)
            known = 0
        self._units += seeds

    def _rungs(self, genomes: int) -> tuple[Rung, ...]:
        return rungs(self._training, genomes, self._settings.racing)

    def _rewrites(self) -> int:
        """Of one generation."""
        match self._settings.strategy:
            case "random":
                return 0
            case "genetic":
                return self._rewritten_by_breeding()
            case "gepa":
                whole = calls_in(self._rungs(self._children), self._weight) + self._rewritten_by_breeding()
                return max(1, round(whole / (1 + self._weight * (3 + _ACCEPTED * self._training))))
        return self._children

    def _rewritten_by_breeding(self) -> int:
        return round(self._children * Breeding().rewrite_share)

    def _rewrite(self, count: int) -> None:
        model, rounds = resolve_model(self._settings.mutator), count if self._gepa else 1
        self._calls.append(PlannedCalls(self._numbering.next_wave(), model, count, *REWRITE_TOKENS, rounds))

    def _solve(self, asked: int, rounds: int = 1) -> None:
        self._calls += self._solved(asked, rounds) if asked > 0 else ()

    def _solved(self, asked: int, rounds: int) -> Iterator[PlannedCalls]:
        wave = self._numbering.next_wave()
        for model in self._settings.solvers():
            calls = asked * self._settings.samples
            yield PlannedCalls(wave, model, calls, PROMPT_TOKENS + self._question, REPLY_TOKENS, rounds)
        if self._settings.judged:
            marked = asked * self._settings.samples * len(self._settings.solvers())
            told = expected_tokens(judge_system(self._settings.rubric)) + self._question + self._expected + REPLY_TOKENS
            judge = resolve_model(self._settings.judge)
            yield PlannedCalls(self._numbering.next_wave(), judge, marked, told, JUDGE_TOKENS, rounds)
