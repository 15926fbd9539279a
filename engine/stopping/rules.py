"""The two rules, as pure functions of the blocks they are shown: nothing in here knows a run.

`half_width` looks at the ordinary interval of the report, from 100 units on and then each time a fiftieth has come in
(Chow and Robbins): a sequence that holds at all looks would never be sooner. `decided` looks after every block at a
confidence sequence, so that it is never wrong more often than one in twenty times, however often it looks.
"""

from dataclasses import dataclass

from tidepool.engine.statistics.betting import ConfidenceSequence
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.stopping.watched import Known, Watched

FIRST_LOOK = 100
"""units: below, an interval may be narrow by chance"""
LOOKS_IN = 50
"""the next look comes when the units have grown by one part in so many"""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a look saw: the estimate, its interval by the rule's own method, and the verdict where there is one."""

    units: int
    mean: float | None
    interval: Interval | None
    verdict: str | None = None


class HalfWidth:
    """Stops when the report's own interval is narrow enough."""

    method = "the report's interval at fixed looks, not corrected for looking (Chow and Robbins)"
    verdict_at_end = "not narrow enough"

    def __init__(self, half_width: float) -> None:
        self._widest = 2 * half_width
        self._next = FIRST_LOOK
        self.looks = 0

    def after(self, units: int, watched: Watched) -> Sight | None:
        """After a block; None: it does not look here."""
        if units < self._next:
            return None
        self._next = units + max(1, units // LOOKS_IN)
        self.looks += 1
        return self._seen(units, watched.known())

    def _seen(self, units: int, known: Known | None) -> Sight:
        if known is None or known.interval is None:
            return Sight(units, known.mean if known else None, None)
        low, high = known.interval
        return Sight(units, known.mean, known.interval, "narrow enough" if high - low <= self._widest else None)


class Decided:
    """Stops when a confidence sequence over block means excludes the line."""

    method = "a betting confidence sequence over block means (Waudby-Smith and Ramdas), tuned to half of the most"
    verdict_at_end = "undecided"

    def __init__(self, line: float, blocks: float, variance: float, bounds: Interval) -> None:
        """`blocks`: how many there are at most; `variance`: of a block's mean, as guessed before any."""
        self._sequence = ConfidenceSequence(blocks / 2, variance, bounds)
        self._decision = self._sequence.against(line)
        self._sums = [0.0, 0.0]
        self.looks = 0

    def after(self, value: Interval | None) -> None:
        """Takes in a block."""
        if value is not None:
            self.looks += 1
            self._sequence.see(*value)
            self._sums = [total + end for total, end in zip(self._sums, value, strict=True)]
            self._decision.after()

    @property
    def verdict(self) -> str | None:
        return self._decision.verdict

    def sight(self, units: int) -> Sight:
        """The estimate is the mean of the blocks, each in the middle of its bounds."""
        mean = sum(self._sums) / 2 / self.looks if self.looks else None
        return Sight(units, mean, self._sequence.interval() if self.looks else None, self._decision.verdict)


def variance_of_blocks(bounds: Interval, units: float, contrast: bool) -> float:
    """A guess for the stakes before anything was seen: halves at either bound, units independent."""
    low, high = bounds
    return (2 if contrast else 1) * (high - low) ** 2 / 4 / max(1.0, units)
