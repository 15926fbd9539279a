"""The contract's `statistics` of a simulation batch, from its tally."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.entities import in_words, stored_entity
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.inference.typed import Statistics
from tidepool.engine.studies.simulation.measures import (
    MEASURES,
    UNBOUNDED,
    AttributeStatistics,
    EntityCounts,
    Mean,
    SpeechTally,
    TypeCounts,
    compare_by_attribute,
    group_mean,
    own_mean,
)
from tidepool.storage.queries.units import spoken_in_pages


@dataclass(frozen=True)
class EntityStatistics(Statistics):
    """Of one entity, over its own simulations."""

    simulations: int
    words: Mean | None
    turns: Mean | None
    rating: Mean | None
    unrated: int


@dataclass(frozen=True)
class Judgements(Statistics):
    question: str
    scale: tuple[float, ...]
    given: int
    missing: int
    mean: float | None
    ci95: Interval | None
    distribution: Mapping[str, int]


@dataclass(frozen=True)
class MissingSimulations(Statistics):
    simulations: int
    judgements: int


@dataclass(frozen=True)
class SimulationStatistics(Statistics):
    by_interaction_type: Mapping[str, TypeCounts]
    combinations_possible: int
    combinations_run: int
    messages: int
    words: int
    judgements: Judgements | None
    entities: Mapping[str, EntityStatistics]
    by_attribute: Mapping[str, AttributeStatistics]
    unsplit_scenes: int
    """narrated rounds that name no speaker"""
    missing: MissingSimulations


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig) -> dict[str, Any]:
    settings = config.sections["simulation"]
    entities = list(map(stored_entity, config.sections["entities"]))
    possible = comb(len(entities), settings["interaction_size"])
    tally = SpeechTally(repeated=settings["num_simulations"] > possible)
    for page in spoken_in_pages(connection, batch["number"]):
        tally.take(page)
    types, counts, judge = tally.types.values(), tally.entities, settings["judge"]
    scale = (float(judge["scale"][0]), float(judge["scale"][1])) if judge else UNBOUNDED
    unrated = sum(count.unrated for count in counts.values())
    stats = SimulationStatistics(
        by_interaction_type=dict(sorted(tally.types.items())),
        combinations_possible=possible,
        combinations_run=tally.combinations_met,
        messages=sum(count.messages for count in types),
        words=sum(count.words for count in types),
        judgements=_judgements(judge["question"], counts, scale, unrated) if judge else None,
        entities={entity.name: _entity(counts[entity.name], scale) for entity in entities if entity.name in counts},
        by_attribute=compare_by_attribute(entities, counts, scale),
        unsplit_scenes=tally.unsplit,
        missing=MissingSimulations(simulations=sum(count.failed for count in types), judgements=unrated),
    )
    return with_coding(connection, batch, stats.as_json())


def _entity(counts: EntityCounts, scale: Interval) -> EntityStatistics:
    means = {measure: own_mean(measure, counts, scale) for measure in MEASURES}
    return EntityStatistics(simulations=counts.simulations, **means, unrated=counts.unrated)


def _judgements(question: str, entities: Mapping[str, EntityCounts], scale: Interval, missing: int) -> Judgements:
    ratings: Counter[float] = Counter()
    for counts in entities.values():
        ratings.update(counts.ratings)
    overall = group_mean("rating", entities, scale)
    return Judgements(
        question=question,
        scale=scale,
        given=ratings.total(),
        missing=missing,
        mean=overall.mean if overall else None,
        ci95=overall.ci95 if overall else None,
        distribution={in_words(rating): times for rating, times in sorted(ratings.items())},
    )
