"""No inheritance at all: sentences drawn at random. What a search must beat to have searched."""

from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.breeding import random_genome
from tidepool.engine.studies.evolution.operators.mutation import Material
from tidepool.engine.studies.evolution.strategies.founders import founders, material_of


async def search(arena: Evaluator) -> str:
    material = material_of(arena.settings)
    await arena.judge(founders(arena, material))
    while not (rule := arena.stopped()):
        await arena.judge(draw(arena, material))
    return rule


async def search_on(arena: Evaluator, calls: int) -> None:
    """Goes on from what is known until at least so many calls were made in all."""
    material = material_of(arena.settings)
    before = -1
    while before < arena.calls < calls:
        before = arena.calls
        await arena.judge(draw(arena, material))


def draw(arena: Evaluator, material: Material) -> list[Genome]:
    generation = len(arena.history)
    rng = arena.stream("draw", generation)
    return [random_genome(material, generation, rng) for _ in range(arena.settings.population_size)]
