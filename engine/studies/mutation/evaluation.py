"""The comparison that counts: on queries never trained on, the policy against random and the best constant
operator.

All contenders play all held-out queries in the same waves. A query's score is the mean reward of its episode,
averaged over repeats; intervals are bootstrapped over queries, because queries are what the claim generalises
over. The best constant operator is picked on the held-out queries themselves, which flatters it: the policy
has to beat the luckiest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.streams import seed_of
from tidepool.engine.studies.mutation.environment.environments import Environments, Outcome, once_each
from tidepool.engine.studies.mutation.environment.episodes import EpisodeRules
from tidepool.engine.studies.mutation.environment.transport import PromptTransport
from tidepool.engine.studies.mutation.learners.policy import ConstantPolicy, Policy
from tidepool.engine.studies.mutation.learners.random_policy import RandomPolicy
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.engine.studies.mutation.queries import Query

Scores = NDArray[np.float64]
_RESAMPLES = 4000


@dataclass(frozen=True, slots=True)
class RewardEstimate:
    mean: float
    low: float
    high: float

    def apart_from(self, other: "RewardEstimate") -> bool:
        return self.low > other.high or other.low > self.high


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    policy: RewardEstimate
    random: RewardEstimate
    best_constant: RewardEstimate
    best_operator: str
    over_random: RewardEstimate
    """of the difference query by query, policy less random"""
    over_best_constant: RewardEstimate
    queries: int
    missing: int
    """queries left out because a contender has no answered step on them"""
    others: dict[str, RewardEstimate] = field(default_factory=dict)
    """every other contender: each operator played constantly, and learners that ran as baselines"""


def contenders(
    policy: Policy,
    seed: int,
    others: Mapping[str, Policy] | None = None,
    operators: Sequence[str] = OPERATOR_NAMES,
) -> dict[str, Policy]:
    """The policy, the random one, policies of other learners, and each operator as a constant policy, by name."""
    named: dict[str, Policy] = {"policy": policy, "random": RandomPolicy(len(operators), seed), **(others or {})}
    named.update((operator, ConstantPolicy(action)) for action, operator in enumerate(operators))
    return named


def line_up(named: Mapping[str, Policy], queries: Sequence[Query], repeats: int) -> list[str]:
    """Which contender plays in each environment."""
    return [name for name in named for _ in range(len(queries) * repeats)]


async def play_heldout(
    named: Mapping[str, Policy],
    queries: Sequence[Query],
    transport: PromptTransport,
    rules: EpisodeRules,
    repeats: int = 2,
    *,
    batching: bool = True,
    steps: int = 0,
    episodes: int = 0,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> dict[str, Scores]:
    """Each contender's score on each query; NaN where every episode was lost at its first step."""
    per_policy = len(queries) * repeats
    environments = Environments(
        per_policy * len(named),
        once_each(queries),
        transport,
        rules,
        batching=batching,
        steps=steps,
        episodes=episodes,
    )
    observations = await environments.reset()
    scores = np.full(environments.count, np.nan)
    while any(environments.playing):
        actions = np.concatenate(
            [
                policy.choose(observations[place * per_policy : (place + 1) * per_policy])
                for place, policy in enumerate(named.values())
            ]
        )
        moves = [int(action) if on else None for action, on in zip(actions, environments.playing, strict=True)]
        outcome = await environments.step(moves)
        for environment, score in outcome.scores.items():
            scores[environment] = score
        on_outcome(outcome)
        observations = outcome.observations
    table = scores.reshape(len(named), repeats, len(queries))
    return {name: _mean_of_answered(rows) for name, rows in zip(named, table, strict=True)}


def _mean_of_answered(rows: Scores) -> Scores:
    answered = ~np.isnan(rows)
    counts = answered.sum(axis=0)
    totals = np.where(answered, rows, 0.0).sum(axis=0)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def compare(scores: Mapping[str, Scores], seed: int, operators: Sequence[str] = OPERATOR_NAMES) -> PolicyComparison:
    table = np.stack(list(scores.values()))
    whole = ~np.isnan(table).any(axis=0)
    kept = {name: values[whole] for name, values in scores.items()}
    best = max(operators, key=lambda name: float(kept[name].mean()) if whole.any() else 0.0)
    policy, random, constant = kept["policy"], kept["random"], kept[best]
    return PolicyComparison(
        policy=interval(policy, seed),
        random=interval(random, seed),
        best_constant=interval(constant, seed),
        best_operator=best,
        over_random=interval(policy - random, seed),
        over_best_constant=interval(policy - constant, seed),
        queries=int(whole.sum()),
        missing=int((~whole).sum()),
        others={name: interval(kept[name], seed) for name in kept if name not in ("policy", "random")},
    )


def interval(values: Scores, seed: int) -> RewardEstimate:
    """The mean with its 95 % bootstrap interval; all NaN when there is nothing to estimate from."""
    if len(values) == 0:
        return RewardEstimate(float("nan"), float("nan"), float("nan"))
    generator = np.random.default_rng(seed_of(seed, "bootstrap"))
    means = values[generator.integers(0, len(values), size=(_RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return RewardEstimate(float(values.mean()), float(low), float(high))
