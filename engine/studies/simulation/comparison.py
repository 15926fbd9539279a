"""Are the same entities judged otherwise? Mean ratings, batch against batch.

The unit is the entity: its mean rating over all its conversations. Only entities that both batches rated are compared,
each with itself. Batches of other entities, or without a judge, are set side by side and no more.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from tidepool.engine.statistics.comparisons import compare_means, pairwise
from tidepool.storage.reading.units import units_in_pages


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    rated = [_mean_ratings(connection, batch["number"]) for batch in batches]
    return pairwise([batch["id"] for batch in batches], rated, compared, "mean rating of an entity")


def _mean_ratings(connection: sqlite3.Connection, batch_number: int) -> dict[str, float]:
    given: dict[str, list[float]] = defaultdict(list)
    for unit in units_in_pages(connection, batch_number):
        for entity, rating in unit.ratings:
            if rating is not None:
                given[entity].append(rating)
    return {entity: fmean(ratings) for entity, ratings in given.items()}


def compared(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Any] | None:
    """None where fewer than two entities were rated in both."""
    found = compare_means([first[entity] - second[entity] for entity in first if entity in second])
    if found is None:
        return None
    return {
        "paired": True,
        "entities": found.pairs,
        "difference": found.difference,
        "difference_ci95": list(found.interval),
        "effect_size": found.effect_size,
        "p_value": found.p_value,
    }
