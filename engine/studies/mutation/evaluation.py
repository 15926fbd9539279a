"""The final comparison: the policy against each baseline, on queries that were not used for training.

The baselines are random play, the best constant operator, the unchanged query, and learners that ran in parallel. The unchanged
query is played by the same rules, since an episode with several tries has a higher mean than a single try, regardless of the
operators.
All contenders play all held-out queries in the same waves. A query's score is the mean reward of its episode, averaged over
repeats. Differences are computed query by query, because the claim generalises over queries. The best constant operator is
chosen on the held-out queries themselves, which favours it: the policy must beat the luckiest one. A claim that the luckiest one
beats the policy concerns all operators, so its p-value is multiplied by their number.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.inference.contrasts import FEWEST_TESTED, matched, of_mean
from tidepool.engine.inference.significance import holm
from tidepool.engine.studies.mutation.environment import Environments, EpisodeRules, Outcome, PromptTransport
from tidepool.engine.studies.mutation.learners import RandomPolicy
from tidepool.engine.studies.mutation.operators import NOOP, OPERATOR_NAMES, with_noop
from tidepool.engine.studies.mutation.policy import ConstantPolicy, Policy
from tidepool.engine.studies.mutation.queries import Query

Scores = NDArray[np.float64]
BEST_CONSTANT = "best_constant"
UNCHANGED = "unchanged"
"""the unchanged query, played by the rules of an episode: the score of the operator noop"""


def contenders(
    policy: Policy,
    seed: int,
    others: Mapping[str, Policy] = MappingProxyType({}),
    operators: Sequence[str] = OPERATOR_NAMES,
) -> dict[str, Policy]:
    """The policy, the random one, policies of other learners, and each operator as a constant policy, by name.

    The operator noop is played even if it is not an operator of the study.
    """
    policies: dict[str, Policy] = {"policy": policy, "random": RandomPolicy(len(operators), seed), **others}
    policies.update((operator, ConstantPolicy(action)) for action, operator in enumerate(with_noop(operators)))
    return policies


async def play_heldout(
    policies: Mapping[str, Policy],
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
    """Each contender's score on each query; NaN if every episode was lost at its first step."""
    per_policy = len(queries) * repeats
    environments = Environments(
        per_policy * len(policies),
        lambda environment, episode: queries[environment % len(queries)] if episode == 0 else None,
        transport,
        replace(rules, operators=with_noop(rules.operators)),
        batching=batching,
        steps=steps,
        episodes=episodes,
    )
    observations = await environments.reset()
    scores = np.full(environments.count, np.nan)
    while any(playing := environments.playing):
        actions = np.concatenate(
            [
                policy.choose(observations[place * per_policy : (place + 1) * per_policy])
                for place, policy in enumerate(policies.values())
            ]
        )
        moves = [int(action) if on else None for action, on in zip(actions, playing, strict=True)]
        outcome = await environments.step(moves)
        for environment, score in outcome.scores.items():
            scores[environment] = score
        on_outcome(outcome)
        observations = outcome.observations
    return _by_contender(policies, scores, (len(policies), repeats, len(queries)), rules.operators)


def _by_contender(
    names: Iterable[str], scores: Scores, shape: tuple[int, int, int], operators: Sequence[str]
) -> dict[str, Scores]:
    by_name = {name: _mean_of_answered(rows) for name, rows in zip(names, scores.reshape(shape), strict=True)}
    if NOOP in by_name:
        by_name[UNCHANGED] = by_name[NOOP]
    if NOOP not in operators:
        by_name.pop(NOOP, None)
    return by_name


def _mean_of_answered(rows: Scores) -> Scores:
    answered = ~np.isnan(rows)
    counts = answered.sum(axis=0)
    totals = np.where(answered, rows, 0.0).sum(axis=0)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def compare(
    scores: Mapping[str, Scores], operators: Sequence[str] = OPERATOR_NAMES, learned: Sequence[str] = ()
) -> dict[str, Any]:
    """The comparison as in the JSON summary. `learned` are the other learners of the study."""
    table = np.stack(list(scores.values()))
    whole = ~np.isnan(table).any(axis=0)
    answered = {name: values[whole] for name, values in scores.items()}
    best = max(operators, key=lambda name: float(answered[name].mean()) if whole.any() else 0.0)
    baselines = {"random": answered["random"], BEST_CONSTANT: answered[best], UNCHANGED: answered[UNCHANGED]}
    baselines |= {name: answered[name] for name in learned}
    rewards = {name: estimate(values) for name, values in answered.items()}
    return {
        "policy": rewards["policy"],
        "random": rewards["random"],
        BEST_CONSTANT: {**rewards[best], "operator": best},
        UNCHANGED: rewards[UNCHANGED],
        "differences": _differences(answered["policy"], baselines, len(operators)),
        "others": {name: row for name, row in rewards.items() if name not in ("policy", "random", UNCHANGED)},
        "queries": int(whole.sum()),
        "missing": int((~whole).sum()),
    }


def _differences(policy: Scores, baselines: Mapping[str, Scores], operators: int) -> dict[str, dict[str, Any]]:
    """The gain of the policy over each baseline, query by query. P-values are `None` if there are too few queries for a verdict."""
    gains = {name: gain for name, other in baselines.items() if len(policy) > 1 and (gain := matched(policy - other))}
    p_values = {name: 1.0 if gain.p_value is None else gain.p_value for name, gain in gains.items()}
    if (luckiest := gains.get(BEST_CONSTANT)) and luckiest.difference < 0:
        p_values[BEST_CONSTANT] = min(1.0, operators * p_values[BEST_CONSTANT])
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    if len(policy) < FEWEST_TESTED:
        p_values, adjusted = {}, {}
    return {
        name: {
            "difference": gain.difference,
            "ci95": gain.interval,
            "p_value": p_values.get(name),
            "p_value_holm": adjusted.get(name),
        }
        for name, gain in gains.items()
    }


def estimate(values: Scores) -> dict[str, Any]:
    """The mean with Student's 95 % interval; no interval for a single query, or if all values are equal."""
    if len(values) == 0:
        return {"mean_reward": None, "ci95": None}
    mean = of_mean(values.tolist())
    bounds = mean.interval if mean else None
    return {"mean_reward": float(values.mean()), "ci95": bounds and (max(0.0, bounds[0]), min(1.0, bounds[1]))}
