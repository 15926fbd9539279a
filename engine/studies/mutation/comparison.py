"""Whose policy is better? Its reward on held-out queries, batch against batch.

Batches of one seed and one set of queries hold back the same ones, so policies are compared query by query. Queries that
only one of them held back say nothing. Where a config was run with several seeds, runs are compared instead
(`several_seeds`).
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.engine.statistics.comparisons import pairwise
from tidepool.engine.statistics.paired import paired
from tidepool.engine.studies.mutation.seeds import REWARDS, RUNS
from tidepool.engine.studies.several_seeds import groups_of, seed_differences
from tidepool.storage.queries.summary import finding


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    groups = groups_of(connection, batches, RUNS)
    if len(groups) < len(batches):
        return seed_differences(groups, RUNS)
    rewards = [finding(connection, batch["number"], REWARDS) or {} for batch in batches]
    return pairwise([batch["id"] for batch in batches], rewards, compared, "reward of the policy on a held-out query")


def compared(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Any] | None:
    """None where fewer than two queries were answered in both."""
    found = paired([first[query] - second[query] for query in first if query in second])
    if found is None:
        return None
    return {
        "paired": True,
        "queries": found.pairs,
        "difference": found.difference,
        "difference_ci95": found.interval and list(found.interval),
        "effect_size": found.effect_size,
        "p_value": found.p_value,
    }
