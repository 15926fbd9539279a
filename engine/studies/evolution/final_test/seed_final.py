"""Which seed prompt is the best? Asked with as much care as the champion got, so that the gain is not overstated.

A race drops a seed after a handful of problems, and a small population has no room for all of them. Whoever is only
compared with what that leaves looks better than he is. So when the search is over every seed the study was given
comes back: none is dropped before it has met a quarter of the training problems, and the best of them meet all
problems twice, as champions have. What a seed was answered before counts; only the rest is asked.
"""

from collections.abc import Sequence

from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.evaluation.racing import FIRST_RUNG, Rung, rungs
from tidepool.engine.studies.evolution.operators.selection import elites
from tidepool.engine.studies.evolution.strategies.founders import SEED, seeds_of

LEAST_SHARE = 4
"""a seed meets at least one in so many problems"""
WHY = "seed_final"


async def best_seed(evaluator: Evaluator) -> Candidate:
    if not evaluator.settings.seed_final:
        return evaluator.leader(SEED)
    seeds = seeds_of(evaluator.settings)
    opened = {one.name: one for one in evaluator.admit(seeds, why=WHY)}
    field = [evaluator.known[genome.key] for genome in seeds]
    for rung in seed_rungs(len(evaluator.problems), len(field), evaluator.settings.racing):
        sittings = [(one, places) for one in field if (places := _still_to_meet(evaluator, one, rung))]
        for one, _ in sittings:
            if one.name not in opened:
                evaluator.call_back(one, WHY)
                opened[one.name] = one
        if sittings:
            await evaluator.meet(sittings, rung.look)
        scores = evaluator.scores([one.genome for one in field])
        field = [field[index] for index in elites(scores, rung.keep)]
    for one in opened.values():
        evaluator.close(one)
    return evaluator.leader(SEED)


def seed_rungs(problems: int, seeds: int, racing: bool) -> tuple[Rung, ...]:
    return rungs(problems, seeds, racing, first=max(FIRST_RUNG, problems // LEAST_SHARE))


def _still_to_meet(evaluator: Evaluator, one: Candidate, rung: Rung) -> Sequence[int]:
    """Seeds met the problems in the order of the first generation, as far as they came."""
    order = evaluator.order(0)
    if rung.look:
        return [] if one.looked_again else order
    return order[one.met : rung.end]
