"""What a stop rule sees of a batch of simulations: a judge's ratings, by blocks in which entities appear alike.

A block is every combination once where there are enough such cycles, else each entity equally often, else a fixed part
of the plan: combinations come in a seeded order, so that parts of it are alike too.
"""

import sqlite3
from collections.abc import Iterator
from math import comb, gcd

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.stopping.checking import refuse_few_blocks, refuse_line, refuse_outcome
from tidepool.engine.stopping.watched import ENOUGH_BLOCKS, Known
from tidepool.engine.studies.simulation.attributes import group_mean
from tidepool.engine.studies.simulation.casting import cast_of, settings_of
from tidepool.engine.studies.simulation.measures import SpeechTally
from tidepool.storage.queries.units import rated_between


def watched(config: FrozenConfig) -> "WatchedSimulations":
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
    found = WatchedSimulations(settings.num_simulations, settings.interaction_size, (low, high), size)
    refuse_few_blocks(rule, found, ("simulation", "num_simulations"))
    return found


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
        self._taken = 0
        self._tally = SpeechTally()

    def ends(self) -> Iterator[int]:
        return iter(range(self._block, self.units + 1, self._block))

    def take_in(self, connection: sqlite3.Connection, batch_number: int, last: int) -> Interval | None:
        talks = rated_between(connection, batch_number, self._taken + 1, last)
        self._tally.rated(talks)
        given = [rating for _, ratings in talks for _, rating in ratings if rating is not None]
        wanted = (last - self._taken) * self._speakers
        self._taken = last
        missing = max(0, wanted - len(given))
        low, high = ((sum(given) + missing * bound) / (len(given) + missing) for bound in self.bounds)
        return low, high

    def known(self) -> Known | None:
        found = group_mean("rating", self._tally.entities, self.bounds)
        return Known(found.mean, found.ci95) if found else None
