"""What a kind of study tells a stop rule of one batch: its blocks, and what came out of them."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tidepool.engine.statistics.intervals import Interval

LEAST_BLOCKS = 10
"""fewer could hardly ever decide anything"""
ENOUGH_BLOCKS = 40
"""with so many, blocks may as well be larger and balance more"""


@dataclass(frozen=True, slots=True)
class Known:
    """An estimate as the report would show it, with its ordinary interval; None: there is none."""

    mean: float
    interval: Interval | None


class Watched(Protocol):
    """Blocks are of whole units in the order of the plan, and alike: what differs between units by design is in each."""

    units: int
    """as planned: there will not be more"""
    bounds: Interval
    """between which values of the outcome lie"""
    noun: str
    """what units are called"""
    together: int
    """units of a block that can be asked at the same moment"""
    linked: bool
    """a block that was begun is played to its end, since its units hang together"""

    def ends(self) -> Iterator[int]:
        """The last unit of each whole block."""
        ...

    def take_in(self, connection: sqlite3.Connection, batch_number: int, last: int) -> Interval | None:
        """Reads the next block, up to its last unit: the mean of its values, or between what it must lie where units
        failed. None: it has none."""
        ...

    def known(self) -> Known | None:
        """By all that was taken in."""
        ...
