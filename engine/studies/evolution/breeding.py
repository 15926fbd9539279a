"""Search strategies: create the first generation, and each generation from the one before.

`breed` plans the children and sends no request. `finish` sends those to rewrite to a model. If a rewrite fails or is refused,
the child gets a rule-based mutation instead. The strategy `genetic` selects, crosses and mutates. `reflective` has a model
rewrite every child, with the problems that its parent got wrong. `random` draws sentences without inheritance. `gepa` is in
its own module.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from random import Random

from tidepool.engine.call import Call, Message
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.evaluator import Evaluator
from tidepool.engine.studies.evolution.fitness import Rates, adapt_rates
from tidepool.engine.studies.evolution.genome import (
    Genome,
    genome_from,
    insert_frame,
    seed_genomes,
    segment_pool,
    split_frame,
    split_segments,
)
from tidepool.engine.studies.evolution.rewrites import (
    ACCEPTED,
    REWRITES,
    SYSTEM,
    FailedProblem,
    read_rewrite,
    rewrite_request,
)
from tidepool.engine.studies.evolution.variation import CROSSOVERS, SELECTIONS, Material, elites, mutate
from tidepool.storage.states import FinishReason

COPY = "copy"
RATES = Rates(crossover=0.8, mutation=0.2)
_MOST_HITS = 2
_TRIES = 12
RANDOM_SEGMENTS = (1, 10)
"""minimum and maximum number of sentences in a prompt of random search"""


@dataclass(frozen=True, slots=True)
class Breeding:
    selection: str = "tournament"
    crossover: str = "single_point"
    rates: Rates = RATES
    """mutation: the chance for each segment, so a long prompt changes more than a short one"""
    rewrite_share: float = 0.5
    """share of children that a model rewrites instead"""


@dataclass(frozen=True, slots=True)
class Child:
    genome: Genome
    rewrite: str | None = None
    """rephrase, shorten, elaborate or reflect: a model must still do this"""


def reflected(parent: Genome, generation: int) -> Child:
    """A child for a model to rewrite, with the problems that its parent got wrong."""
    return Child(parent.child(parent.segments, COPY, generation), "reflect")


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
    """`count` children that differ from each other and from the known prompts, as far as possible."""
    select = SELECTIONS[how.selection]
    parents = select(scores, 2 * count, rng)
    seen = {*known, *(genome.prompt for genome in population)}
    children = []
    for mother, father in zip(parents[::2], parents[1::2], strict=True):
        child = _conceive(population[mother], population[father], generation, how, material, rng)
        child = make_new(child, seen, material, rng)
        seen.add(child.genome.prompt)
        children.append(child)
    return children


def _conceive(mother: Genome, father: Genome, generation: int, how: Breeding, material: Material, rng: Random) -> Child:
    segments, operators, others = mother.segments, [], []
    if mother.prompt != father.prompt and rng.random() < how.rates.crossover:
        free, frame = split_frame(mother.segments)
        segments = insert_frame(CROSSOVERS[how.crossover](free, split_frame(father.segments)[0], rng), frame)
        operators.append(how.crossover)
        others.append(father)
    rewrite = rng.choice(REWRITES) if rng.random() < how.rewrite_share else None
    hits = sum(rng.random() < how.rates.mutation for _ in segments)
    if rewrite is None:
        for _ in range(min(hits, _MOST_HITS)):
            segments, name = mutate(segments, rng, material)
            operators.append(name)
    return Child(mother.child(segments, "+".join(operators) or COPY, generation, *others), rewrite)


def make_new(child: Child, seen: Collection[str], material: Material, rng: Random) -> Child:
    """Mutates a known prompt until it is new, since evaluating it again would waste requests."""
    genome = child.genome
    if child.rewrite is not None:
        return child
    for _ in range(_TRIES):
        if genome.prompt not in seen:
            break
        segments, name = mutate(genome.segments, rng, material)
        genome = replace(genome, segments=segments, operator=_join_operators(genome.operator, name))
    return Child(genome)


def random_genome(material: Material, generation: int, rng: Random) -> Genome:
    """A prompt of random search: any number of segments in any order."""
    count = min(rng.randint(*RANDOM_SEGMENTS), len(material.segments))
    segments = tuple(rng.sample(material.segments, count))
    if material.frames:
        segments = insert_frame(segments, rng.choice(material.frames))
    return Genome(segments, (), "random", generation)


def _join_operators(operator: str, added: str) -> str:
    return added if operator == COPY else f"{operator}+{added}"


MOST_TOKENS = 700
"""maximum length of a rewritten prompt"""


async def finish(evaluator: Evaluator, children: Sequence[Child], generation: int, material: Material) -> list[Genome]:
    """The children as genomes, new ones as far as possible."""
    is_rewrite = [child.rewrite is not None for child in children]
    wave = evaluator.numbering.next_wave() if any(is_rewrite) else 0
    evaluator.run.expect_wave(wave, {resolve_model(evaluator.settings.mutator): sum(is_rewrite)})
    results = await evaluator.grader.together(
        rewrite_by_model(evaluator, child, failures_of(evaluator, child.genome), f"g{generation}.{place}", wave)
        for place, child in enumerate(children)
    )
    seen = set(evaluator.known)
    genomes = []
    for place, genome in enumerate(results):
        new = make_new(Child(genome), seen, material, evaluator.stream("instead", generation, place)).genome
        seen.add(new.prompt)
        genomes.append(new)
    return genomes


async def rewrite_by_model(
    evaluator: Evaluator, child: Child, failures: Sequence[FailedProblem], name: str, wave: int
) -> Genome:
    """The rewritten child; the unchanged child if it needs no rewrite or the rewrite is unusable."""
    if child.rewrite is None:
        return child.genome
    if child.rewrite == "reflect" and not failures:
        child = replace(child, rewrite="elaborate")
    request = rewrite_request(str(child.rewrite), child.genome.prompt, failures)
    call = Call(
        step=f"{name}/{child.rewrite}",
        wave=wave,
        model=resolve_model(evaluator.settings.mutator),
        messages=(Message("user", request),),
        system=SYSTEM,
        max_tokens=MOST_TOKENS,
        form="prompt",
        **reasoning_of(evaluator.settings),
    )
    evaluator.calls += 1
    try:
        reply = await evaluator.run.study.ask(call)
    except CallFailed:
        return child.genome
    cut = reply.finish_reason == FinishReason.CUT
    rewrite, prompt = read_rewrite(reply.text, child.genome.prompt, cut=cut), child.genome.prompt
    refused = rewrite.refused or evaluator.guard.refuses(rewrite.text, prompt, [one.expected for one in failures])
    evaluator.rewrites[refused or ACCEPTED] += 1
    if refused:
        return child.genome
    operator = _join_operators(child.genome.operator, str(child.rewrite))
    return replace(child.genome, segments=split_segments(rewrite.text), operator=operator)


def failures_of(evaluator: Evaluator, genome: Genome) -> Sequence[FailedProblem]:
    """The problems that this prompt got wrong; for a new prompt, those of its parents."""
    if genome.prompt in evaluator.known:
        return evaluator.known[genome.prompt].failures
    parents = [candidate for candidate in evaluator.known.values() if candidate.genome.id in genome.parents]
    return [failure for parent in parents for failure in parent.failures]


# -- strategies --------------------------------------------------------------------------------------------------

SEED = "seed"
_FOUNDER_TRIES = 20


def seeds_of(settings: EvolutionSettings) -> tuple[Genome, ...]:
    """The user's prompts, or those that come with Tidepool, without duplicates, regardless of the population size."""
    own = (genome_from(prompt) for prompt in settings.seed_prompts)
    genomes = {genome.prompt: genome for genome in (own if settings.seed_prompts else seed_genomes())}
    return tuple(genomes.values())


