"""Every child is a parent that a model rewrote after seeing what the parent got wrong."""

from collections.abc import Sequence

from engine.evolution.arena import Arena
from engine.evolution.breeding import COPY, Child
from engine.evolution.genome import Genome
from engine.evolution.mutation import Material
from engine.evolution.offspring import finished
from engine.evolution.selection import elites, selection_named
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
    select = selection_named(settings.selection)
    count = settings.population_size - len(kept)
    parents = [population[index] for index in select(scores, count, arena.stream("breed", generation))]
    children = [Child(parent.child(parent.segments, COPY, generation), "reflect") for parent in parents]
    return [*kept, *await finished(arena, children, generation, material)]
