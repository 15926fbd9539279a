"""What an evolution will take: its whole length, unless a stop rule ends it sooner; and the most it can take."""

from collections.abc import Iterator

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluation.numbering import Numbering
from tidepool.engine.studies.evolution.evaluation.racing import calls_in
from tidepool.engine.studies.evolution.inputs import problems_of, settings_of, warnings_about
from tidepool.engine.studies.evolution.operators.offspring import MOST_TOKENS
from tidepool.engine.studies.evolution.plan_sizes import PlanSizes
from tidepool.engine.studies.evolution.problems.problem_set import ProblemSet
from tidepool.engine.studies.evolution.strategies.gepa_questions import MINIBATCH
from tidepool.engine.studies.evolution.tasks.code import code_warnings
from tidepool.engine.studies.evolution.tasks.task import AnswerTask
from tidepool.engine.studies.planned_calls import (
    EXPECTED,
    MOST,
    Plan,
    PlannedCalls,
    merged,
    reasoning_notes,
)
from tidepool.storage.text import one_line

_ACCEPTED = 0.5
"""share of GEPA's proposals that are taken to be accepted, and so to meet every problem"""

NOTE = (
    "The whole length is expected: stop rules may end it sooner. At most, no two prompts are the same. A solution is "
    "expected to have {} tokens; a prompt is taken to grow to twice the longest seed, or to a rewriter's {} tokens, at most."
)
GEPA_NOTE = "GEPA decides as it goes how much it proposes; its many small waves are shown as three a generation."


def plan(config: FrozenConfig) -> Plan:
    settings, problems = settings_of(config), problems_of(config)
    expected = _ExpectedSearch(PlanSizes(settings, problems, EXPECTED))
    most = _WorstSearch(PlanSizes(settings, problems, MOST))
    notes = (
        _data(settings, problems),
        NOTE.format(max(expected.solution(model) for model in settings.solvers()), MOST_TOKENS),
        *((GEPA_NOTE,) if settings.strategy == "gepa" else ()),
    )
    calls, worst = expected.calls(), tuple(most.calls())
    return Plan(
        *(expected.units, calls, (*notes, *reasoning_notes(settings))),
        at_most=worst,
        call_cap=most.cap,
        warnings=(*code_warnings(settings), *warnings_about(config)),
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

    def solution(self, model: str) -> int:
        return self._sizes.solving[model][1]

    def calls(self) -> tuple[PlannedCalls, ...]:
        settings, sizes = self._settings, self._sizes
        for generation in range(sizes.generations):
            self._generation(generation)
        if self._gepa and sizes.generations > 1 and not settings.max_calls:
            self._solve(round(self._proposed / 2))
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
        each = calls_in(self._sizes.rungs(self._sizes.drawn_anew))
        later = (searched - self._sizes.first) / self._sizes.weight
        return each * -(-round(later) // each) if later > 0 else 0

    def _generation(self, generation: int) -> None:
        genomes = self._sizes.children if generation else self._settings.population_size
        asked = [rung.entrants * (rung.end - rung.start) for rung in self._sizes.rungs(genomes)]
        rewrites = self._rewrites() if generation else 0
        if rewrites:
            self._rewrite(rewrites)
        if self._gepa and generation:
            self._propose(rewrites, round(rewrites / self._sizes.proposals * self._proposed))
            return
        for one in asked:
            self._solve(one)
        self.units += genomes

    def _rewrites(self) -> int:
        sizes = self._sizes
        if not self._gepa:
            return sizes.rewrites
        times = (sizes.judged(sizes.children) + sizes.rewrites) / (sizes.proposals + sizes.weight * self._proposed)
        return round(max(1.0, times) * sizes.proposals)

    @property
    def _proposed(self) -> float:
        """Problems of GEPA's proposals of one time: it looks at its calls only between two of them."""
        return self._sizes.proposals * (MINIBATCH + _ACCEPTED * len(self._sizes.problems.training))

    def _propose(self, proposals: int, asked: int) -> None:
        """GEPA's generation: some proposals at a time meet a few problems, and those that are taken all of them."""
        at_first = min(asked, MINIBATCH * proposals)
        together = self._sizes.proposals
        self._solve(at_first, -(-proposals // together))
        self._solve(asked - at_first, max(1, round(_ACCEPTED * proposals / together)))
        self.units += proposals

    def _rewrite(self, count: int) -> None:
        model, rounds = resolve_model(self._settings.mutator), -(-count // self._sizes.proposals) if self._gepa else 1
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

    def __init__(self, sizes: PlanSizes) -> None:
        self._sizes = sizes
        settings = sizes.settings
        generations = settings.max_generations - 1
        solves, rewrites = generations * sizes.judged(sizes.children), generations * sizes.rewrites
        later = solves + rewrites
        if settings.strategy == "gepa" and generations:
            proposed = sizes.proposals * (1 + sizes.weight * (2 * MINIBATCH + len(sizes.problems.training)))
            solves = rewrites = later = max(later, generations * proposed) + proposed
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
