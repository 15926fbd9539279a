"""Search strategies: the first generation, and how a search goes on from one generation to the next.

`genetic` selects, crosses and mutates; `reflective` has a model rewrite every child after seeing what its parent got wrong;
`random` draws sentences without inheritance. `gepa` is in its own module.
"""

from collections.abc import Sequence

from tidepool.engine.studies.evolution.breeding import Breeding, breed, finish, random_genome, reflected
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluator import Evaluator
from tidepool.engine.studies.evolution.fitness import Rates, adapt_rates
from tidepool.engine.studies.evolution.genome import Genome, genome_from, seed_genomes, segment_pool, split_frame
from tidepool.engine.studies.evolution.variation import SELECTIONS, Material, elites, mutate

SEED = "seed"
_TRIES = 20


def seeds_of(settings: EvolutionSettings) -> tuple[Genome, ...]:
    """The user's prompts, or those that come with Tidepool; each once, whether there is room for it or not."""
    own = (genome_from(prompt) for prompt in settings.seed_prompts)
    genomes = {genome.prompt: genome for genome in (own if settings.seed_prompts else seed_genomes())}
    return tuple(genomes.values())


def material_of(settings: EvolutionSettings) -> Material:
    """What mutation inserts: sentences of the user's seed prompts where there are some, else of those of Tidepool."""
    split_prompts = [split_frame(genome_from(prompt).segments) for prompt in settings.seed_prompts]
    own = dict.fromkeys(segment for free, _ in split_prompts for segment in free)
    frames = [frame for _, frame in split_prompts]
    return Material(tuple(own) or segment_pool(), tuple(frames) if any(frames) else ())


def founders(evaluator: Evaluator, material: Material) -> list[Genome]:
    genomes = {genome.prompt: genome for genome in seeds_of(evaluator.settings)[: evaluator.settings.population_size]}
    seeds = list(genomes.values())
    rng = evaluator.stream("founders")
    for place in range(_TRIES * evaluator.settings.population_size):
        if len(genomes) >= evaluator.settings.population_size:
            break
        mother = seeds[place % len(seeds)]
        segments, name = mutate(mother.segments, rng, material)
        mutant = mother.child(segments, name, 0)
        genomes.setdefault(mutant.prompt, mutant)
    return list(genomes.values())


async def search(evaluator: Evaluator) -> str:
    """Has genomes judged, generation by generation, until a rule stops it; returns that rule's name."""
    material = material_of(evaluator.settings)
    population = founders(evaluator, material)
    await evaluator.judge(population)
    while not (rule := evaluator.stopped()):
        if evaluator.settings.strategy == "random":
            population = drawn_generation(evaluator, material)
        else:
            population = await bred_generation(evaluator, population, material)
        await evaluator.judge(population)
    return rule


async def bred_generation(evaluator: Evaluator, population: Sequence[Genome], material: Material) -> list[Genome]:
    """The best stay, and children take the place of the rest: by selection, crossover and mutation; or, where the strategy is
    reflective, each as a parent that a model rewrote after seeing what the parent got wrong."""
    settings, generation = evaluator.settings, len(evaluator.history)
    scores, rng = evaluator.scores(population), evaluator.stream("breed", generation)
    elite = [population[index] for index in elites(scores, settings.elite_size)]
    count = settings.population_size - len(elite)
    if settings.strategy == "reflective":
        parents = [population[index] for index in SELECTIONS[settings.selection](scores, count, rng)]
        children = [reflected(parent, generation) for parent in parents]
    else:
        rates = adapt_rates(Rates(settings.crossover_rate, settings.mutation_rate), evaluator.history[-1].diversity)
        how = Breeding(settings.selection, settings.crossover, rates)
        children = breed(population, scores, count, generation, how, material, rng, evaluator.known)
    return [*elite, *await finish(evaluator, children, generation, material)]


async def search_at_random(evaluator: Evaluator, calls: int) -> None:
    """Goes on from what is known until at least so many calls were made in all."""
    material = material_of(evaluator.settings)
    before = -1
    while before < evaluator.calls < calls:
        before = evaluator.calls
        await evaluator.judge(drawn_generation(evaluator, material))


def drawn_generation(evaluator: Evaluator, material: Material) -> list[Genome]:
    """No inheritance at all: sentences drawn at random. What a search must beat to have searched."""
    generation = len(evaluator.history)
    rng = evaluator.stream("draw", generation)
    return [random_genome(material, generation, rng) for _ in range(evaluator.settings.population_size)]
