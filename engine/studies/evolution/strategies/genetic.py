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
    rates = adapted(Rates(settings.crossover_rate, settings.mutation_rate), evaluator.history[-1].diversity)
    children = breed(
        population,
        scores,
        settings.population_size - len(kept),
        generation,
        Breeding(settings.selection, settings.crossover, rates, showable=evaluator.showable),
        material,
        evaluator.stream("breed", generation),
        evaluator.known,
    )
    return [*kept, *await finished(evaluator, children, generation, material)]
