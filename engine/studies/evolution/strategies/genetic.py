"""Selection, crossover, mutation: the best stay, and their children take the place of the rest."""

from collections.abc import Sequence

from tidepool.engine.studies.evolution.evaluation.diversity import Rates, adapted
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.breeding import Breeding, breed
from tidepool.engine.studies.evolution.operators.mutation import Material
from tidepool.engine.studies.evolution.operators.offspring import finished
from tidepool.engine.studies.evolution.operators.selection import elites
from tidepool.engine.studies.evolution.strategies.founders import founders, material_of


async def search(arena: Evaluator) -> str:
    material = material_of(arena.settings)
    population = founders(arena, material)
    await arena.judge(population)
    while not (rule := arena.stopped()):
        population = await next_generation(arena, population, material)
        await arena.judge(population)
    return rule


async def next_generation(arena: Evaluator, population: Sequence[Genome], material: Material) -> list[Genome]:
    settings, generation = arena.settings, len(arena.history)
    scores = arena.scores(population)
    kept = [population[index] for index in elites(scores, settings.elite_size)]
    rates = adapted(Rates(settings.crossover_rate, settings.mutation_rate), arena.history[-1].diversity)
    children = breed(
        population,
        scores,
        settings.population_size - len(kept),
        generation,
        Breeding(settings.selection, settings.crossover, rates),
        material,
        arena.stream("breed", generation),
        arena.known,
    )
    return [*kept, *await finished(arena, children, generation, material)]
