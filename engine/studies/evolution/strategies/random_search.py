"""No inheritance at all: sentences drawn at random. What a search must beat to have searched."""

from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.breeding import random_genome
from tidepool.engine.studies.evolution.operators.mutation import Material
from tidepool.engine.studies.evolution.strategies.founders import founders, material_of


async def search(evaluator: Evaluator) -> str:
    material = material_of(evaluator.settings)
    await evaluator.judge(founders(evaluator, material))
    while not (rule := evaluator.stopped()):
        await evaluator.judge(draw(evaluator, material))
    return rule


async def search_on(evaluator: Evaluator, calls: int) -> None:
    """Goes on from what is known until at least so many calls were made in all."""
    material = material_of(evaluator.settings)
    before = -1
    while before < evaluator.calls < calls:
        before = evaluator.calls
        await evaluator.judge(draw(evaluator, material))


def draw(evaluator: Evaluator, material: Material) -> list[Genome]:
    generation = len(evaluator.history)
    rng = evaluator.stream("draw", generation)
    return [
        random_genome(material, generation, rng, evaluator.showable) for _ in range(evaluator.settings.population_size)
    ]
