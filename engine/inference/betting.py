"""A confidence sequence for the mean of bounded values, by betting (Waudby-Smith and Ramdas).

A bettor at fair odds against "the mean is m" cannot expect to win if m is the mean. This holds for any distribution and
for any number of looks. The capital grows from two to forty with a chance of at most one in twenty. Half of the capital
bets that the mean lies above m, half that it lies below. A mean against which either half gets rich is excluded for good.
A stake depends only on the values before it. It follows their spread, so that it is best after `horizon` values.

If a value is only known within bounds, one half receives its lower bound and the other its upper bound. This excludes
only what the worst case would exclude.
"""

import math

from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import LEVEL, Interval

MOST_STAKED = 0.9
"""share of the capital lost at the worst outcome of a bet"""
_STEPS = 40


class _Bets:
    """Bets that the mean of values from 0 to 1 lies above a line. The line can be chosen afterwards."""

    def __init__(self, horizon: float, variance: float, needed: float) -> None:
        self._growth = 2 * needed / horizon
        self._sum, self._squares = 0.5, variance
        self._needed = needed
        self.values: list[float] = []
        self.stakes: list[float] = []

    def add(self, value: float) -> None:
        count = len(self.values) + 1
        self.stakes.append(math.sqrt(self._growth * count / self._squares))
        self.values.append(value)
        self._sum += value
        self._squares += (value - self._sum / (count + 1)) ** 2

    def last_gain(self, line: float) -> float:
        """The change of the logarithm of the capital by the last bet."""
        stake = min(self.stakes[-1], MOST_STAKED / line) if line > 0 else self.stakes[-1]
        return math.log1p(stake * (self.values[-1] - line))

    def highest_excluded(self) -> float:
        """The largest line up to which the mean is excluded, because the capital was once large enough. The capital falls as
        the line rises."""
        values, stakes = numpy.array(self.values), numpy.array(self.stakes)

        def excluded(line: float) -> bool:
            gains = numpy.log1p(numpy.minimum(stakes, MOST_STAKED / line) * (values - line))
            return bool(numpy.cumsum(gains).max(initial=0.0) >= self._needed)

        low, high = 0.0, 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if excluded(middle) else (low, middle)
        return low


class ConfidenceSequence:
    """A confidence sequence for a mean between two bounds, valid after every value."""

    def __init__(self, horizon: float, variance: float, bounds: Interval = (0.0, 1.0), level: float = LEVEL) -> None:
        """`horizon` is the number of values for which the bets are optimal. `variance` is a prior guess of a value's variance."""
        self._low, self._width = bounds[0], bounds[1] - bounds[0]
        self._needed = math.log(2 / (1 - level))
        unit_variance = variance / self._width**2
        self._above, self._below = (_Bets(max(1.0, horizon), unit_variance, self._needed) for _ in range(2))

    def add(self, low: float, high: float) -> None:
        """Adds the next value, or its bounds if it is not known."""
        self._above.add((low - self._low) / self._width)
        self._below.add(1 - (high - self._low) / self._width)

    @property
    def count(self) -> int:
        return len(self._above.values)

    def interval(self) -> Interval:
        """The interval of the mean, by all looks so far."""
        low, high = self._above.highest_excluded(), 1 - self._below.highest_excluded()
        return self._low + self._width * low, self._low + self._width * high

    def against(self, line: float) -> "Decision":
        """A running decision about one line. Call `update` after every value."""
        return Decision(self, (line - self._low) / self._width)


class Decision:
    """Whether the mean lies above or below one line. Each value costs one step."""

    def __init__(self, sequence: ConfidenceSequence, line: float) -> None:
        self._sequence, self._line = sequence, line
        self._above = self._below = 0.0
        self.verdict: str | None = None
        """above, below; None: undecided"""

    def update(self) -> str | None:
        """Processes the last value."""
        self._above += self._sequence._above.last_gain(self._line)
        self._below += self._sequence._below.last_gain(1 - self._line)
        if self.verdict is None:
            needed = self._sequence._needed
            self.verdict = "above" if self._above >= needed else "below" if self._below >= needed else None
        return self.verdict
