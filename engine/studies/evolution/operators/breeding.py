"""The next generation, as a plan: who is kept, who is crossed, what is changed, and what a model is asked to
rewrite.

Nothing is asked here. A child whose rewrite is set waits for a model; if that fails, `made_new` makes do
without.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from random import Random

from tidepool.engine.studies.evolution.evaluation.diversity import Rates
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.crossover import crossover_named
from tidepool.engine.studies.evolution.operators.examples import NOTHING, Showable, crossed, drawn, varied
from tidepool.engine.studies.evolution.operators.mutation import Material, mutated
from tidepool.engine.studies.evolution.operators.rewrites import REWRITES
from tidepool.engine.studies.evolution.operators.selection import selection_named
from tidepool.engine.studies.evolution.placeholders import framed, unframed

COPY = "copy"
RATES = Rates(crossover=0.8, mutation=0.2)
_MOST_HITS = 2
_TRIES = 12
RANDOM_SEGMENTS = (1, 10)
"""of a prompt of random search: so many sentences, from and to"""


@dataclass(frozen=True, slots=True)
class Breeding:
    selection: str = "tournament"
    crossover: str = "single_point"
    rates: Rates = RATES
    """mutation: chance of each segment to be hit, so a long prompt changes more than a short one"""
    rewrite_share: float = 0.5
    """share of children that a model rewrites instead"""
    showable: Showable = NOTHING
    """problems that a child may show solved"""


@dataclass(frozen=True, slots=True)
class Child:
    genome: Genome
    rewrite: str | None = None
    """rephrase, shorten, elaborate or reflect: still to be done by a model"""


def breed(
    population: Sequence[Genome],
    scores: Sequence[float],
    count: int,
    generation: int,
    how: Breeding,
    material: Material,
    rng: Random,
    known: Collection[str] = (),
) -> list[Child]:
    """`count` children that differ from each other and from the prompts already known, if that can be had."""
    select = selection_named(how.selection)
    parents = select(scores, 2 * count, rng)
    seen = {*known, *(genome.key for genome in population)}
    children = []
    for mother, father in zip(parents[::2], parents[1::2], strict=True):
        child = _conceive(population[mother], population[father], generation, how, material, rng)
        child = made_new(child, seen, material, rng)
        seen.add(child.genome.key)
        children.append(child)
    return children


def _conceive(mother: Genome, father: Genome, generation: int, how: Breeding, material: Material, rng: Random) -> Child:
    segments, operators, others = mother.segments, [], []
    examples = mother.examples
    if mother.key != father.key and rng.random() < how.rates.crossover:
        free, frame = unframed(mother.segments)
        segments = framed(crossover_named(how.crossover)(free, unframed(father.segments)[0], rng), frame)
        operators.append(how.crossover)
        others.append(father)
        examples = crossed(mother.examples, father.examples, how.showable, rng)
    rewrite = rng.choice(REWRITES) if rng.random() < how.rewrite_share else None
    hits = sum(rng.random() < how.rates.mutation for _ in segments)
    if rewrite is None:
        for _ in range(min(hits, _MOST_HITS)):
            segments, name = mutated(segments, rng, material)
            operators.append(name)
    examples, change = varied(examples, how.showable, rng)
    operators += [change] if change else []
    child = mother.child(segments, "+".join(operators) or COPY, generation, *others)
    return Child(replace(child, examples=examples), rewrite)


def made_new(child: Child, seen: Collection[str], material: Material, rng: Random) -> Child:
    """A prompt that was met before would be bought again for nothing: it is mutated until it is new."""
    genome = child.genome
    if child.rewrite is not None:
        return child
    for _ in range(_TRIES):
        if genome.key not in seen:
            break
        segments, name = mutated(genome.segments, rng, material)
        genome = replace(genome, segments=segments, operator=_joined(genome.operator, name))
    return Child(genome)


def rewritten(child: Child, segments: Sequence[str]) -> Genome:
    """The child after its model has rewritten it."""
    operator = _joined(child.genome.operator, str(child.rewrite))
    return replace(child.genome, segments=tuple(segments), operator=operator)


def random_genome(material: Material, generation: int, rng: Random, showable: Showable = NOTHING) -> Genome:
    """What random search tries: any number of segments in any order, and of examples."""
    count = min(rng.randint(*RANDOM_SEGMENTS), len(material.segments))
    segments = tuple(rng.sample(material.segments, count))
    if material.frames:
        segments = framed(segments, rng.choice(material.frames))
    return Genome(segments, (), "random", generation, drawn(showable, rng))


def copied(parent: Genome, generation: int, showable: Showable, rng: Random) -> Genome:
    """For a model to rewrite: as its parent is, but for its examples now and then."""
    examples, change = varied(parent.examples, showable, rng)
    return replace(parent.child(parent.segments, change or COPY, generation), examples=examples)


def _joined(operator: str, then: str) -> str:
    return then if operator == COPY else f"{operator}+{then}"
