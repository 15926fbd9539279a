"""How many calls of one provider account may be in flight, and how fast they may leave.

Concurrency adapts below its ceiling: a 429 cuts it once per round trip, a server fault pauses its growth, success
lets it grow. A server of one's own says nothing: it queues what is too much, until calls time out. So timeouts cut too,
and the number at which they came is remembered: it is tried again only after a long calm.
Requests and tokens per minute are paced evenly rather than sent in bursts. All of it is one queue: first come, first
served, which keeps the longest-waiting conversations moving.

A limit of a minute is kept in every second too: providers enforce 1,200 requests a minute as 20 a second, so calls leave on
an even grid, a little slower than the limit; in a second that leaves some 40 ms for what arrives unevenly. A loop that was
late gets back onto the grid, but never by a burst: while it catches up, calls still leave at less than the limit's own pace.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
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


class SendPacer:
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

    def consume(self, now: float, pieces: float = 1.0) -> None:
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


CUT = 0.7
QUICK = 2
"""how often the other places must have been answered while a call ran into its timeout, for it to be a fault of its own"""
CALM = 20
"""round trips without strain after which one more is tried, the first time; twice as many after each further strain"""


class Limiter:
    def __init__(self, max_concurrent: int, requests_per_minute: int = 0, tokens_per_minute: int = 0) -> None:
        self.ceiling = max_concurrent
        self.allowed = float(max_concurrent)
        self.in_flight = 0
        self.peak = 0
        self.requests = RatePace(requests_per_minute)
        self.tokens = RatePace(tokens_per_minute)
        self.departures = SendPacer()
        self.paused = False
        self.resumed_at = 0.0
        """when the last pause ended"""
        self.answered = 0
        """how many calls succeeded"""
        self.rest_until = 0.0
        self._last_cut = 0.0
        self._strained_at = math.inf
        """so many at once were too many for the server"""
        self._strains = 0
        self._calm = 0.0
        """round trips since then in which more would have been allowed"""
        self._before = 0.0
        """what was allowed before nothing was: it is regained quickly"""
        self._growth_from = 0.0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def change(
        self,
        max_concurrent: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> None:
        """New limits while running."""
        if max_concurrent is not None:
            self.ceiling, self.allowed = max_concurrent, float(max_concurrent)
            self._strained_at, self._strains = math.inf, 0
        if requests_per_minute is not None:
            self.requests.change(requests_per_minute, time.monotonic(), self.in_flight)
        if tokens_per_minute is not None:
            self.tokens = RatePace(tokens_per_minute)
        self._pump()

    def correct_tokens(self, pieces: float) -> None:
        """Tells what a call took more (or less) of the tokens per minute than was set aside for it."""
        self.tokens.correct(pieces)
        if self._waiting:
            self._pump()

    def try_enter(self, tokens: int) -> bool:
        """Takes a place at once where nothing speaks against it: the fast path of most calls."""
        if self._waiting or self.paused or self.in_flight >= int(self.allowed):
            return False
        now = time.monotonic()
        if self._delay(now, tokens) > 0:
            return False
        self._consume(now, tokens)
        return True

    async def enter(self, tokens: int) -> None:
        """Waits for a place in flight and for the pace."""
        if self.try_enter(tokens):
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, tokens))
        self._pump()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        self.in_flight -= 1
        if self._waiting:
            self._pump()

    def succeeded(self) -> None:
        self.answered += 1
        if self.allowed < self.ceiling and time.monotonic() >= self._growth_from:
            self._grow()

    def _grow(self) -> None:
        if self.allowed >= self._before:
            self._before = 0.0
        grown = min(self.ceiling, self.allowed + (1.0 if self._before else 1 / self.allowed))
        if grown >= self._strained_at:
            self._calm += 1 / self.allowed
            if self._calm < CALM * 2 ** (self._strains - 1):
                return
            self._strained_at, self._calm = self._strained_at + 1, 0.0
        self.allowed = grown

    def refused(self, asked_at: float) -> None:
        """A 429. Calls that left before the last cut say nothing new."""
        if asked_at >= self._last_cut:
            self._cut(self.allowed)

    def strained(self, asked_at: float, answered_before: int) -> None:
        """A call that timed out or found no connection: too many at once, unless the others went on as ever."""
        if self.answered - answered_before >= QUICK * self.in_flight:
            self.faulted(time.monotonic() - asked_at)
        elif asked_at >= self._last_cut:
            self._strained_at = max(2, int(min(self.allowed, self.in_flight)))
            self._strains, self._calm = min(self._strains + 1, 10), 0.0
            self._cut(self._strained_at)

    def _cut(self, level: float) -> None:
        self.allowed = max(1.0, level * CUT)
        self._last_cut, self._before = time.monotonic(), 0.0

    def rest(self, seconds: float) -> None:
        """Nothing leaves for so long."""
        if seconds > 0:
            self.rest_until = max(self.rest_until, time.monotonic() + seconds)

    def faulted(self, seconds: float) -> None:
        """A server fault: no growth for a while."""
        self._growth_from = max(self._growth_from, time.monotonic() + seconds)

    def hold(self, *, regain: bool) -> None:
        """One call at a time, until somebody is answered; then as many as before come back quickly, or one by one."""
        self._before = self.allowed * CUT if regain else 0.0
        self.allowed, self._last_cut = 1.0, time.monotonic()

    def reopen(self, *, wholly: bool = False) -> None:
        """The rest is over before its time."""
        self.rest_until = 0.0
        if wholly:
            self.allowed = max(self.allowed, self._before)
        self._pump()

    def fail_waiting(self, error: Callable[[], Exception]) -> None:
        """Those that wait fail."""
        waiting, self._waiting = self._waiting, deque()
        for future, _ in waiting:
            if not future.done():
                future.set_exception(error())

    def pause(self, paused: bool) -> None:
        if self.paused and not paused:
            self.resumed_at = time.monotonic()
        self.paused = paused
        self._pump()

    def held_for(self, now: float) -> float:
        """Seconds until the rate limit lets the next call leave; 0 where none waits for it."""
        if not self._waiting or self.paused or self.in_flight >= int(self.allowed):
            return 0.0
        return max(0.0, self._delay(now, self._waiting[0][1]))

    def _delay(self, now: float, tokens: int) -> float:
        return max(self.rest_until - now, self.requests.delay(now), self.tokens.delay(now, tokens))

    def _consume(self, now: float, tokens: int) -> None:
        self.requests.consume(now)
        self.tokens.consume(now, tokens)
        self.in_flight += 1
        if self.in_flight > self.peak:
            self.peak = self.in_flight

    def _pump(self) -> None:
        """Lets those go who may; sets one timer for when the next one may."""
        while self._waiting and not self.paused and self.in_flight < int(self.allowed):
            now = time.monotonic()
            future, tokens = self._waiting[0]
            if (delay := self._delay(now, tokens)) > 0:
                self._wake_in(delay)
                return
            self._waiting.popleft()
            if not future.done():
                self._consume(now, tokens)
                future.set_result(None)

    def _wake_in(self, delay: float) -> None:
        """One timer, for the earliest moment at which somebody may leave."""
        loop = asyncio.get_running_loop()
        at = loop.time() + delay
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._timer_rang)

    def _timer_rang(self) -> None:
        self._timer = None
        self._pump()
