"""What simulations will measure, before they are run: how many values for power, and which blocks for stop rules.

A block of a stop rule is every combination once where there are enough such cycles, else each entity equally often, else a
fixed part of the plan.
"""

import sqlite3
from collections.abc import Iterator
from math import comb, gcd

from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.inference.measures import PlannedBatch, PlannedValues
from tidepool.engine.runtime.stop_rules import (
    ENOUGH_BLOCKS,
    ReportEstimate,
    refuse_few_blocks,
    refuse_line,
    refuse_outcome,
)
from tidepool.engine.studies.simulation.casting import cast_of, settings_of
from tidepool.engine.studies.simulation.measures import RATING, SpeechTally, group_mean
from tidepool.storage.queries.units import rated_between


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


def watch_simulations(config: FrozenConfig) -> "WatchedSimulations":
    """Raises where the rule cannot be kept."""
    settings, rule = settings_of(config), config.stop
    assert rule is not None
    refuse_outcome(rule, ("rating",), "simulation")
    if settings.judge is None:
        raise UsageError("[stop] watches the ratings of a judge: add simulation.judge.", ("simulation", "judge"))
    if rule.agent or rule.difference:
        word = "agent" if rule.agent else "difference"
        raise UsageError(f"stop.{word} is for agents of a secret game: a simulation has entities.", ("stop", word))
    low, high = settings.judge.scale
    refuse_line(rule, (low, high))
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
