"""How fast calls may leave: a limit of a minute, kept in every second too.

Providers enforce 1,200 requests a minute as 20 a second, so calls leave on an even grid, a little slower than the limit:
in a second that leaves some 40 ms for what arrives unevenly. A loop that was late gets back onto the grid, but never by a
burst: while it catches up, calls still leave at less than the limit's own pace.
"""

from dataclasses import dataclass

USED = 0.96
"""share of a limit that the even flow takes"""
CATCHING_UP = 0.975
"""share of a limit that may be taken while a late loop gets back onto the grid; in any second, and in any minute, this
and the one call that opens it stay within the limit however small that is"""
OPENING = 0.75
"""share of a limit that is taken in the first second: its calls open connections, and arrive the later for it"""
TIMER = 0.005
"""seconds by which a timer rings late as a rule: so much is made up at once"""
LATEST = 1.0
"""seconds: what comes later than this was not late, there was nothing to send"""


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