def material_of(settings: EvolutionSettings) -> Material:
    """What mutation inserts: sentences of the user's seed prompts, or else of those that come with Tidepool."""
    split_prompts = [split_frame(genome_from(prompt).segments) for prompt in settings.seed_prompts]
    own = dict.fromkeys(segment for free, _ in split_prompts for segment in free)
    frames = [frame for _, frame in split_prompts]
    return Material(tuple(own) or segment_pool(), tuple(frames) if any(frames) else ())


def founders(evaluator: Evaluator, material: Material) -> list[Genome]:
    genomes = {genome.prompt: genome for genome in seeds_of(evaluator.settings)[: evaluator.settings.population_size]}
    seeds = list(genomes.values())
    rng = evaluator.stream("founders")
    for place in range(_FOUNDER_TRIES * evaluator.settings.population_size):
        if len(genomes) >= evaluator.settings.population_size:
            break
        mother = seeds[place % len(seeds)]
        segments, name = mutate(mother.segments, rng, material)
        mutant = mother.child(segments, name, 0)
        genomes.setdefault(mutant.prompt, mutant)
    return list(genomes.values())


async def search(evaluator: Evaluator) -> str:
    """Evaluates generation after generation until a rule stops the search; returns the name of that rule."""
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
    """Keeps the best genomes and replaces the rest with children: by selection, crossover and mutation. If the strategy is
    reflective, a model rewrites each parent with the problems that the parent got wrong."""
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
    """Continues from the known prompts until at least `calls` requests were made in total."""
    material = material_of(evaluator.settings)
    before = -1
    while before < evaluator.calls < calls:
        before = evaluator.calls
        await evaluator.judge(drawn_generation(evaluator, material))


def drawn_generation(evaluator: Evaluator, material: Material) -> list[Genome]:
    """Sentences drawn at random, without inheritance. This is the baseline that a search must beat."""
    generation = len(evaluator.history)
    rng = evaluator.stream("draw", generation)
    return [random_genome(material, generation, rng) for _ in range(evaluator.settings.population_size)]
