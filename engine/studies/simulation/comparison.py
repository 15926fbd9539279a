"""Are the same entities judged otherwise? Mean ratings, batch against batch.

The unit is the entity: its mean rating over all its conversations. Only entities that both batches rated are compared,
each with itself, and each is left out in turn with all its talks. Batches of other entities, or without a judge, are
set side by side and no more.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from tidepool.engine.statistics.clusters import Total, jackknife_variance
from tidepool.engine.statistics.comparisons import pairwise
from tidepool.engine.statistics.contrasts import student
from tidepool.engine.studies.simulation.measures import EntityCounts, SpeechTally
from tidepool.storage.queries.units import spoken_in_pages

Rated = Mapping[str, EntityCounts]


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    rated = [_rated(connection, batch["number"]) for batch in batches]
    return pairwise([batch["id"] for batch in batches], rated, compared, "mean rating of an entity")


def _rated(connection: sqlite3.Connection, batch_number: int) -> Rated:
    tally = SpeechTally()
    for page in spoken_in_pages(connection, batch_number):
        tally.take(page)
    return tally.entities


def compared(first: Rated, second: Rated) -> dict[str, Any] | None:
    """None where fewer than two entities were rated in both."""
    both = [name for name in first if first[name].ratings and name in second and second[name].ratings]
    if len(both) < 2:
        return None
    shared = [_shared(batch) for batch in (first, second)]
    gaps = [_mean(first[name].total("rating")) - _mean(second[name].total("rating")) for name in both]
    without = [fmean(rest) for name in both if (rest := list(_without(name, both, (first, second), shared)))]
    variance = jackknife_variance(without) if len(without) == len(both) else float("nan")
    found = student("jackknife", len(both), fmean(gaps), variance, len(both) - 1)
    return {
        "paired": True,
        "entities": len(both),
        "difference": found.difference,
        "difference_ci95": found.interval and list(found.interval),
        "method": "jackknife over entities, each left out with all its talks",
        "p_value": found.p_value,
    }


def _shared(batch: Rated) -> Mapping[tuple[str, str], Total]:
    """What the second of two was rated in the talks that both had."""
    talks = next((counts.talks for counts in batch.values()), None)
    return talks.between("rating") if talks else {}


def _without(
    left_out: str,
    names: Sequence[str],
    batches: tuple[Rated, Rated],
    shared: Sequence[Mapping[tuple[str, str], Total]],
) -> Iterator[float]:
    """The gaps of the others, without the talks they had with the one left out."""
    for name in names:
        if name != left_out:
            means = [
                _mean(_rest(batch[name], between.get((left_out, name), (0.0, 0))))
                for batch, between in zip(batches, shared, strict=True)
            ]
            if means[0] is not None and means[1] is not None:
                yield means[0] - means[1]


def _rest(counts: EntityCounts, shared: Total) -> Total:
    total, times = counts.total("rating")
    return total - shared[0], times - shared[1]


def _mean(total: Total) -> Any:
    return total[0] / total[1] if total[1] else None
