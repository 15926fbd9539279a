"""The next generation: who is kept, who is crossed, what is changed, and what a model rewrites.

`breed` plans the children and asks nothing. `finish` has those rewritten that wait for a model; where a rewrite fails or
is refused, the child is mutated without one.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from random import Random

from tidepool.engine.call import Call, Message
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.studies.evolution.evaluator import Evaluator
from tidepool.engine.studies.evolution.fitness import Rates
from tidepool.engine.studies.evolution.genome import Genome, insert_frame, split_frame, split_segments
from tidepool.engine.studies.evolution.rewrites import (
    ACCEPTED,
    REWRITES,
    SYSTEM,
    FailedProblem,
    read_rewrite,
    rewrite_request,
)
from tidepool.engine.studies.evolution.variation import CROSSOVERS, SELECTIONS, Material, mutate
from tidepool.storage.states import FinishReason

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


@dataclass(frozen=True, slots=True)
class Child:
    genome: Genome
    rewrite: str | None = None
    """rephrase, shorten, elaborate or reflect: still to be done by a model"""


def reflected(parent: Genome, generation: int) -> Child:
    """A parent for a model to rewrite, after seeing what it got wrong."""
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
    """`count` children that differ from each other and from the prompts already known, if that can be had."""
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
    """A prompt that was met before would be bought again for nothing: it is mutated until it is new."""
    genome = child.genome
    if child.rewrite is not None:
        return child
    for _ in range(_TRIES):
        if genome.prompt not in seen:
            break
        segments, name = mutate(genome.segments, rng, material)
        genome = replace(genome, segments=segments, operator=_join_operators(genome.operator, name))
    return Child(genome)


def apply_rewrite(child: Child, segments: Sequence[str]) -> Genome:
    """The child after its model has rewritten it."""
    operator = _join_operators(child.genome.operator, str(child.rewrite))
    return replace(child.genome, segments=tuple(segments), operator=operator)


def random_genome(material: Material, generation: int, rng: Random) -> Genome:
    """What random search tries: any number of segments in any order."""
    count = min(rng.randint(*RANDOM_SEGMENTS), len(material.segments))
    segments = tuple(rng.sample(material.segments, count))
    if material.frames:
        segments = insert_frame(segments, rng.choice(material.frames))
    return Genome(segments, (), "random", generation)


def _join_operators(operator: str, added: str) -> str:
    return added if operator == COPY else f"{operator}+{added}"


MOST_TOKENS = 700
"""of a rewritten prompt"""


async def finish(evaluator: Evaluator, children: Sequence[Child], generation: int, material: Material) -> list[Genome]:
    """The children as genomes, new ones as far as that can be had."""
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
    """The child as it was where it needs no rewrite, or the rewrite is of no use."""
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
    return child.genome if refused else apply_rewrite(child, split_segments(rewrite.text))


def failures_of(evaluator: Evaluator, genome: Genome) -> Sequence[FailedProblem]:
    """What went wrong with this prompt; for one not tried yet, with its parents."""
    if genome.prompt in evaluator.known:
        return evaluator.known[genome.prompt].failures
    parents = [candidate for candidate in evaluator.known.values() if candidate.genome.id in genome.parents]
    return [failure for parent in parents for failure in parent.failures]
