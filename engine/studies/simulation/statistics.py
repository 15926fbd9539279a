"""The contract's `statistics` of a simulation batch, from its tally."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidepool.engine.coding.statistics import with_coding
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.library.dimensions import in_words
from tidepool.engine.library.entities import Entity
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.simulation.attributes import (
    UNBOUNDED,
    AttributeStatistics,
    Mean,
    compare_by_attribute,
    group_mean,
    own_mean,
)
from tidepool.engine.studies.simulation.casting import cast_of, settings_of
from tidepool.engine.studies.simulation.combinations import combinations_possible
from tidepool.engine.studies.simulation.config import Judge
from tidepool.engine.studies.simulation.measures import MEASURES, EntityCounts, SpeechTally
from tidepool.storage.reading.units import spoken_in_pages


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig) -> dict[str, Any]:
    settings, cast = settings_of(config.checked), cast_of(config.checked)
    possible = combinations_possible(len(cast), settings.interaction_size)
    entities = [member.entity for member in cast]
    tally = _tally(connection, batch["number"], repeated=settings.num_simulations > possible)
    found = simulation_statistics(tally, entities, possible, settings.judge)
    return with_coding(connection, batch, found.as_json())


def _tally(connection: sqlite3.Connection, batch_number: int, *, repeated: bool) -> SpeechTally:
    tally = SpeechTally(repeated=repeated)
    for unit in spoken_in_pages(connection, batch_number):
        if unit.status == "completed":
            tally.completed(unit.interaction_type, unit.participants, unit.said, unit.ratings)
        else:
            tally.unfinished(unit.interaction_type, unit.status)
    return tally


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
    tally: SpeechTally, entities: Sequence[Entity], possible: int, judge: Judge | None
) -> SimulationStatistics:
    types = list(tally.types.values())
    scale = (judge.scale[0], judge.scale[1]) if judge else UNBOUNDED
    return SimulationStatistics(
        by_interaction_type={kind: TypeStatistics(**asdict(counts)) for kind, counts in sorted(tally.types.items())},
        combinations_possible=possible,
        combinations_run=len(tally.combinations),
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


def _judgements(judge: Judge, entities: Mapping[str, EntityCounts], scale: Interval) -> Judgements:
    ratings: Counter[float] = Counter()
    for counts in entities.values():
        ratings.update(counts.ratings)
    overall = group_mean("rating", entities, scale)
    return Judgements(
        question=judge.question,
        scale=tuple(judge.scale),
        given=ratings.total(),
        missing=sum(counts.unrated for counts in entities.values()),
        mean=overall.mean if overall else None,
        ci95=overall.ci95 if overall else None,
        distribution={in_words(rating): times for rating, times in sorted(ratings.items())},
    )
