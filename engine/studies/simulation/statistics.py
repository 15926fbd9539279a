"""The contract's `statistics` of a simulation batch, from its tally."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.library.entities import Entity, in_words
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.simulation.casting import cast_from, combinations_possible
from tidepool.engine.studies.simulation.measures import (
    MEASURES,
    UNBOUNDED,
    AttributeStatistics,
    EntityCounts,
    Mean,
    SpeechTally,
    compare_by_attribute,
    group_mean,
    own_mean,
)
from tidepool.storage.queries.units import spoken_in_pages


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig) -> dict[str, Any]:
    settings = config.sections["simulation"]
    entities = [member.entity for member in cast_from(config.sections["entities"])]
    possible = combinations_possible(len(entities), settings["interaction_size"])
    tally = SpeechTally(repeated=settings["num_simulations"] > possible)
    for page in spoken_in_pages(connection, batch["number"]):
        tally.take(page)
    found = simulation_statistics(tally, entities, possible, Asked.of(settings["judge"]))
    return with_coding(connection, batch, found.as_json())


class Asked(NamedTuple):
    """What a judge was asked of every speaker."""

    question: str
    scale: Interval

    @classmethod
    def of(cls, judge: Mapping[str, Any] | None) -> "Asked | None":
        """As a batch's config has it."""
        if judge is None:
            return None
        low, high = judge["scale"]
        return cls(judge["question"], (float(low), float(high)))


@dataclass(frozen=True)
class TypeStatistics(Statistics):
    simulations: int
    completed: int
    failed: int
    messages: int
    words: int


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
    by_interaction_type: Mapping[str, TypeStatistics]
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


def simulation_statistics(
    tally: SpeechTally, entities: Sequence[Entity], possible: int, judge: Asked | None
) -> SimulationStatistics:
    types = list(tally.types.values())
    scale = judge.scale if judge else UNBOUNDED
    return SimulationStatistics(
        by_interaction_type={kind: TypeStatistics(**asdict(counts)) for kind, counts in sorted(tally.types.items())},
        combinations_possible=possible,
        combinations_run=tally.combinations_met,
        messages=sum(counts.messages for counts in types),
        words=sum(counts.words for counts in types),
        judgements=_judgements(judge, tally.entities, scale) if judge else None,
        entities={
            entity.name: _entity(tally.entities[entity.name], scale)
            for entity in entities
            if entity.name in tally.entities
        },
        by_attribute=compare_by_attribute(entities, tally.entities, scale),
        unsplit_scenes=tally.unsplit,
        missing=MissingSimulations(
            simulations=sum(counts.failed for counts in types),
            judgements=sum(counts.unrated for counts in tally.entities.values()),
        ),
    )


def _entity(counts: EntityCounts, scale: Interval) -> EntityStatistics:
    return EntityStatistics(
        simulations=counts.simulations,
        **{measure: own_mean(measure, counts, scale) for measure in MEASURES},
        unrated=counts.unrated,
    )


def _judgements(judge: Asked, entities: Mapping[str, EntityCounts], scale: Interval) -> Judgements:
    ratings: Counter[float] = Counter()
    for counts in entities.values():
        ratings.update(counts.ratings)
    overall = group_mean("rating", entities, scale)
    return Judgements(
        question=judge.question,
        scale=judge.scale,
        given=ratings.total(),
        missing=sum(counts.unrated for counts in entities.values()),
        mean=overall.mean if overall else None,
        ci95=overall.ci95 if overall else None,
        distribution={in_words(rating): times for rating, times in sorted(ratings.items())},
    )
