"""The fitness of a prompt, a weighted sum, and the diversity of a population.

Diversity is the mean edit distance between prompts, and mutation rates adapt to it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean

from tidepool.engine.studies.evolution.config import WeightSettings
from tidepool.engine.studies.evolution.tasks.verdict import Verdict

HALF_EFFICIENT_AT = 150
"""tokens of a reply at which efficiency is one half"""
FREE_WORDS = 120
"""words of a prompt without cost"""
WORD_PENALTY = 0.001
MOST_PENALTY = 0.2

Replies = Sequence[Verdict | None]
"""the samples of one problem; None: that request failed"""


@dataclass(frozen=True, slots=True)
class Fitness:
    total: float
    accuracy: float
    consistency: float
    efficiency: float
    diversity: float
    length_penalty: float
    replies: int
    """requests with a reply"""
    missing: float
    """share of requests without a reply"""
    tokens: float = 0.0
    """of a reply"""
    words: int = 0
    """of the prompt"""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """other metrics of a scorer, on average"""


def fitness_of(problems: Sequence[Replies], prompt: str, diversity: float, weights: WeightSettings) -> Fitness | None:
    """None without replies: the fitness is unknown then, not bad.

    A problem that racing asked a second time is a separate entry, so that consistency keeps its meaning.
    """
    answered = [[reply for reply in replies if reply is not None] for replies in problems]
    answered = [replies for replies in answered if replies]
    if not answered:
        return None
    samples = sum(map(len, problems))
    replies = sum(map(len, answered))
    accuracy = fmean(fmean(reply.worth for reply in group) for group in answered)
    consistent = consistency(answered)
    tokens = fmean(reply.length for group in answered for reply in group)
    efficient = 1 / (1 + tokens / HALF_EFFICIENT_AT)
    words = len(prompt.split())
    penalty = min(MOST_PENALTY, WORD_PENALTY * max(0, words - FREE_WORDS))
    total = (
        weights.accuracy * accuracy
        + weights.consistency * consistent
        + weights.efficiency * efficient
        + weights.diversity * diversity
        - penalty
    )
    missing = 1 - replies / samples
    metrics = mean_metrics(reply for group in answered for reply in group)
    return Fitness(total, accuracy, consistent, efficient, diversity, penalty, replies, missing, tokens, words, metrics)


def overall(by_model: Sequence[Fitness | None]) -> Fitness | None:
    """The mean over several models with the same problems, so that each model has the same weight."""
    known = [fitness for fitness in by_model if fitness is not None]
    if not known:
        return None
    shares = ("total", "accuracy", "consistency", "efficiency", "diversity", "length_penalty", "tokens")
    missing = fmean(1.0 if fitness is None else fitness.missing for fitness in by_model)
    means = {name: fmean(getattr(fitness, name) for fitness in known) for name in shares}
    metrics = {name: fmean(one.metrics[name] for one in known if name in one.metrics) for name in known[0].metrics}
    replies = sum(fitness.replies for fitness in known)
    return Fitness(**means, replies=replies, missing=missing, words=known[0].words, metrics=metrics)


def mean_metrics(replies: Iterable[Verdict]) -> dict[str, float]:
    """By name, over the replies that have the metric."""
    values: dict[str, list[float]] = {}
    for reply in replies:
        for name, value in reply.metrics.items():
            values.setdefault(name, []).append(value)
    return {name: fmean(scores) for name, scores in values.items()}


def consistency(answered: Sequence[Sequence[Verdict]]) -> float:
    """Agreement over repeated samples; with one sample, the share of replies with a readable answer."""
    repeated = [replies for replies in answered if len(replies) > 1]
    if repeated:
        return fmean(_agreement(replies) for replies in repeated)
    return fmean(reply.answer is not None for replies in answered for reply in replies)


def _agreement(replies: Sequence[Verdict]) -> float:
    """The share of the most common answer. A reply without an answer agrees with none."""
    answers = Counter(reply.answer for reply in replies if reply.answer is not None)
    return max(answers.values(), default=0) / len(replies)


MOST_PAIRS = 400
MOST_OTHERS = 40

LOW, HIGH = 0.30, 0.80
"""the diversity values at which rates reach their bounds"""


@dataclass(frozen=True, slots=True)
class Rates:
    crossover: float
    mutation: float


def mean_distance(prompts: Sequence[str], rng: Random) -> float:
    """Mean pairwise distance; 0 for fewer than two prompts."""
    from rapidfuzz.distance.Levenshtein import normalized_distance

    count = len(prompts)
    if count < 2:
        return 0.0
    if count * (count - 1) // 2 <= MOST_PAIRS:
        pairs = [[first, second] for second in range(count) for first in range(second)]
    else:
        pairs = [rng.sample(range(count), 2) for _ in range(MOST_PAIRS)]
    return fmean(normalized_distance(prompts[first], prompts[second]) for first, second in pairs)


def distance_to_rest(index: int, prompts: Sequence[str], rng: Random) -> float:
    """Mean distance of one prompt to the others."""
    from rapidfuzz.distance.Levenshtein import normalized_distance

    others = [*range(index), *range(index + 1, len(prompts))]
    if not others:
        return 0.0
    if len(others) > MOST_OTHERS:
        others = rng.sample(others, MOST_OTHERS)
    return fmean(normalized_distance(prompts[index], prompts[other]) for other in others)


def adapt_rates(base: Rates, diversity: float) -> Rates:
    """Similar prompts are mutated more and crossed less; very different ones the reverse.

    At LOW, mutation is three times its base (never above 0.9 unless the base is); at HIGH, half of it. Crossover varies between
    seven tenths and eleven tenths of its base. Halfway, both are at their base.
    """
    middle = (LOW + HIGH) / 2
    likeness = max(-1.0, min(1.0, (middle - diversity) / (middle - LOW)))
    if likeness > 0:
        most = max(base.mutation, min(0.9, 3 * base.mutation))
        mutation = base.mutation + likeness * (most - base.mutation)
        crossover = base.crossover * (1 - 0.3 * likeness)
    else:
        mutation = base.mutation * (1 + 0.5 * likeness)
        crossover = min(1.0, base.crossover * (1 - 0.1 * likeness))
    return Rates(crossover, mutation)
