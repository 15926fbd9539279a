"""What a batch has come to so far, cheaply enough to be asked for while it runs.

A kind's `glimpse.py` counts the rows that were written since the last look; there is a headline, a figure or two and a table,
with simple intervals and without p-values. All that links observations to one another is for the statistics at the end.
"""

import math
import sqlite3
from dataclasses import dataclass
from typing import Protocol

from tidepool.engine.inference.distributions import student_quantile
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.results.blocks import Block, Cell, Estimate, Headline, Number, text_of

CAPTION = "So far: simple 95 % intervals, as if all were independent. No ground to stop a study on."
ENDED = "Simple 95 % intervals, as if all were independent: those of Results allow for what belongs together."


class Glimpse(Protocol):
    """The running count of one batch."""

    def update(self, connection: sqlite3.Connection, batch_number: int) -> bool:
        """What was written since; True where so much was there that some is left for the next time."""

    def interim(self) -> "Interim | None":
        """None before there is anything to tell."""


@dataclass(frozen=True, slots=True)
class Interim:
    name: str
    """of the figure, in a word or two"""
    figure: Cell
    rests_on: str
    """n = …"""
    blocks: tuple[Block, ...] = ()
    """figures first, then tables"""

    @property
    def brief(self) -> str:
        """For a line of a list: without the interval."""
        value = text_of(self.figure).partition(" (")[0]
        return f"{value} {self.name}" if value.endswith("%") else f"{self.name} {value}"

    def headline(self, running: bool) -> Headline:
        """Of a batch that has ended without the simple interval: its statistics have the true one."""
        if running:
            return Headline(self.name, self.figure, f"so far, {self.rests_on}")
        figure = self.figure
        if isinstance(figure, Estimate):
            figure = Number(figure.value, figure.digits, figure.unit, figure.signed)
        return Headline(self.name, figure, self.rests_on)


@dataclass(slots=True)
class Sums:
    """Of values that come and may be taken back: enough for their mean and its interval."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float, times: int = 1) -> None:
        self.count += times
        self.total += times * value
        self.squares += times * value * value

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    @property
    def variance(self) -> float:
        """Of one value, by those there are."""
        if self.count < 2:
            return 0.0
        return max(0.0, self.squares - self.total**2 / self.count) / (self.count - 1)

    def estimate(self, digits: int, independent: int | None = None) -> Estimate:
        return Estimate(self.mean, self.interval(independent), digits)

    def interval(self, independent: int | None = None) -> Interval | None:
        """Student's. Fewer than all of them may be independent."""
        number = self.count if independent is None else independent
        if self.mean is None or number < 2:
            return None
        reach = student_quantile(number - 1, 0.975) * math.sqrt(self.variance / number)
        return self.mean - reach, self.mean + reach
