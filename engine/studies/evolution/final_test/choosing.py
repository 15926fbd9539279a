"""Who is the champion? Picked by problems that no prompt was bred by, where a study has some (`choose_problems`).

A search keeps what does well on its own problems, luck included, and of many prompts the luckiest looks best. So the best
few of it meet other problems, all in one wave, and the fittest there is the champion (with several objectives, the best in the first). The best few seed prompts, and those
of a random search, are picked in the same way: nobody is compared with what was picked with less care.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator
from tidepool.engine.studies.evolution.evaluation.fitness import Fitness, fitness_of, overall
from tidepool.engine.studies.evolution.evaluation.grader import Marks
from tidepool.engine.studies.evolution.final_test.finale import examined
from tidepool.engine.studies.evolution.operators.selection import elites
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.strategies.founders import SEED

BEST = 5
"""so many of a search, and of its seeds, are chosen from"""


@dataclass(frozen=True, slots=True)
class Choice:
    champion: Candidate
    baseline: Candidate
    rival: Candidate | None
    fitness: Mapping[str, Fitness | None]
    """by prompt, on the problems that choose; empty: the search's own problems chose"""
    calls: int = 0

    def told(self, candidate: Candidate) -> dict[str, Any]:
        """What is added to its portrait."""
        fitness = self.fitness.get(candidate.genome.key)
        return {"choose_fitness": fitness.total, "choose_accuracy": fitness.accuracy} if fitness else {}

    def summary(self, problems: int) -> dict[str, int] | None:
        return {"problems": problems, "prompts": len(self.fitness), "calls": self.calls} if self.fitness else None


async def choose(
    evaluator: Evaluator, baseline: Candidate, rival: Evaluator | None, problems: Sequence[Problem]
) -> Choice:
    """`baseline` is the best seed by the search's own problems."""
    if not problems:
        return Choice(evaluator.leader(), baseline, rival.leader() if rival else None, {})
    seeds = evaluator.leaders(BEST, SEED)
    ours, theirs = [*evaluator.leaders(BEST), *seeds], rival.leaders(BEST) if rival else []
    marks = await examined(evaluator, [*ours, *theirs], problems, "choose", "choose")
    fitness = {one.genome.key: _fitness(one, marks[one.genome.key], evaluator) for one in [*ours, *theirs]}
    calls = evaluator.grader.calls_for(len(problems) * len(marks))
    champion, best_seed = _fittest(ours, fitness, evaluator), _fittest(seeds, fitness, evaluator)
    return Choice(champion, best_seed, _fittest(theirs, fitness, evaluator) if theirs else None, fitness, calls)


def _fittest(candidates: Sequence[Candidate], fitness: Mapping[str, Fitness | None], search: Evaluator) -> Candidate:
    """Among equals the one that was better in the search, which stands first."""
    first = search.objectives[:1]
    found = [fitness[one.genome.key] for one in candidates]
    worth = [first[0].of(one) if first else one.total if one else None for one in found]
    return candidates[elites([float("-inf") if one is None else one for one in worth], 1)[0]]


def _fitness(candidate: Candidate, marks: Marks, evaluator: Evaluator) -> Fitness | None:
    weights = evaluator.settings.stated_weights()
    by_model = ([[sample and sample.verdict for sample in samples] for samples in marked] for marked in marks.values())
    return overall([fitness_of(replies, candidate.spoken, candidate.diversity, weights) for replies in by_model])
