"""Every child is a parent that a model rewrote after seeing what the parent got wrong."""

from collections.abc import Sequence

from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.breeding import Child, copied
from tidepool.engine.studies.evolution.operators.mutation import Material
from tidepool.engine.studies.evolution.operators.offspring import finished
from tidepool.engine.studies.evolution.operators.selection import elites, selection_named
from tidepool.engine.studies.evolution.strategies.founders import founders, material_of


async def search(evaluator: Evaluator) -> str:
    material = material_of(evaluator.settings)
    population = founders(evaluator, material)
    await evaluator.judge(population)
    while not (rule := evaluator.stopped()):
        population = await next_generation(evaluator, population, material)
        await evaluator.judge(population)
    return rule


async def next_generation(evaluator: Evaluator, population: Sequence[Genome], material: Material) -> list[Genome]:
    settings, generation = evaluator.settings, len(evaluator.history)
    scores = evaluator.scores(population)
    kept = [population[index] for index in elites(scores, settings.elite_size)]
    select = selection_named(settings.selection)
    count = settings.population_size - len(kept)
    rng = evaluator.stream("breed", generation)
    parents = [population[index] for index in select(scores, count, rng)]
    children = [Child(copied(parent, generation, evaluator.showable, rng), "reflect") for parent in parents]
    return [*kept, *await finished(evaluator, children, generation, material)]
