"""Selection, crossover, mutation: the best stay, and their children take the place of the rest."""

from collections.abc import Sequence

from engine.evolution.arena import Arena
from engine.evolution.breeding import Breeding, breed
from engine.evolution.diversity import Rates, adapted
from engine.evolution.genome import Genome
from engine.evolution.mutation import Material
from engine.evolution.offspring import finished
from engine.evolution.selection import elites
from engine.evolution.strategies.founders import founders, material_of


async def search(arena: Arena) -> str:
    material = material_of(arena.settings)
    population = founders(arena, material)
    await arena.judge(population)
    while not (rule := arena.stopped()):
        population = await next_generation(arena, population, material)
        await arena.judge(population)
    return rule


async def next_generation(arena: Arena, population: Sequence[Genome], material: Material) -> list[Genome]:
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
