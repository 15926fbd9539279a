"""How different prompts are, and how hard to push when they grow alike.

Distance is the edit distance of two prompts divided by the longer one's length: 0 for equal, 1 for
nothing in common. Large populations are judged by a sample of pairs, so that the cost stays small beside
one model call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

MOST_PAIRS = 400
MOST_OTHERS = 40

LOW, HIGH = 0.30, 0.80
"""diversity at which rates reach their bounds"""


@dataclass(frozen=True, slots=True)
class Rates:
    crossover: float
    mutation: float


def mean_distance(prompts: Sequence[str], rng: Random, most_pairs: int = MOST_PAIRS) -> float:
    """Mean pairwise distance; 0 for fewer than two prompts."""
    from rapidfuzz.distance.Levenshtein import normalized_distance

    count = len(prompts)
    if count < 2:
        return 0.0
    if count * (count - 1) // 2 <= most_pairs:
        pairs = [[first, second] for second in range(count) for first in range(second)]
    else:
        pairs = [rng.sample(range(count), 2) for _ in range(most_pairs)]
    return fmean(normalized_distance(prompts[first], prompts[second]) for first, second in pairs)


def distance_to_rest(index: int, prompts: Sequence[str], rng: Random, most_others: int = MOST_OTHERS) -> float:
    """Mean distance of one prompt to the others."""
    from rapidfuzz.distance.Levenshtein import normalized_distance

    others = [*range(index), *range(index + 1, len(prompts))]
    if not others:
        return 0.0
    if len(others) > most_others:
        others = rng.sample(others, most_others)
    return fmean(normalized_distance(prompts[index], prompts[other]) for other in others)


def adapted(base: Rates, diversity: float) -> Rates:
    """Alike prompts are mutated more and crossed less; very different ones the other way round.

    At LOW mutation is three times its base (never above 0.9 unless the base is), at HIGH half of it;
    crossover moves between seven tenths and eleven tenths of its base. Halfway, both are at their base.
    """
    middle = (LOW + HIGH) / 2
    alike = max(-1.0, min(1.0, (middle - diversity) / (middle - LOW)))
    if alike > 0:
        most = max(base.mutation, min(0.9, 3 * base.mutation))
        mutation = base.mutation + alike * (most - base.mutation)
        crossover = base.crossover * (1 - 0.3 * alike)
    else:
        mutation = base.mutation * (1 + 0.5 * alike)
        crossover = min(1.0, base.crossover * (1 - 0.1 * alike))
    return Rates(crossover, mutation)
