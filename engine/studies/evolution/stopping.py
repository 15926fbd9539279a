"""When an evolution ends, and which rule ended it. The budget is the engine's matter, not a rule of the
story.
"""

from collections.abc import Sequence
from dataclasses import dataclass

COLLAPSED_DIVERSITY = 0.02
"""mean pairwise distance at which the population is one prompt with typing errors"""
LEAST_GAIN = 0.001
"""fitness by which the best must rise to count as progress"""


@dataclass(frozen=True, slots=True)
class Generation:
    generation: int
    best: float
    mean: float
    diversity: float
    calls: int = 0
    mean_ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class StopRules:
    target_fitness: float = 0.85
    max_generations: int = 100
    stagnation: int = 20
    """generations without progress; 0 = never stop for that"""
    collapsed_diversity: float = COLLAPSED_DIVERSITY


def stopped_by(history: Sequence[Generation], rules: StopRules) -> str | None:
    """The first rule that holds, in this order: target_fitness, max_generations, stagnation, diversity."""
    if not history:
        return None
    last = history[-1]
    if last.best >= rules.target_fitness:
        return "target_fitness"
    if len(history) >= rules.max_generations:
        return "max_generations"
    if rules.stagnation and generations_without_progress(history) >= rules.stagnation:
        return "stagnation"
    if last.diversity <= rules.collapsed_diversity:
        return "diversity"
    return None


def generations_without_progress(history: Sequence[Generation]) -> int:
    """Since the best last rose by a noticeable amount above what it was."""
    best, since = float("-inf"), 0
    for generation in history:
        if generation.best >= best + LEAST_GAIN:
            best, since = generation.best, 0
        else:
            since += 1
    return since
