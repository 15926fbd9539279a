"""Statistics and comparisons of mutations, from the file alone, also while a batch runs.

Batches with the same seed and queries hold out the same queries, so policies are compared query by query. Queries that only
one of them held out are ignored. If a config was run with several seeds, runs are compared instead.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidepool.storage.queries.learning import training_updates
from tidepool.storage.queries.summary import finding

SMOOTHING = 0.3
"""weight of the newest point in a smoothed curve"""

POLICY = "policy"
REWARD = "held-out reward"
REWARDS = "heldout_rewards"
"""the finding with the policy's mean reward on each held-out query, by the query's fingerprint"""


def mutation_statistics(
    connection: sqlite3.Connection, batch_number: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    training, heldout = (finding(connection, batch_number, name) or {} for name in ("training", "heldout"))
    losses = {"training": training.get("losses", {}), "heldout": heldout.pop("losses", {})}
    baselines = training.get("baselines", {})
    losses.update((name, baseline.pop("losses")) for name, baseline in baselines.items())
    heldout_operators = heldout.pop("operators", None)
    unused = {name: {"uses": 0, "mean_reward": None} for name in settings["operators"]}
    return {
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


def _updates(connection: sqlite3.Connection, batch_number: int) -> Iterator[dict[str, Any]]:
    for row in training_updates(connection, batch_number):
        columns = {name: row[name] for name in ("env_steps", "mean_reward", "success_rate")}
        yield {"update": row["update_number"], **columns, **json.loads(row["details"] or "{}")}


def smooth(updates: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each update with the running mean of the rewards so far, weighted to the newest."""
    level, rows = None, []
    for update in updates:
        reward = update["mean_reward"]
        level = reward if level is None else level + SMOOTHING * (reward - level)
        rows.append({**update, "smoothed": level})
    return rows
