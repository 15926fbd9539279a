"""Evaluates generations of prompts: racing by successive halving, stop rules, and what is written to the file.

Problems come in rungs, each about as long as all rungs before it together. After each rung, the weaker half of the genomes
drops out. A leading genome that finished all problems gets all of them a second time. The best of many looks better than it
is, and a lucky score would keep out better prompts for generations.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from statistics import fmean
from typing import Any

from tidepool.engine.call import stream
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.evolution.config import EvolutionSettings, WeightSettings
from tidepool.engine.studies.evolution.fitness import (
    Fitness,
    Replies,
    distance_to_rest,
    fitness_of,
    mean_distance,
    overall,
)
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.grader import Grader, Marks, Paper
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.records import GENERATION
from tidepool.engine.studies.evolution.rewrites import MOST_FAILURES, FailedProblem, Guard
from tidepool.engine.studies.evolution.variation import elites
from tidepool.storage import tables

COLLAPSED_DIVERSITY = 0.02
"""mean pairwise distance below which the prompts of a population differ only by typing errors"""
LEAST_GAIN = 0.001
"""minimum increase of the best fitness that counts as progress"""


@dataclass(frozen=True, slots=True)
class Generation:
    generation: int
    best: float
    mean: float
    diversity: float
    calls: int = 0


def stopped_by(history: Sequence[Generation], target_fitness: float, most: int, stagnation: int) -> str | None:
    """The first rule that holds, in this order: target_fitness, max_generations, stagnation (0 = never), diversity."""
    if not history:
        return None
    last = history[-1]
    if last.best >= target_fitness:
        return "target_fitness"
    if len(history) >= most:
        return "max_generations"
    if stagnation and generations_without_progress(history) >= stagnation:
        return "stagnation"
    return "diversity" if last.diversity <= COLLAPSED_DIVERSITY else None


def generations_without_progress(history: Sequence[Generation]) -> int:
    """Since the last noticeable increase of the best fitness."""
    best, since = float("-inf"), 0
    for generation in history:
        if generation.best >= best + LEAST_GAIN:
            best, since = generation.best, 0
        else:
            since += 1
    return since


class Numbering:
    def __init__(self) -> None:
        self.units = 0
        self.waves = 0

    def next_unit(self) -> int:
        self.units += 1
        return self.units

    def next_wave(self, count: int = 1) -> int:
        """The first of `count` numbers."""
        self.waves += count
        return self.waves - count + 1


FIRST_RUNG = 5
"""with fewer problems, the result of a rung would be mostly chance"""
MOST_RUNGS = 5
MIN_SURVIVORS = 2
DOUBT = 40
"""weight of the prior, in replies: a score from this many replies counts half, the mean of all scores the other half"""


@dataclass(frozen=True, slots=True)
class Rung:
    """`entrants` genomes get the problems `start` to `end`; then the best `keep` of them continue."""

    start: int
    end: int
    entrants: int
    keep: int
    look: int = 0
    """1: the problems are asked a second time"""


def rungs(problems: int, genomes: int, racing: bool = True, first: int = FIRST_RUNG) -> tuple[Rung, ...]:
    """The first rung has at least `first` problems if there are enough. Without racing, there is one rung with all problems."""
    if not racing:
        return (Rung(0, problems, genomes, genomes),)
    plan, start, entrants = [], 0, genomes
    for end in _ends(problems, first):
        keep = min(entrants, max(MIN_SURVIVORS, (entrants + 1) // 2))
        plan.append(Rung(start, end, entrants, keep))
        start, entrants = end, keep
    return (*plan, Rung(0, problems, entrants, entrants, look=1))


def _ends(problems: int, first: int) -> list[int]:
    ends = [problems]
    while ends[0] // 2 >= first and len(ends) < MOST_RUNGS:
        ends.insert(0, ends[0] // 2)
    return ends


def calls_in(plan: Sequence[Rung]) -> int:
    return sum(rung.entrants * (rung.end - rung.start) for rung in plan)


def survivors(scores: Mapping[int, float | None], keep: int) -> list[int]:
    """The genomes that continue, the best first, and the earlier one first among equals.

    A genome without a score got no replies at all, which is not its fault. It takes a place in the middle of the field, and
    continues if there is room.
    """
    known = sorted(score for score in scores.values() if score is not None)
    middle = known[len(known) // 2] if known else 0.0
    placed = {genome: middle if score is None else score for genome, score in scores.items()}
    return sorted(placed, key=lambda genome: (-placed[genome], genome))[:keep]


@dataclass(slots=True)
class Candidate:
    genome: Genome
    name: str
    """e.g. g4.17"""
    unit: Unit
    diversity: float
    """its mean distance to the rest of its generation"""
    replies: dict[str, list[Replies]] = field(default_factory=dict)
    """by model, one entry for each problem it got"""
    failures: list[FailedProblem] = field(default_factory=list)
    """problems it got wrong, shown to a model that reflects"""
    sample_count: int = 0
    problems_done: int = 0
    """distinct problems it got, in the order of its generation"""
    looked_again: bool = False
    """it got all of them a second time"""
    by_model: Mapping[str, Fitness | None] = field(default_factory=dict)
    fitness: Fitness | None = None
    """None: no replies"""

    def add_marks(self, marks: Marks, problems: Sequence[Problem], weights: WeightSettings) -> None:
        for model, marked in marks.items():
            verdicts = self.replies.setdefault(model, [])
            for problem, samples in zip(problems, marked, strict=True):
                verdicts.append([sample and sample.verdict for sample in samples])
                self.sample_count += len(samples)
                text = next((reply.text for reply in samples if reply and not reply.verdict.correct), None)
                if text is not None and len(self.failures) < MOST_FAILURES:
                    self.failures.append(FailedProblem(problem.question, problem.answer, text))
        self.by_model = {
            model: fitness_of(replies, self.genome.prompt, self.diversity, weights)
            for model, replies in self.replies.items()
        }
        self.fitness = overall(list(self.by_model.values()))

    @property
    def total(self) -> float | None:
        return self.fitness.total if self.fitness else None

    @property
    def missing(self) -> float:
        return self.fitness.missing if self.fitness else 1.0

    def details(self) -> dict[str, Any]:
        """What the file stores of it besides the contract's columns."""
        by_model = {
            model: fitness and {"fitness": fitness.total, "accuracy": fitness.accuracy}
            for model, fitness in self.by_model.items()
        }
        return {
            "unit": self.unit.number,
            "asked": self.sample_count,
            **(asdict(self.fitness) if self.fitness else {}),
            "by_model": by_model,
        }


