"""A confidence sequence for the mean of bounded values, by betting (Waudby-Smith and Ramdas).

Who bets at fair odds against "the mean is m" cannot expect to win if m is the mean, whatever the values' distribution and
however often one looks: a capital of forty from two is reached with a chance of at most one in twenty. Half of the capital
bets that the mean lies above m, half that it lies below; what made either rich is excluded, at any time, for good. A stake
is chosen from the values before it alone, by their spread, so as to be best after `horizon` values.

Where a value is not known but bounded, the one half is shown its lower bound and the other its upper: nothing is excluded
that the worst case would not exclude.
"""

import math

from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import LEVEL, Interval

MOST_STAKED = 0.9
"""of the capital, at the worst outcome of a bet"""
_STEPS = 40


class _Bets:
    """Bets that the mean of values from 0 to 1 lies above a line; which line may be asked afterwards."""

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
        """What the last bet did to the logarithm of the capital."""
        stake = min(self.stakes[-1], MOST_STAKED / line) if line > 0 else self.stakes[-1]
        return math.log1p(stake * (self.values[-1] - line))

    def highest_excluded(self) -> float:
        """No line up to here can be the mean: the capital was once large enough. It falls as the line rises."""
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
    """Of a mean between two bounds, which may be looked at after every value."""

    def __init__(self, horizon: float, variance: float, bounds: Interval = (0.0, 1.0), level: float = LEVEL) -> None:
        """`horizon`: after how many values the bets are to be best; `variance`: that of a value, as guessed before any."""
        self._low, self._width = bounds[0], bounds[1] - bounds[0]
        self._needed = math.log(2 / (1 - level))
        unit_variance = variance / self._width**2
        self._above, self._below = (_Bets(max(1.0, horizon), unit_variance, self._needed) for _ in range(2))

    def add(self, low: float, high: float) -> None:
        """The next value, or between what it must lie where it is not known."""
        self._above.add((low - self._low) / self._width)
        self._below.add(1 - (high - self._low) / self._width)

    @property
    def count(self) -> int:
        return len(self._above.values)

    def interval(self) -> Interval:
        """Where the mean can still lie, by all looks so far."""
        low, high = self._above.highest_excluded(), 1 - self._below.highest_excluded()
        return self._low + self._width * low, self._low + self._width * high

    def against(self, line: float) -> "Decision":
        """A running decision about one line; `update` is to be called after every value."""
        return Decision(self, (line - self._low) / self._width)


class Decision:
    """Whether the mean lies above or below a line: the sequence asked about this line alone, at a step's cost a value."""

    def __init__(self, sequence: ConfidenceSequence, line: float) -> None:
        self._sequence, self._line = sequence, line
        self._above = self._below = 0.0
        self.verdict: str | None = None
        """above, below; None: undecided"""

    def update(self) -> str | None:
        """Takes in the last value."""
        self._above += self._sequence._above.last_gain(self._line)
        self._below += self._sequence._below.last_gain(1 - self._line)
        if self.verdict is None:
            needed = self._sequence._needed
            self.verdict = "above" if self._above >= needed else "below" if self._below >= needed else None
        return self.verdict
