"""How fast calls may leave: a limit of a minute, kept in every second too.

Providers enforce 1,200 requests a minute as 20 a second, so calls leave on an even grid, a little slower than the limit:
in a second that leaves some 40 ms for what arrives unevenly. A loop that was late gets back onto the grid, but never by a
burst: while it catches up, calls still leave at less than the limit's own pace.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass

USED = 0.96
"""share of a limit that the even flow takes"""
CATCHING_UP = 0.975
"""share of a limit that may be taken while a late loop gets back onto the grid; in any second, and in any minute, this
and the one call that opens it stay within the limit however small that is"""
OPENING = 0.75
"""share of a limit that is taken in the first second: its calls open connections, and arrive the later for it"""
SPARE = 0.04
"""seconds that a second's calls take beyond it: so unevenly may they arrive"""
CLOSEST = 0.6
"""of the even distance: no two calls leave closer to each other"""
TIMER = 0.005
"""seconds by which a timer rings late as a rule: so much is made up at once"""
LATEST = 1.0
"""seconds: what comes later than this was not late, there was nothing to send"""


class Departures:
    """The last gate before the wire. What was let go evenly may be held up unevenly, by the disk or by a late loop, and must
    not arrive in a bunch: as many calls as a second allows take a little more than a second, whatever held them up."""

    def __init__(self) -> None:
        self._one_by_one = asyncio.Lock()
        self._left: deque[float] = deque()
        """when the last calls left, as many as a second allows"""

    async def next(self, per_minute: float) -> None:
        async with self._one_by_one:
            if (wait := self._soonest(per_minute) - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            self._left.append(time.monotonic())

    def _soonest(self, per_minute: float) -> float:
        left, in_a_second = self._left, int(per_minute // 60)
        while len(left) > max(1, in_a_second):
            left.popleft()
        if not left:
            return 0.0
        if len(left) < in_a_second or not in_a_second:
            return left[-1] + 60 / per_minute * (CLOSEST if in_a_second else 1 + SPARE)
        return max(left[0] + 1 + SPARE, left[-1] + 60 / per_minute * CLOSEST)


@dataclass(slots=True)
class RatePace:
    """An even flow of `per_minute` pieces (requests or tokens).

    A minute may open with one call and be filled by others: where a call is many pieces, the flow is kept slower by the
    largest one met, and a larger one waits for the difference.
    """

    per_minute: float
    next_at: float = 0.0
    """when the grid has its next place"""
    soonest: float = 0.0
    """before which nothing leaves, however late the grid is"""
    largest: float = 1.0
    opened: float = 0.0
    """when calls began to leave, after there were none"""

    def _seconds(self, share: float) -> float:
        """of a piece"""
        usable = self.per_minute * share
        return 60 / (usable if self.largest <= 1 else max(usable - self.largest, usable / 2))

    def delay(self, now: float, pieces: float = 1.0) -> float:
        if not self.per_minute:
            return 0.0
        wait = max(self.next_at, self.soonest) - now
        return wait if pieces <= self.largest else wait + (pieces - self.largest) * self._seconds(USED)

    def take(self, now: float, pieces: float = 1.0) -> None:
        if self.per_minute:
            self.largest = max(self.largest, pieces)
            if now - self.next_at >= LATEST:
                self.opened = self.next_at = now
            share = OPENING if self.largest <= 1 and now - self.opened < 1.0 else USED
            self.next_at += pieces * self._seconds(share)
            self.soonest = max(self.soonest, now - TIMER) + pieces * self._seconds(CATCHING_UP)

    def correct(self, pieces: float) -> None:
        """Gives back (or takes) what was estimated wrongly."""
        if self.per_minute:
            self.next_at += pieces * self._seconds(USED)
            self.soonest += pieces * self._seconds(CATCHING_UP)

    def change(self, per_minute: float, now: float, just_left: int = 0) -> None:
        """Another limit. What left a moment ago, before it was known, counts against its first second."""
        if per_minute == self.per_minute:
            return
        known, self.per_minute = bool(self.per_minute), per_minute
        if per_minute:
            place = self._seconds(USED)
            full = max(1.0, place)
            waits = min(just_left * place, full) if not known else min(max(self.next_at, self.soonest) - now, place)
            self.next_at = self.soonest = now + max(0.0, waits)
