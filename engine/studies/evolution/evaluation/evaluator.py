"""Where prompts are judged: generation after generation on the training problems, by racing where that is asked.

A strategy brings genomes and reads scores; it never sees a held-out problem. What was judged once is known and is
not asked again, so elites cost nothing.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean

from tidepool.engine.errors import RunError
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.statistics.contrasts import of_mean
from tidepool.engine.streams import stream
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.evaluation.diversity import distance_to_rest, mean_distance
from tidepool.engine.studies.evolution.evaluation.fitness import Fitness
from tidepool.engine.studies.evolution.evaluation.grader import Grader, Marks, Paper
from tidepool.engine.studies.evolution.evaluation.numbering import Numbering
from tidepool.engine.studies.evolution.evaluation.objectives import MEASURES, fronts, objectives
from tidepool.engine.studies.evolution.evaluation.objectives import scores as pareto_scores
from tidepool.engine.studies.evolution.evaluation.racing import Rung, calls_in, comparable, rungs, survivors
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.guards import Guard
from tidepool.engine.studies.evolution.operators.selection import elites
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.records.recorder import Recorder
from tidepool.engine.studies.evolution.stopping import Generation, StopRules, stopped_by

NOTHING_ANSWERED = "none of its calls was answered"


class Evaluator:
    def __init__(
        self,
        run: BatchRun,
        settings: EvolutionSettings,
        problems: Sequence[Problem],
        grader: Grader,
        numbering: Numbering,
        recorder: Recorder | None,
        letter: str = "g",
    ) -> None:
        self.run = run
        self.settings = settings
        self.grader = grader
        self.numbering = numbering
        self.problems = problems
        self.known: dict[str, Candidate] = {}
        """by key"""
        self.history: list[Generation] = []
        self.calls = 0
        self.units_ahead = 0
        """units there may be in all, as far as one can tell before the search is over"""
        self.calls_saved = 0
        """by racing, against asking every genome every problem"""
        self.showable = grader.asking.showable(settings.few_shot)
        self.guard = Guard(settings.task, settings.labels, problems, bool(settings.guards))
        self.rewrites: Counter[str] = Counter()
        """what became of those that came back: accepted, or why they were refused"""
        self._recorder = recorder
        self._letter = letter
        self._calls_told = 0
        self.objectives = objectives(settings.objectives)
        self._weights = settings.stated_weights()
        self._answered = True

    # -- for strategies ----------------------------------------------------------------------------------

    def stream(self, *address: object) -> Random:
        return stream(self.run.seed, self._letter, *address)

    async def judge(self, genomes: Sequence[Genome]) -> None:
        """One generation: its new prompts meet the problems."""
        entrants = self.admit(genomes)
        await self._race(entrants, len(self.history))
        self._check_measures([one.fitness for one in entrants if one.fitness])
        self.end_generation(genomes, entrants)

    def _check_measures(self, judged: Sequence[Fitness]) -> None:
        """What a scorer calls its metrics is known by its marks alone; in one that it never gives all would be equal."""
        for one in self.objectives:
            if judged and all(one.measured(fitness) is None for fitness in judged):
                given = ", ".join(sorted({name for fitness in judged for name in fitness.metrics})) or "none"
                raise RunError(
                    f"evolution.objectives names {one.name!r}, which is no measure ({', '.join(MEASURES)}) and none of the scorer's "
                    f"metrics (it gave: {given}). Mend the name and run the config anew: what was answered comes from the cache."
                )

    def stopped(self) -> str | None:
        """The rule that ends the search now, if one does."""
        if not self._answered:
            return "unanswered"
        settings = self.settings
        rules = StopRules(settings.target_fitness, settings.max_generations, settings.stagnation)
        if rule := stopped_by(self.history, rules):
            return rule
        next_calls = self.calls_of_generation(settings.population_size, settings.population_size)
        return "max_calls" if 0 < settings.max_calls < self.calls + next_calls else None

    def scores(self, genomes: Sequence[Genome]) -> list[float]:
        """Scores that can be compared, whether they rest on few replies or on many."""
        return self._scores([self.known[genome.key] for genome in genomes])

    def leader(self, operator: str | None = None) -> Candidate:
        """The best of all, or of those that came about in this way; where there are several objectives, the one of their front
        that is best in the first of them."""
        return self.leaders(1, operator)[0]

    def leaders(self, count: int, operator: str | None = None) -> list[Candidate]:
        """The best so many, in order."""
        candidates = self.front(operator) or [
            one for one in self.known.values() if operator in (None, one.genome.operator)
        ]
        first = self.objectives[:1]
        scores = _comparable(candidates, first[0].of) if first else self._scores(candidates)
        return [candidates[index] for index in elites(scores, count)]

    def front(self, operator: str | None = None) -> list[Candidate]:
        """Those who met all problems and whom none of these beats in every objective, best in the first one first."""
        if not self.objectives:
            return []
        whole = [
            one
            for one in self.known.values()
            if one.fitness and one.met >= len(self.problems) and operator in (None, one.genome.operator)
        ]
        points = self._points(whole)
        first = fronts(points)[0] if points else []
        return [whole[index] for index in sorted(first, key=lambda index: (-points[index][0], index))]

    def _points(self, candidates: Sequence[Candidate]) -> list[tuple[float, ...]]:
        return list(zip(*(_comparable(candidates, one.of) for one in self.objectives), strict=True))

    def _scores(self, candidates: Sequence[Candidate]) -> list[float]:
        if self.objectives:
            return pareto_scores(self._points(candidates))
        return _comparable(candidates, lambda fitness: fitness.total if fitness else None)

    def _racing_scores(self, candidates: Sequence[Candidate]) -> list[float | None]:
        """On the same problems, so as they are; None: nothing came back."""
        if not self.objectives:
            return [one.total for one in candidates]
        return [score if one.fitness else None for score, one in zip(self._scores(candidates), candidates, strict=True)]

    def order(self, generation: int) -> list[int]:
        """In which order the problems come: other ones decide early in every generation."""
        order = list(range(len(self.problems)))
        self.stream("order", generation).shuffle(order)
        return order

    def calls_of_generation(self, genomes: int, rewrites: int) -> int:
        """What a generation of so many new genomes takes."""
        return self.grader.calls_for(calls_in(self._rungs(genomes))) + rewrites

    def fork(self, letter: str) -> "Evaluator":
        """Another search from the same judged seeds, which it has paid for too; it leaves no genomes in the file."""
        other = Evaluator(self.run, self.settings, self.problems, self.grader, self.numbering, None, letter)
        other.known = {prompt: one for prompt, one in self.known.items() if one.genome.generation == 0}
        other.history = self.history[:1]
        other.calls = other._calls_told = self.history[0].calls
        return other

    # -- one generation, and its parts for strategies that have none ---------------------------------------

    def admit(
        self, genomes: Sequence[Genome], first_place: int = 0, why: str = "genome", rest: Sequence[str] = ()
    ) -> list[Candidate]:
        """Those that are new, each with a unit of its own. `rest` are the shapes of others of the same population."""
        generation = len(self.history)
        shapes = [*(genome.shape for genome in genomes), *rest]
        entrants = []
        for place, genome in enumerate(genomes, first_place):
            if genome.key in self.known:
                continue
            distance = distance_to_rest(place - first_place, shapes, self.stream("distance", generation, place))
            unit = self._open(genome, why if self._letter == "g" else "random_search")
            candidate = Candidate(
                genome, f"{self._letter}{generation}.{place}", unit, distance, spoken=self.grader.asking.spoken(genome)
            )
            self.known[genome.key] = candidate
            entrants.append(candidate)
        return entrants

    def call_back(self, candidate: Candidate, why: str) -> None:
        """A candidate that was closed is to be asked more: in a unit of its own, for the first one has ended."""
        candidate.unit = self._open(candidate.genome, why)

    def _open(self, genome: Genome, why: str) -> Unit:
        unit = self.run.open_unit(
            self.numbering.next_unit(), participants=(genome.id,), round=genome.generation, interaction_type=why
        )
        self.run.expect_units(max(self.numbering.units, self.units_ahead))
        return unit

    async def _race(self, entrants: list[Candidate], generation: int) -> None:
        order = self.order(generation)
        racing = list(range(len(entrants)))
        before = self.calls
        for rung in self._rungs(len(entrants)) if entrants else ():
            places = order[rung.start : rung.end]
            await self.meet([(entrants[index], places) for index in racing], rung.look)
            kept = survivors(
                dict(zip(racing, self._racing_scores([entrants[index] for index in racing]), strict=True)), rung.keep
            )
            for index in set(racing) - set(kept):
                self.close(entrants[index])
            racing = kept
        for index in racing:
            self.close(entrants[index])
        self.calls_saved += self.grader.calls_for(len(self.problems) * len(entrants)) - (self.calls - before)

    async def meet(self, sittings: Sequence[tuple[Candidate, Sequence[int]]], look: int = 0) -> list[Marks]:
        """Contenders meet problems, each its own: one wave."""
        wave = self.numbering.next_wave(self.grader.waves)
        papers = [
            Paper(
                one.unit,
                one.name,
                one.genome,
                [(place, self.problems[place]) for place in places],
                "search",
                wave,
                look * self.settings.samples,
            )
            for one, places in sittings
        ]
        marked = await self.grader.mark(papers)
        for (candidate, places), marks in zip(sittings, marked, strict=True):
            candidate.take(marks, [self.problems[place] for place in places], self._weights)
            candidate.met += 0 if look else len(places)
            candidate.looked_again |= bool(look)
        self.calls += self.grader.calls_for(sum(len(places) for _, places in sittings))
        return marked

    def _rungs(self, genomes: int) -> tuple[Rung, ...]:
        return rungs(len(self.problems), genomes, self.settings.racing)

    def close(self, candidate: Candidate) -> None:
        if self._recorder and not candidate.unit.settled:
            self._recorder.tell_genome(candidate.genome, candidate)
        self.run.close_unit(candidate.unit, None if candidate.fitness else NOTHING_ANSWERED)

    def end_generation(self, genomes: Sequence[Genome], entrants: Sequence[Candidate]) -> None:
        """`genomes` is the population as it now is, `entrants` those of it that were new."""
        generation = len(self.history)
        self._answered = not entrants or any(entrant.fitness for entrant in entrants)
        population = [self.known[genome.key] for genome in genomes]
        known = [one.total for one in population if one.total is not None]
        shapes = [genome.shape for genome in genomes]
        leader = self.leader()
        told = Generation(
            generation,
            best=leader.total or 0.0,
            mean=fmean(known) if known else 0.0,
            diversity=self._diversity(shapes),
            calls=self.calls - self._calls_told,
            mean_ci95=spread.interval if (spread := of_mean(known)) else None,
        )
        self._calls_told = self.calls
        self.history.append(told)
        if self._recorder:
            for genome, candidate in zip(genomes, population, strict=True):
                if genome.generation == generation and genome is not candidate.genome:
                    self._recorder.tell_genome(genome, candidate)
            missing = fmean(entrant.missing for entrant in entrants) if entrants else 0.0
            self._recorder.tell_generation(told, leader, missing, new=any(not one.unit.settled for one in entrants))

    def _diversity(self, prompts: Sequence[str]) -> float:
        """One prompt alone is no collapsed population: what was known before still holds."""
        if len(prompts) < 2 and self.history:
            return self.history[-1].diversity
        return mean_distance(prompts, self.stream("diversity", len(self.history)))


def _comparable(candidates: Sequence[Candidate], measure: Callable[[Fitness | None], float | None]) -> list[float]:
    replies = [one.fitness.replies if one.fitness else 0 for one in candidates]
    return comparable([measure(one.fitness) for one in candidates], replies)
