"""Children that a model finishes: all rewrites of a generation are one wave, and none of them is indispensable.

A rewriter that fails, refuses or repeats what is known costs the child its rewrite, not its life: it is mutated
without a model instead.
"""

from collections.abc import Sequence
from dataclasses import replace

from tidepool.engine.call import Call, Message
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.genome import Genome, split_segments
from tidepool.engine.studies.evolution.operators.breeding import Child, made_new, rewritten
from tidepool.engine.studies.evolution.operators.guards import ACCEPTED
from tidepool.engine.studies.evolution.operators.mutation import Material
from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem, read_rewrite, rewrite_request
from tidepool.storage.states import FinishReason

MOST_TOKENS = 700
"""of a rewritten prompt"""


async def finished(
    evaluator: Evaluator, children: Sequence[Child], generation: int, material: Material
) -> list[Genome]:
    """The children as genomes, new ones as far as that can be had."""
    asked = [child.rewrite is not None for child in children]
    wave = evaluator.numbering.next_wave() if any(asked) else 0
    evaluator.run.expect_wave(wave, {resolve_model(evaluator.settings.mutator): sum(asked)})
    made = await evaluator.grader.together(
        rewritten_by_model(evaluator, child, failures_of(evaluator, child.genome), f"g{generation}.{place}", wave)
        for place, child in enumerate(children)
    )
    seen = set(evaluator.known)
    genomes = []
    for place, genome in enumerate(made):
        new = made_new(Child(genome), seen, material, evaluator.stream("instead", generation, place)).genome
        seen.add(new.key)
        genomes.append(new)
    return genomes


async def rewritten_by_model(
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
        messages=(Message("user", request.user),),
        system=request.system,
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
    read, prompt = read_rewrite(reply.text, child.genome.prompt, cut=cut), child.genome.prompt
    refused = read.refused or evaluator.guard.refuses(read.text, prompt, [one.expected for one in failures])
    evaluator.rewrites[refused or ACCEPTED] += 1
    return child.genome if refused else rewritten(child, split_segments(read.text))


def failures_of(evaluator: Evaluator, genome: Genome) -> Sequence[FailedProblem]:
    """What went wrong with this prompt; for one not tried yet, with its parents."""
    if genome.key in evaluator.known:
        return evaluator.known[genome.key].failures
    parents = [one for one in evaluator.known.values() if one.genome.id in genome.parents]
    return [failure for parent in parents for failure in parent.failures]
