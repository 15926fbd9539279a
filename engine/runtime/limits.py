"""Limits the requests in flight and the request rate of one provider account.

Concurrency adapts below its ceiling. A 429 reduces it once per round trip, a server error pauses its growth, and success lets it grow. Your own
servers report no limits: they queue excess requests until these time out. So timeouts reduce concurrency too, and the number at which they
occurred is remembered and tried again only after a long calm period.
Requests and tokens per minute are spread evenly rather than sent in bursts. There is one queue, first come, first
served, so that the conversations that have waited longest continue.

A limit per minute also holds in every second: providers enforce 1,200 requests a minute as 20 a second. So requests are sent on an even
grid, slightly slower than the limit, which leaves some 40 ms per second for uneven arrival. A late event loop returns to the grid, but
never in a burst: while it catches up, requests are still sent more slowly than the limit.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

USED = 0.96
"""share of a limit that the even flow uses"""
CATCHING_UP = 0.975
"""share of a limit that may be used while a late loop returns to the grid; in any second and minute, this and the one
request that opens it stay within the limit, however small the limit is"""
OPENING = 0.75
"""share of a limit in the first second: these requests open connections and arrive later"""
SPARE = 0.04
"""extra seconds for a second's requests, which covers uneven arrival"""
CLOSEST = 0.6
"""minimum distance of two requests, as a share of the even distance"""
TIMER = 0.005
"""seconds by which a timer is usually late; this much is made up at once"""
LATEST = 1.0
"""seconds; a longer gap means that there was nothing to send"""


class SendPacer:
    """The last check before a request is sent. Evenly paced requests may be delayed unevenly, by the disk or a late loop, and
    must not arrive in a burst. So as many requests as a second allows take slightly more than a second."""

    def __init__(self) -> None:
        self._one_by_one = asyncio.Lock()
        self._left: deque[float] = deque()
        """when the last requests were sent, as many as a second allows"""

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

    A minute may start with one call and be filled by others. If a call has many pieces, the flow is slowed by the largest
    call so far, and a larger one waits for the difference.
    """

    per_minute: float
    next_at: float = 0.0
    """the next free time on the grid"""
    soonest: float = 0.0
    """no request is sent before this time, however late the grid is"""
    largest: float = 1.0
    opened: float = 0.0
    """when requests started again after a time without any"""

    def _seconds(self, share: float) -> float:
        """seconds per piece"""
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
        """Returns (or takes) the difference to a wrong estimate."""
        if self.per_minute:
            self.next_at += pieces * self._seconds(USED)
            self.soonest += pieces * self._seconds(CATCHING_UP)

    def change(self, per_minute: float, now: float, just_left: int = 0) -> None:
        """Sets another limit. Requests sent just before count against its first second."""
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
"""answers of the other places during a call that timed out, above which the timeout is the call's own fault"""
CALM = 20
"""round trips without overload before the limit is raised by one; doubled after each further overload"""


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
        """number of calls that succeeded"""
        self.rest_until = 0.0
        self._last_cut = 0.0
        self._strained_at = math.inf
        """number of concurrent calls that was too many for the server"""
        self._strains = 0
        self._calm = 0.0
        """round trips since then in which more calls would have been allowed"""
        self._before = 0.0
        """the limit before a pause, which is regained quickly"""
        self._growth_from = 0.0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def change(
        self,
        max_concurrent: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> None:
        """Sets new limits while running."""
        if max_concurrent is not None:
            self.ceiling, self.allowed = max_concurrent, float(max_concurrent)
            self._strained_at, self._strains = math.inf, 0
        if requests_per_minute is not None:
            self.requests.change(requests_per_minute, time.monotonic(), self.in_flight)
        if tokens_per_minute is not None:
            self.tokens = RatePace(tokens_per_minute)
        self._pump()

    def correct_tokens(self, pieces: float) -> None:
        """Reports the difference between a call's tokens per minute and its reservation."""
        self.tokens.correct(pieces)
        if self._waiting:
            self._pump()

    def try_enter(self, tokens: int) -> bool:
        """Takes a place at once if possible, which is the fast path of most calls."""
        if self._waiting or self.paused or self.in_flight >= int(self.allowed):
            return False
        now = time.monotonic()
        if self._delay(now, tokens) > 0:
            return False
        self._consume(now, tokens)
        return True

    async def enter(self, tokens: int) -> None:
        """Waits for a place in flight and for the rate limit."""
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
        """Records a 429. Calls sent before the last reduction give no new information."""
        if asked_at >= self._last_cut:
            self._cut(self.allowed)

    def strained(self, asked_at: float, answered_before: int) -> None:
        """Records a call that timed out or found no connection: too many at once, unless the others continued normally."""
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
        """Sends nothing for some seconds."""
        if seconds > 0:
            self.rest_until = max(self.rest_until, time.monotonic() + seconds)

    def faulted(self, seconds: float) -> None:
        """Records a server error, which stops growth for a while."""
        self._growth_from = max(self._growth_from, time.monotonic() + seconds)

    def hold(self, *, regain: bool) -> None:
        """Sends one call at a time until one is answered; then the earlier number returns quickly, or one by one."""
        self._before = self.allowed * CUT if regain else 0.0
        self.allowed, self._last_cut = 1.0, time.monotonic()

    def reopen(self, *, wholly: bool = False) -> None:
        """Ends a pause early."""
        self.rest_until = 0.0
        if wholly:
            self.allowed = max(self.allowed, self._before)
        self._pump()

    def fail_waiting(self, error: Callable[[], Exception]) -> None:
        """Fails all waiting calls."""
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
        """Seconds until the rate limit allows the next call; 0 if none waits for it."""
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
        """Sends the calls that may be sent, and sets one timer for the next one."""
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
        """Sets one timer, for the earliest moment at which a call may be sent."""
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
