"""The contract's `statistics` of a simulation batch, from its tally."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.library.dimensions import in_words
from tidepool.engine.library.entities import Entity
from tidepool.engine.statistics.intervals import Interval, mean_interval_of_counts, mean_of_counts
from tidepool.engine.studies.simulation.attributes import UNBOUNDED, compare_by_attribute, group_mean
from tidepool.engine.studies.simulation.casting import cast_of, settings_of
from tidepool.engine.studies.simulation.combinations import combinations_possible
from tidepool.engine.studies.simulation.config import Judge
from tidepool.engine.studies.simulation.measures import EntityCounts, SpeechTally
from tidepool.storage.units import units_in_pages


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig) -> dict[str, Any]:
    settings, cast = settings_of(config), cast_of(config)
    possible = combinations_possible(len(cast), settings.interaction_size)
    entities = [member.entity for member in cast]
    return simulation_statistics(
        _tally(connection, batch["number"]), entities, possible, settings.judge, config.batch.seed
    )


def _tally(connection: sqlite3.Connection, batch_number: int) -> SpeechTally:
    tally = SpeechTally()
    for unit in units_in_pages(connection, batch_number):
        if unit.status == "completed":
            said = ((message.speaker, message.content) for message in unit.messages)
            tally.completed(unit.interaction_type or "", unit.participants, said, unit.ratings)
        else:
            tally.unfinished(unit.interaction_type or "", unit.status)
    return tally


def simulation_statistics(
    tally: SpeechTally, entities: Sequence[Entity], possible: int, judge: Judge | None, seed: int = 0
) -> dict[str, Any]:
    types = list(tally.types.values())
    scale = (judge.scale[0], judge.scale[1]) if judge else UNBOUNDED
    return {
        "by_interaction_type": {kind: asdict(counts) for kind, counts in sorted(tally.types.items())},
        "combinations_possible": possible,
        "combinations_run": len(tally.combinations),
        "messages": sum(counts.messages for counts in types),
        "words": sum(counts.words for counts in types),
        "judgements": _judgements(judge, tally.entities, scale) if judge else None,
        "entities": {
            entity.name: _entity(tally.entities[entity.name], seed)
            for entity in entities
            if entity.name in tally.entities
        },
        "by_attribute": compare_by_attribute(entities, tally.entities, scale),
        "unsplit_scenes": tally.unsplit,
        "missing": {
            "simulations": sum(counts.failed for counts in types),
            "judgements": sum(counts.unrated for counts in tally.entities.values()),
        },
    }


def _entity(counts: EntityCounts, seed: int) -> dict[str, Any]:
    return {
        "simulations": counts.simulations,
        "words": _over_talks(counts.words, seed),
        "turns": _over_talks(counts.turns, seed),
        "rating": _over_talks(counts.ratings, seed),
        "unrated": counts.unrated,
    }


def _over_talks(values: Counter[float], seed: int) -> dict[str, Any] | None:
    """Of one entity: the mean of its simulations, with the bootstrap's interval over them."""
    interval = mean_interval_of_counts(values, seed) if values.total() > 1 else None
    if not values:
        return None
    return {"mean": mean_of_counts(values), "ci95": list(interval) if interval else None}


def _judgements(judge: Judge, entities: Mapping[str, EntityCounts], scale: Interval) -> dict[str, Any]:
    ratings: Counter[float] = Counter()
    for counts in entities.values():
        ratings.update(counts.ratings)
    overall = group_mean("rating", list(entities.values()), scale) or {"mean": None, "ci95": None}
    return {
        "question": judge.question,
        "scale": judge.scale,
        "given": ratings.total(),
        "missing": sum(counts.unrated for counts in entities.values()),
        **overall,
        "distribution": {in_words(rating): times for rating, times in sorted(ratings.items())},
    }
