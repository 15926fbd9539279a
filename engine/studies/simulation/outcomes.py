"""What a design compares in a simulation: the judge's rating, of all entities of a talk or of one."""

import json
import sqlite3
from collections.abc import Mapping
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tidepool.engine.design.outcomes import (
    UNBOUNDED,
    BatchValues,
    KindOutcomes,
    Outcome,
    PlannedBatch,
    PlannedValues,
    Sections,
    Talk,
    number,
)
from tidepool.storage.queries.conversations import ratings_by_talk

if TYPE_CHECKING:
    from tidepool.engine.config.frozen import FrozenConfig

RATING = "rating"


def listed(sections: Sections) -> list[Outcome]:
    """None without a judge."""
    judge = sections.get("simulation", {}).get("judge")
    if not judge:
        return []
    low, high = judge.get("scale") or UNBOUNDED
    whole = Outcome(name=RATING, words="judge's rating, mean of a talk", bounds=(low, high), digits=2)
    names = [str(entity["name"]) for entity in sections.get("entities", ())]
    return [whole, *(_of_entity(name, (low, high)) for name in names)]


def _of_entity(name: str, scale: tuple[float, float]) -> Outcome:
    return Outcome(
        name=f"{RATING} of {name}",
        words=f"judge's rating of {name}",
        bounds=scale,
        about=f"entities.{name}",
        also=(f"{name}: {RATING}", f"{name} {RATING}"),
        digits=2,
    )


def read(connection: sqlite3.Connection, batch: Mapping[str, Any], sections: Sections) -> BatchValues:
    by_talk: dict[str, list[float | None]] = {one.name: [] for one in listed(sections)}
    if not by_talk:
        return BatchValues()
    talks: list[Talk] = []
    for place, rows in groupby(ratings_by_talk(connection, batch["number"]), key=lambda row: row[0]):
        given = [(row[1], str(row[2]), number(row[3])) for row in rows]
        talks.append(Talk(place, drawn=_who(given[0][0])))
        known = [rating for _, _, rating in given if rating is not None]
        own = {f"{RATING} of {entity}": rating for _, entity, rating in given}
        for name, values in by_talk.items():
            values.append(own.get(name) if name != RATING else fmean(known) if len(known) == len(given) else None)
    return BatchValues(talks=talks, by_talk=by_talk)


def _who(participants: Any) -> str:
    try:
        return "\x1f".join(map(str, json.loads(participants)))
    except (TypeError, ValueError, RecursionError):
        return ""


def planned(config: "FrozenConfig") -> PlannedBatch:
    from tidepool.engine.studies.simulation.casting import cast_of, settings_of

    settings, names = settings_of(config), [member.entity.name for member in cast_of(config)]
    size = min(settings.interaction_size, len(names))
    own = PlannedValues(settings.num_simulations * size / len(names))
    return PlannedBatch(
        counted="talks",
        outcomes={
            RATING: PlannedValues(settings.num_simulations, size),
            **{f"{RATING} of {name}": own for name in names},
        },
        sizes={"simulation.num_simulations": settings.num_simulations},
        entities=len(names),
    )


OUTCOMES = KindOutcomes(listed, read, planned)
