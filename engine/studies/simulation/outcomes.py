"""What designs, stopping rules and comparisons read from a simulation: the judge's ratings.

A block of a stopping rule is every combination once where there are enough such cycles, else each entity equally often, else a fixed
part of the plan. Batches are compared by the mean rating of each entity that both rated, each entity with itself. Batches of other
entities, or without a judge, are only set side by side.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import comb, gcd
from statistics import fmean
from typing import Any

from tidepool.engine.config.sections import FrozenConfig
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
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.contrasts import student
from tidepool.engine.inference.intervals import Interval, Total, jackknife_variance
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.stopping.rules import ENOUGH_BLOCKS, ReportEstimate, refuse_few_blocks, refuse_line, refuse_outcome
from tidepool.engine.studies.simulation.casting import cast_of, settings_of
from tidepool.engine.studies.simulation.measures import EntityCounts, SpeechTally, group_mean
from tidepool.storage.queries.conversations import ratings_by_talk
from tidepool.storage.queries.units import rated_between, spoken_in_pages

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
    by_talk: dict[str, list[float | None]] = {outcome.name: [] for outcome in listed(sections)}
    if not by_talk:
        return BatchValues()
    talks: list[Talk] = []
    for place, rows in groupby(ratings_by_talk(connection, batch["number"]), key=lambda row: row[0]):
        ratings = [(row[1], str(row[2]), number(row[3])) for row in rows]
        talks.append(Talk(place, drawn=_who(ratings[0][0])))
        known = [rating for _, _, rating in ratings if rating is not None]
        own = {f"{RATING} of {entity}": rating for _, entity, rating in ratings}
        for name, values in by_talk.items():
            values.append(own.get(name) if name != RATING else fmean(known) if len(known) == len(ratings) else None)
    return BatchValues(talks=talks, by_talk=by_talk)


def _who(participants: Any) -> str:
    try:
        return "\x1f".join(map(str, json.loads(participants)))
    except (TypeError, ValueError, RecursionError):
        return ""


def planned(config: FrozenConfig) -> PlannedBatch:
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


def watch_simulations(config: FrozenConfig) -> "WatchedSimulations":
    """Raises where the rule cannot be kept."""
    settings, rule = settings_of(config), config.stop
    assert rule is not None
    refuse_outcome(rule, ("rating",), "simulation")
    if settings.judge is None:
        raise UsageError("[stop] watches the ratings of a judge: add simulation.judge.", ("simulation", "judge"))
    if rule.agent or (rule.difference and not rule.contrast):
        word = "agent" if rule.agent else "difference"
        raise UsageError(f"stop.{word} is for agents of a secret game: a simulation has entities.", ("stop", word))
    low, high = settings.judge.scale
    refuse_line(rule, (low - high, high - low) if rule.difference else (low, high))
    size = block_size(len(cast_of(config)), settings.interaction_size, settings.num_simulations)
    watch = WatchedSimulations(settings.num_simulations, settings.interaction_size, (low, high), size)
    refuse_few_blocks(rule, watch, ("simulation", "num_simulations"))
    return watch


def block_size(entities: int, size: int, simulations: int) -> int:
    for cycle in (comb(entities, size), entities // gcd(entities, size)):
        if simulations >= ENOUGH_BLOCKS * cycle:
            return cycle
    return max(1, simulations // ENOUGH_BLOCKS)


class WatchedSimulations:
    noun = "simulations"
    linked = False

    def __init__(self, units: int, speakers: int, bounds: Interval, block: int) -> None:
        self.units = self.together = units
        self.bounds = bounds
        self._speakers, self._block = speakers, block
        self._read_count = 0
        self._tally = SpeechTally()

    def ends(self) -> Iterator[int]:
        return iter(range(self._block, self.units + 1, self._block))

    def read_block(self, connection: sqlite3.Connection, batch_number: int, last: int) -> Interval | None:
        talks = rated_between(connection, batch_number, self._read_count + 1, last)
        self._tally.rated(talks)
        known_ratings = [rating for _, ratings in talks for _, rating in ratings if rating is not None]
        wanted = (last - self._read_count) * self._speakers
        self._read_count = last
        missing = max(0, wanted - len(known_ratings))
        low, high = ((sum(known_ratings) + missing * bound) / (len(known_ratings) + missing) for bound in self.bounds)
        return low, high

    def known(self) -> ReportEstimate | None:
        mean = group_mean("rating", self._tally.entities, self.bounds)
        return ReportEstimate(mean.mean, mean.ci95) if mean else None


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
