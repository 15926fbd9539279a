"""The results of entity simulations.

Batches with the same combinations are compared conversation by conversation, others by the mean rating of each entity that both
rated. Batches with different entities, or without a judge, are only shown side by side.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from math import comb
from statistics import fmean
from typing import Any

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.entities import stored_entity
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import few_clusters, jackknife
from tidepool.engine.inference.effects import SPEAKS_OF
from tidepool.engine.inference.measures import UNBOUNDED, BatchValues, Outcome, Sections
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.reports.export_request import ExportRequest
from tidepool.engine.studies.results import Batch, Exporter, Results, Statistics, difference_of
from tidepool.engine.studies.simulation import report
from tidepool.engine.studies.simulation.measures import MEASURES, RATING, SpeechTally, compare_by_attribute
from tidepool.storage.queries.units import spoken_in_pages
from tidepool.storage.transfer.tables import ExportContents, ExportTable

Rated = tuple[BatchValues, SpeechTally]


class SimulationResults(Results):
    contents = ExportContents(of_units=("judgements",), details="")
    shares_participants = True
    in_quarters = "Mean rating"

    def measures(self, sections: Sections) -> list[Outcome]:
        """Returns the outcomes, which need a judge."""
        judge = sections.get("simulation", {}).get("judge")
        if not judge:
            return []
        low, high = judge.get("scale") or UNBOUNDED
        whole = Outcome(name=RATING, words="judge's rating, mean of a conversation", bounds=(low, high), digits=2)
        names = [str(entity["name"]) for entity in sections.get("entities", ())]
        return [whole, *(_of_entity(name, (low, high)) for name in names)]

    def branch_measures(self, sections: Sections) -> list[Outcome]:
        """Returns the rating of the entity that wrote the branched message, and of the others."""
        if not self.measures(sections):
            return []
        settings = sections["simulation"]
        low, high = settings["judge"].get("scale") or UNBOUNDED
        words = {"speaker_rating": "rating of the speaker", "others_rating": "rating of the others"}
        found = [Outcome(name=name, words=what, bounds=(low, high), digits=2) for name, what in words.items()]
        return found if settings["interaction_size"] > 1 else found[:1]

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        settings, entities = config.sections["simulation"], list(map(stored_entity, config.sections["entities"]))
        tally, judge = _tally(connection, batch["number"]), settings["judge"]
        scale = (float(judge["scale"][0]), float(judge["scale"][1])) if judge else UNBOUNDED
        own = {measure: tally.own_means(measure, scale) for measure in MEASURES}
        talks, types, unrated = tally.talks_of(), tally.types.values(), tally.unrated.total()
        statistics = {
            "by_interaction_type": dict(sorted(tally.types.items())),
            "combinations_possible": comb(len(entities), settings["interaction_size"]),
            "combinations_run": tally.combinations_met,
            "messages": sum(counts["messages"] for counts in types),
            "words": sum(counts["words"] for counts in types),
            "judgements": judge and _judgements(judge["question"], tally, scale),
            "entities": {
                entity.name: {
                    "simulations": talks.get(entity.name, 0),
                    **{measure: own[measure].get(entity.name) for measure in MEASURES},
                    "unrated": tally.unrated[entity.name],
                    "failed": tally.failed[entity.name],
                    "estimand": "this entity in combinations like these",
                }
                for entity in entities
                if entity.name in talks or tally.failed[entity.name]
            },
            "by_attribute": compare_by_attribute(entities, tally, scale),
            "over_the_run": tally.over_the_run(scale) if judge else None,
            "unsplit_scenes": tally.unsplit,
            "missing": {"simulations": sum(counts["failed"] for counts in types), "judgements": unrated},
        }
        return with_coding(connection, batch, statistics)

    def estimand(self, statistics: Statistics) -> str:
        return "entities like these in this context"

    blocks = staticmethod(report.blocks)
    figures = staticmethod(report.figures)
    methods = staticmethod(report.methods)

    def differences(self, connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        """Compares batches by conversation if they have the same combinations, else by the means of entities."""
        sections = [StoredConfig(batch["config"]).sections for batch in batches]
        if not (measures := self.measures(sections[0])):
            return []
        rated = [
            (self.values(connection, dict(batch), own), _tally(connection, batch["number"]))
            for batch, own in zip(batches, sections, strict=True)
        ]

        def compare(first: Rated, second: Rated) -> dict[str, Any] | None:
            return difference_of(measures[0], first[0], second[0]) or compared(first[1], second[1])

        return pairwise([batch["id"] for batch in batches], rated, compare, "mean rating")

    def formats(self) -> Mapping[str, Exporter]:
        from tidepool.engine.studies.simulation.exports import FORMATS

        return FORMATS

    def tables(self, request: ExportRequest) -> Sequence[ExportTable]:
        from tidepool.engine.studies.simulation.exports import tables_of

        return tables_of(request)


def _of_entity(name: str, scale: tuple[float, float]) -> Outcome:
    return Outcome(
        name=f"{RATING} of {name}",
        words=f"judge's rating of {name}",
        bounds=scale,
        about=f"entities.{name}",
        also=(f"{name}: {RATING}", f"{name} {RATING}"),
        digits=2,
    )


def _tally(connection: sqlite3.Connection, batch_number: int) -> SpeechTally:
    tally = SpeechTally()
    for page in spoken_in_pages(connection, batch_number):
        tally.take(page)
    return tally


def _judgements(question: str, tally: SpeechTally, scale: tuple[float, float]) -> dict[str, Any]:
    (overall,) = tally.group_means(RATING, [list(tally.places)], scale)
    distribution, rated = tally.distribution(), len(tally.means(RATING))
    return {
        "question": question,
        "scale": list(scale),
        "given": sum(distribution.values()),
        "missing": tally.unrated.total(),
        **(overall or {"mean": None, "ci95": None}),
        "note": few_clusters(rated, "entities"),
        "distribution": distribution,
    }


def compared(first: SpeechTally, second: SpeechTally) -> dict[str, Any] | None:
    """Compares two batches by the means of entities. Returns None if fewer than two entities have ratings in both."""
    means = [batch.means(RATING) for batch in (first, second)]
    both = means[0].keys() & means[1].keys()
    if len(both) < 2:
        return None
    without = []
    for left_out in both:
        ours, theirs = (batch.means(RATING, without=left_out) for batch in (first, second))
        gaps = [ours[name] - theirs[name] for name in both & ours.keys() & theirs.keys()]
        without += [fmean(gaps)] if gaps else []
    difference = fmean(means[0][name] - means[1][name] for name in both)
    return {
        "paired": True,
        "entities": len(both),
        **jackknife(difference, without, len(both)).as_json(),
        "estimand": SPEAKS_OF["entities"],
        "method": "jackknife over entities, each left out with all its conversations",
        "note": few_clusters(len(both), "entities"),
    }