NOTHING_ANSWERED = "all of its requests failed"


class Evaluator:
    def __init__(
        self,
        run: BatchRun,
        settings: EvolutionSettings,
        problems: Sequence[Problem],
        grader: Grader,
        numbering: Numbering,
        letter: str = "g",
    ) -> None:
        self.run = run
        self.settings = settings
        self.grader = grader
        self.numbering = numbering
        self.problems = problems
        self.known: dict[str, Candidate] = {}
        """by prompt"""
        self.history: list[Generation] = []
        self.calls = 0
        self.units_ahead = 0
        """largest possible number of units, as far as known before the search is over"""
        self.calls_saved = 0
        """by racing, compared with asking every genome every problem"""
        self.guard = Guard(problems)
        self.rewrites: Counter[str] = Counter()
        """counts of rewrites: accepted, or the reason why they were refused"""
        self._letter = letter
        """g: the search of the study; another one leaves no genomes in the file"""
        self._calls_reported = 0
        self._weights = settings.weights
        self._answered = True

    # -- for strategies ----------------------------------------------------------------------------------

    def stream(self, *address: object) -> Random:
        return stream(self.run.seed, self._letter, *address)

    async def judge(self, genomes: Sequence[Genome]) -> None:
        """Evaluates the new prompts of one generation."""
        entrants = self.admit(genomes)
        await self._race(entrants, len(self.history))
        self.end_generation(genomes, entrants)

    def stopped(self) -> str | None:
        """The rule that stops the search now, or None."""
        if not self._answered:
            return "unanswered"
        settings = self.settings
        if rule := stopped_by(self.history, settings.target_fitness, settings.max_generations, settings.stagnation):
            return rule
        next_calls = self.calls_of_generation(settings.population_size, settings.population_size, most=True)
        return "max_calls" if 0 < settings.max_calls < self.calls + next_calls else None

    def scores(self, genomes: Sequence[Genome]) -> list[float]:
        """Scores that are comparable, regardless of the number of replies."""
        return _comparable([self.known[genome.prompt] for genome in genomes])

    def leader(self, operator: str | None = None) -> Candidate:
        """The best of all, or of those made by this operator."""
        candidates = [candidate for candidate in self.known.values() if operator in (None, candidate.genome.operator)]
        return candidates[elites(_comparable(candidates), 1)[0]]

    def order(self, generation: int) -> list[int]:
        """The order of the problems. It changes by generation, so that different problems decide early."""
        order = list(range(len(self.problems)))
        self.stream("order", generation).shuffle(order)
        return order

    def calls_of_generation(self, genomes: int, rewrites: int, *, most: bool = False) -> int:
        """The requests of a generation with `genomes` new genomes."""
        return self.grader.calls_for(calls_in(self._rungs(genomes)), most=most) + rewrites

    def fork(self, letter: str) -> "Evaluator":
        """Another search from the same evaluated seeds, whose requests count for it too."""
        fork = Evaluator(self.run, self.settings, self.problems, self.grader, self.numbering, letter)
        fork.known = {prompt: candidate for prompt, candidate in self.known.items() if candidate.genome.generation == 0}
        fork.history = self.history[:1]
        fork.calls = fork._calls_reported = self.history[0].calls
        return fork

    # -- one generation, and its parts for strategies without generations ---------------------------------------

    def admit(
        self, genomes: Sequence[Genome], first_place: int = 0, purpose: str = "genome", rest: Sequence[str] = ()
    ) -> list[Candidate]:
        """The new genomes, each with its own unit. `rest` are other prompts of the same population."""
        generation = len(self.history)
        prompts = [*(genome.prompt for genome in genomes), *rest]
        entrants = []
        for place, genome in enumerate(genomes, first_place):
            if genome.prompt in self.known:
                continue
            distance = distance_to_rest(place - first_place, prompts, self.stream("distance", generation, place))
            unit = self._open(genome, purpose if self._letter == "g" else "random_search")
            candidate = Candidate(genome, f"{self._letter}{generation}.{place}", unit, distance)
            self.known[genome.prompt] = candidate
            entrants.append(candidate)
        return entrants

    def reopen(self, candidate: Candidate, purpose: str) -> None:
        """Opens a new unit for a closed candidate that gets more problems, since its first unit has ended."""
        candidate.unit = self._open(candidate.genome, purpose)

    def _open(self, genome: Genome, purpose: str) -> Unit:
        unit = self.run.open_unit(
            self.numbering.next_unit(), participants=(genome.id,), round=genome.generation, interaction_type=purpose
        )
        self.run.expect_units(max(self.numbering.units, self.units_ahead))
        return unit

    async def _race(self, entrants: list[Candidate], generation: int) -> None:
        order = self.order(generation)
        racing, asked = list(range(len(entrants))), 0
        for rung in self._rungs(len(entrants)) if entrants else ():
            places = order[rung.start : rung.end]
            await self.evaluate([(entrants[index], places) for index in racing], rung.look)
            asked += len(racing) * len(places)
            remaining = survivors({index: entrants[index].total for index in racing}, rung.keep)
            for index in set(racing) - set(remaining):
                self.close(entrants[index])
            racing = remaining
        for index in racing:
            self.close(entrants[index])
        self.calls_saved += self.grader.calls_for(len(self.problems) * len(entrants) - asked)

    async def evaluate(self, assignments: Sequence[tuple[Candidate, Sequence[int]]], look: int = 0) -> list[Marks]:
        """Asks each candidate its own problems, in one wave."""
        wave = self.numbering.next_wave(self.grader.waves)
        papers = [
            Paper(
                entrant.unit,
                entrant.name,
                entrant.genome,
                [(place, self.problems[place]) for place in places],
                "search",
                wave,
                look * self.settings.samples,
            )
            for entrant, places in assignments
        ]
        marked = await self.grader.mark(papers)
        for (candidate, places), marks in zip(assignments, marked, strict=True):
            candidate.add_marks(marks, [self.problems[place] for place in places], self._weights)
            candidate.problems_done += 0 if look else len(places)
            candidate.looked_again |= bool(look)
        self.calls += self.grader.calls_for(sum(len(places) for _, places in assignments))
        self.calls += self.grader.unclear_judged(marked)
        return marked

    def _rungs(self, genomes: int) -> tuple[Rung, ...]:
        return rungs(len(self.problems), genomes, self.settings.racing)

    def close(self, candidate: Candidate) -> None:
        if self._letter == "g" and not candidate.unit.settled:
            self._save_genome(candidate.genome, candidate)
        self.run.close_unit(candidate.unit, None if candidate.fitness else NOTHING_ANSWERED)

    def end_generation(self, genomes: Sequence[Genome], entrants: Sequence[Candidate]) -> None:
        """`genomes` is the current population, `entrants` its new members."""
        generation = len(self.history)
        self._answered = not entrants or any(entrant.fitness for entrant in entrants)
        population = [self.known[genome.prompt] for genome in genomes]
        known = [one.total for one in population if one.total is not None]
        leader = self.leader()
        record = Generation(
            generation,
            best=leader.total or 0.0,
            mean=fmean(known) if known else 0.0,
            diversity=self._diversity([genome.prompt for genome in genomes]),
            calls=self.calls - self._calls_reported,
        )
        self._calls_reported = self.calls
        self.history.append(record)
        if self._letter != "g":
            return
        for genome, candidate in zip(genomes, population, strict=True):
            if genome.generation == generation and genome is not candidate.genome:
                self._save_genome(genome, candidate)
        missing = fmean(entrant.missing for entrant in entrants) if entrants else 0.0
        content = {**asdict(record), "leader": leader.genome.id, "missing": missing}
        self.run.ledger.put_finding(f"{GENERATION}{generation:06}", content)
        if any(not entrant.unit.settled for entrant in entrants):
            figures = f"best {record.best:.3f}, mean {record.mean:.3f}, diversity {record.diversity:.2f}"
            self.run.log("info", f"Generation {generation}: {figures}, {record.calls:,} requests.")

    def _save_genome(self, genome: Genome, judged: Candidate) -> None:
        """`judged` is the candidate with the same prompt, since a prompt that was made twice is evaluated once."""
        self.run.ledger.put(
            tables.Genome,
            generation=genome.generation,
            genome_id=genome.id,
            parents=json.dumps(genome.parents),
            operator=genome.operator,
            prompt=genome.prompt,
            fitness=judged.total,
            accuracy=judged.fitness.accuracy if judged.fitness else None,
            missing=judged.missing,
            details=json.dumps(judged.details(), ensure_ascii=False),
        )

    def _diversity(self, prompts: Sequence[str]) -> float:
        """A single prompt is not a collapsed population, so the last known value is kept."""
        if len(prompts) < 2 and self.history:
            return self.history[-1].diversity
        return mean_distance(prompts, self.stream("diversity", len(self.history)))


def _comparable(candidates: Sequence[Candidate]) -> list[float]:
    """Comparable scores: those with few replies shrink towards the mean.

    Few replies make extreme scores, high and low. Without shrinkage, lucky genomes would be the elite. An unknown genome counts
    as average.
    """
    known = [one.fitness for one in candidates if one.fitness]
    mean = fmean(fitness.total for fitness in known) if known else 0.0
    return [
        (one.fitness.replies * one.fitness.total + DOUBT * mean) / (one.fitness.replies + DOUBT)
        if one.fitness
        else mean
        for one in candidates
    ]
