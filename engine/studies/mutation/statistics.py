"""Statistics and comparisons of mutations, from the file alone: also of one that is under way, as far as it has come.

Batches of one seed and one set of queries hold back the same ones, so policies are compared query by query. Queries that only
one of them held back say nothing. Where a config was run with several seeds, runs are compared instead.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.inference.intervals import Interval
from tidepool.engine.inference.typed import Statistics
from tidepool.storage.queries.learning import training_updates
from tidepool.storage.queries.summary import finding

SMOOTHING = 0.3
"""how much of a smoothed curve is its newest point"""

POLICY = "policy"
REWARD = "held-out reward"
REWARDS = "heldout_rewards"
"""the finding that holds the policy's mean reward on each held-out query, by the query's fingerprint"""


@dataclass(frozen=True)
class UpdateStatistics(Statistics):
    update: int
    env_steps: int
    mean_reward: float
    success_rate: float
    """the share of episodes ended since the last update that ended well"""
    uses: Mapping[str, int]
    """of each operator"""
    smoothed: float


@dataclass(frozen=True)
class OperatorStatistics(Statistics):
    uses: int
    mean_reward: float | None


@dataclass(frozen=True)
class Baseline(Statistics):
    """A learner that ran beside the one of the study."""

    updates: tuple[UpdateStatistics, ...]
    operators: Mapping[str, OperatorStatistics]


@dataclass(frozen=True)
class Reward(Statistics):
    mean_reward: float | None
    ci95: Interval | None


@dataclass(frozen=True)
class OperatorReward(Reward):
    operator: str


@dataclass(frozen=True)
class RewardDifference(Statistics):
    """What the policy gains over a baseline, query by query."""

    difference: float | None
    ci95: Interval | None
    p_value: float | None
    """None: too few queries for a verdict"""
    p_value_holm: float | None
    """corrected for all the baselines that the policy is compared with"""


@dataclass(frozen=True)
class HeldOutRewards(Statistics):
    policy: Reward
    random: Reward
    best_constant: OperatorReward
    unchanged: Reward
    """of the query as it is, asked by the same rules"""
    differences: Mapping[str, RewardDifference]
    """by baseline: random, best_constant, unchanged, and learners that ran beside"""
    others: Mapping[str, Reward]
    queries: int
    missing: int


@dataclass(frozen=True)
class MutationStatistics(Statistics):
    EMPTY = frozenset({"heldout"})

    learner: str
    reward: str
    updates: tuple[UpdateStatistics, ...]
    operators: Mapping[str, OperatorStatistics]
    heldout_operators: Mapping[str, OperatorStatistics]
    baselines: Mapping[str, Baseline]
    heldout: HeldOutRewards | None
    masked_steps: int
    fallback_rewrites: int
    phases: Mapping[str, Mapping[str, int]]


def mutation_statistics(
    connection: sqlite3.Connection, batch_number: int, settings: Mapping[str, Any]
) -> MutationStatistics:
    training, heldout = (finding(connection, batch_number, name) or {} for name in ("training", "heldout"))
    losses = {"training": training.get("losses", {}), "heldout": heldout.pop("losses", {})}
    baselines = training.get("baselines", {})
    losses.update((name, baseline.pop("losses")) for name, baseline in baselines.items())
    heldout_operators = heldout.pop("operators", None)
    unused = {name: {"uses": 0, "mean_reward": None} for name in settings["operators"]}
    return MutationStatistics.from_json(
        {
            "learner": "policy" if settings["policy_content"] else settings["learner"],
            "reward": settings["reward"],
            "updates": smooth(_updates(connection, batch_number)),
            "operators": training.get("operators") or heldout_operators or unused,
            "heldout_operators": heldout_operators or unused,
            "baselines": {name: {**entry, "updates": smooth(entry["updates"])} for name, entry in baselines.items()},
            "heldout": heldout,
            "masked_steps": sum(loss.get("masked_steps", 0) for loss in losses.values()),
            "fallback_rewrites": sum(loss.get("fallback_rewrites", 0) for loss in losses.values()),
            "phases": losses,
        }
    )


def _updates(connection: sqlite3.Connection, batch_number: int) -> Iterator[dict[str, Any]]:
    for row in training_updates(connection, batch_number):
        columns = {name: row[name] for name in ("env_steps", "mean_reward", "success_rate")}
        yield {"update": row["update_number"], **columns, **json.loads(row["details"] or "{}")}


def smooth(updates: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each update with the running mean of the rewards up to it, weighted to the newest."""
    level, rows = None, []
    for update in updates:
        reward = update["mean_reward"]
        level = reward if level is None else level + SMOOTHING * (reward - level)
        rows.append({**update, "smoothed": level})
    return rows
