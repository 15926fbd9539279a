"""No inheritance at all: sentences drawn at random. What a search must beat to have searched."""

from engine.evolution.arena import Arena
from engine.evolution.breeding import random_genome
from engine.evolution.genome import Genome
from engine.evolution.mutation import Material
from engine.evolution.strategies.founders import founders, material_of


async def search(arena: Arena) -> str:
    material = material_of(arena.settings)
    await arena.judge(founders(arena, material))
    while not (rule := arena.stopped()):
        await arena.judge(draw(arena, material))
    return rule


async def search_on(arena: Arena, calls: int) -> None:
    """Goes on from what is known until at least so many calls were made in all."""
    material = material_of(arena.settings)
    before = -1
    while before < arena.calls < calls:
        before = arena.calls
        await arena.judge(draw(arena, material))


def draw(arena: Arena, material: Material) -> list[Genome]:
    generation = len(arena.history)
    rng = arena.stream("draw", generation)
    return [random_genome(material, generation, rng) for _ in range(arena.settings.population_size)]
