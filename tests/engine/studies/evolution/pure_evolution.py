"""A whole evolution on the solver's landscape without engine or storage: the rules alone, called in order."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidepool.engine.call import Message
from tidepool.engine.providers.simulated.rewriter import rewrite_prompt
from tidepool.engine.providers.simulated.solver import solve
from tidepool.engine.streams import seed_of, stream
from tidepool.engine.studies.evolution.evaluation.diversity import Rates, adapted, distance_to_rest, mean_distance
from tidepool.engine.studies.evolution.evaluation.fitness import Fitness, Replies, fitness_of
from tidepool.engine.studies.evolution.evaluation.racing import comparable, rungs, survivors
from tidepool.engine.studies.evolution.evaluation.validation import HeldOutComparison, compare
from tidepool.engine.studies.evolution.genome import Genome, split_segments
from tidepool.engine.studies.evolution.operators.breeding import (
    RATES,
    Breeding,
    Child,
    breed,
    made_new,
    random_genome,
    rewritten,
)
from tidepool.engine.studies.evolution.operators.mutation import Material
from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem, read_rewrite, rewrite_request
from tidepool.engine.studies.evolution.operators.selection import elites
from tidepool.engine.studies.evolution.problems.problem_set import Problem, ProblemSet, problem_set
from tidepool.engine.studies.evolution.seeds import seed_genomes, segment_pool
from tidepool.engine.studies.evolution.tasks.task import match
from tidepool.engine.studies.evolution.tasks.verdict import Verdict


@dataclass
class PureEvolution:
    seed: int
    population: int = 20
    generations: int = 10
    training: int = 48
    validation: int = 100
    elite: int = 3
    racing: bool = True
    model: str = "solver"
    source: str = "arithmetic"
    rates: Rates = RATES
    calls: int = 0
    known: dict[str, Fitness] = field(default_factory=dict)
    """by prompt"""
    failures: dict[str, list[FailedProblem]] = field(default_factory=dict)

    def run(self) -> "Outcome":
        problems = problem_set(self.source, self.training, self.validation, self.seed)
        material = Material(segment_pool())
        population = list(seed_genomes()[: self.population])
        self.evaluate(population, problems.training, 0)
        best_seed = self.best(population)
        for generation in range(1, self.generations):
            population = self.next_generation(population, generation, material)
            self.evaluate(population, problems.training, generation)
        return self.outcome(self.best(population), best_seed, problems)

    def random_search(self, budget: int) -> "Outcome":
        problems = problem_set(self.source, self.training, self.validation, self.seed)
        material, rng = Material(segment_pool()), stream(self.seed, "random")
        tried = list(seed_genomes()[: self.population])
        self.evaluate(tried, problems.training, 0)
        best_seed = self.best(tried)
        generation = 0
        while self.calls < budget:
            generation += 1
            wave = [random_genome(material, generation, rng) for _ in range(self.population)]
            self.evaluate(wave, problems.training, generation)
            tried += wave
        return self.outcome(self.best(tried), best_seed, problems)

    def evaluate(self, genomes: Sequence[Genome], problems: Sequence[Problem], generation: int) -> None:
        new = list({genome.prompt: genome for genome in genomes if genome.prompt not in self.known}.values())
        prompts = [genome.prompt for genome in genomes]
        order = list(range(len(problems)))
        stream(self.seed, "order", generation).shuffle(order)
        replies: list[list[Replies]] = [[] for _ in new]
        racing = list(range(len(new)))
        rng = stream(self.seed, "distance", generation)
        for rung in rungs(len(problems), len(new), self.racing):
            scores = {}
            for index in racing:
                genome = new[index]
                for place in order[rung.start : rung.end]:
                    replies[index].append([self.ask(genome, problems[place], f"p{place}/{rung.look}")])
                distance = distance_to_rest(prompts.index(genome.prompt), prompts, rng)
                fitness = fitness_of(replies[index], genome.prompt, distance)
                assert fitness is not None
                self.known[genome.prompt] = fitness
                scores[index] = fitness.total
            racing = survivors(scores, rung.keep)

    def ask(self, genome: Genome, problem: Problem, step: str) -> Verdict:
        self.calls += 1
        seed = seed_of(self.seed, genome.id, step)
        text = solve(self.model, genome.prompt, (Message("user", problem.question),), seed).text
        verdict = match(text, problem.answer, length=len(text) // 4)
        failed = self.failures.setdefault(genome.prompt, [])
        if not verdict.correct and len(failed) < 2:
            failed.append(FailedProblem(problem.question, problem.answer, text))
        return verdict

    def next_generation(self, population: list[Genome], generation: int, material: Material) -> list[Genome]:
        scores = self.scores(population)
        kept = [population[index] for index in elites(scores, self.elite)]
        rng = stream(self.seed, "breed", generation)
        diversity = mean_distance([genome.prompt for genome in population], rng)
        how = Breeding(rates=adapted(self.rates, diversity))
        children = breed(population, scores, self.population - self.elite, generation, how, material, rng, self.known)
        return [
            *kept,
            *(self.finished(child, material, generation, place) for place, child in enumerate(children)),
        ]

    def finished(self, child: Child, material: Material, generation: int, place: int) -> Genome:
        if child.rewrite is None:
            return child.genome
        failures = self.failures.get(child.genome.prompt, [])
        request = rewrite_request(child.rewrite, child.genome.prompt, failures)
        seed = seed_of(self.seed, "rewrite", generation, place)
        reply = rewrite_prompt("rewriter", request.system, (Message("user", request.user),), seed)
        text = read_rewrite(reply.text, child.genome.prompt).text
        if text:
            return rewritten(child, split_segments(text))
        return made_new(Child(child.genome), self.known, material, stream(seed, "instead")).genome

    def scores(self, population: Sequence[Genome]) -> list[float]:
        known = [self.known[genome.prompt] for genome in population]
        return comparable([fitness.total for fitness in known], [fitness.replies for fitness in known])

    def best(self, population: Sequence[Genome]) -> Genome:
        return population[elites(self.scores(population), 1)[0]]

    def outcome(self, champion: Genome, best_seed: Genome, problems: ProblemSet) -> "Outcome":
        calls = self.calls
        ours, theirs = (
            [[self.ask(genome, problem, f"v{place}")] for place, problem in enumerate(problems.validation)]
            for genome in (champion, best_seed)
        )
        return Outcome(champion, best_seed, compare(ours, theirs), calls)


@dataclass
class Outcome:
    champion: Genome
    best_seed: Genome
    comparison: HeldOutComparison
    calls: int
    """before validation"""
