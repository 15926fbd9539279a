"""Entity simulations: the reading half.

Batches are compared by the mean rating of each entity that both rated, each entity with itself. Batches of other entities, or
without a judge, are only set side by side.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import student
from tidepool.engine.inference.intervals import Total, jackknife_variance
from tidepool.engine.inference.measures import UNBOUNDED, Outcome, Sections
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.reports.blocks import Block, Cell, KindMethods
from tidepool.engine.studies.results import Batch, Exporter, Results, Statistics
from tidepool.engine.studies.simulation import report, statistics
from tidepool.engine.studies.simulation.measures import RATING, EntityCounts, SpeechTally
from tidepool.storage.queries.units import spoken_in_pages
from tidepool.storage.transfer.tables import ExportContents


class SimulationResults(Results):
    contents = ExportContents(of_units=("judgements",), details="")

    def measures(self, sections: Sections) -> list[Outcome]:
        """None without a judge."""
        judge = sections.get("simulation", {}).get("judge")
        if not judge:
            return []
        low, high = judge.get("scale") or UNBOUNDED
        whole = Outcome(name=RATING, words="judge's rating, mean of a talk", bounds=(low, high), digits=2)
        names = [str(entity["name"]) for entity in sections.get("entities", ())]
        return [whole, *(_of_entity(name, (low, high)) for name in names)]

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        return statistics.statistics(connection, batch, config)

    def blocks(self, statistics: Statistics) -> list[Block]:
        return report.blocks(statistics)

    def figures(self, statistics: Statistics) -> dict[str, Cell]:
        return report.figures(statistics)

    def differences(self, connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        rated = [_rated(connection, batch["number"]) for batch in batches]
        return pairwise([batch["id"] for batch in batches], rated, compared, "mean rating of an entity")

    def methods(
        self, batch: Batch, config: StoredConfig, statistics: Statistics, connection: sqlite3.Connection
    ) -> KindMethods:
        return report.methods(batch, config, statistics, connection)

    def formats(self) -> Mapping[str, Exporter]:
        from tidepool.engine.studies.simulation.exports import FORMATS

        return FORMATS


def _of_entity(name: str, scale: tuple[float, float]) -> Outcome:
    return Outcome(
        name=f"{RATING} of {name}",
        words=f"judge's rating of {name}",
        bounds=scale,
        about=f"entities.{name}",
        also=(f"{name}: {RATING}", f"{name} {RATING}"),
        digits=2,
    )


Rated = Mapping[str, EntityCounts]


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
    gaps = [_mean(first[name]) - _mean(second[name]) for name in both]
    without = [fmean(rest) for name in both if (rest := list(_without(name, both, (first, second), shared)))]
    variance = jackknife_variance(without) if len(without) == len(both) else float("nan")
    contrast = student("jackknife", len(both), fmean(gaps), variance, len(both) - 1)
    return {
        "paired": True,
        "entities": len(both),
        **contrast.as_json(),
        "method": "jackknife over entities, each left out with all its talks",
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
                _mean(batch[name], between.get((left_out, name), (0.0, 0)))
                for batch, between in zip(batches, shared, strict=True)
            ]
            if means[0] is not None and means[1] is not None:
                yield means[0] - means[1]


def _mean(counts: EntityCounts, without: Total = (0.0, 0)) -> Any:
    """Of its ratings, without those of some talks; None where none is left."""
    total, times = counts.total("rating")
    return (total - without[0]) / (times - without[1]) if times - without[1] else None
