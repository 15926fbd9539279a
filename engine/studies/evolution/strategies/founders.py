"""The first generation: prompts written by people, and mutants of them where there are too few."""

from dataclasses import replace

from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.genome import Genome, genome_from
from tidepool.engine.studies.evolution.operators.examples import varied
from tidepool.engine.studies.evolution.operators.mutation import Material, mutated
from tidepool.engine.studies.evolution.placeholders import unframed
from tidepool.engine.studies.evolution.seeds import seed_genomes, segment_pool

SEED = "seed"
_TRIES = 20


def seeds_of(settings: EvolutionSettings) -> tuple[Genome, ...]:
    """The user's prompts, or those that come with Tidepool; each once, whether there is room for it or not."""
    own = (genome_from(prompt) for prompt in settings.seed_prompts)
    found = {genome.key: genome for genome in (own if settings.seed_prompts else seed_genomes())}
    return tuple(found.values())


def material_of(settings: EvolutionSettings) -> Material:
    """What mutation inserts: sentences of seed prompts, and nothing that the user did not write unless he says so."""
    taken_apart = [unframed(genome_from(prompt).segments) for prompt in settings.seed_prompts]
    own = tuple(segment for free, _ in taken_apart for segment in free)
    built_in = () if own and settings.material == "own" else segment_pool()
    segments = tuple(dict.fromkeys((*(() if settings.material == "built-in" else own), *built_in)))
    return Material(
        segments, tuple(frame for _, frame in taken_apart) if any(frame for _, frame in taken_apart) else ()
    )


def founders(evaluator: Evaluator, material: Material) -> list[Genome]:
    found = {genome.key: genome for genome in seeds_of(evaluator.settings)[: evaluator.settings.population_size]}
    seeds = list(found.values())
    rng = evaluator.stream("founders")
    for place in range(_TRIES * evaluator.settings.population_size):
        if len(found) >= evaluator.settings.population_size:
            break
        mother = seeds[place % len(seeds)]
        segments, name = mutated(mother.segments, rng, material)
        examples, change = varied(mother.examples, evaluator.showable, rng)
        operator = f"{name}+{change}" if change else name
        mutant = replace(mother.child(segments, operator, 0), examples=examples)
        found.setdefault(mutant.key, mutant)
    return list(found.values())
