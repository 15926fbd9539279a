"""How many calls of one provider account may be in flight, and how fast they may leave.

Concurrency adapts below its ceiling: a 429 cuts it once per round trip, a server fault pauses its growth, success
lets it grow. Requests and tokens per minute are paced evenly rather than sent in bursts. All of it is one queue:
first come, first served, which keeps the longest-waiting conversations moving.
"""

import asyncio
import time
from collections import deque

from tidepool.engine.core.pace import RatePace

CUT = 0.7


class Limiter:
    def __init__(self, max_concurrent: int, requests_per_minute: int = 0, tokens_per_minute: int = 0) -> None:
        self.ceiling = max_concurrent
        self.allowed = float(max_concurrent)
        self.in_flight = 0
        self.peak = 0
        self.requests = RatePace(requests_per_minute)
        self.tokens = RatePace(tokens_per_minute)
        self.paused = False
        self._rest_until = 0.0
        self._last_cut = 0.0
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
        self._take(now, tokens)
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
        if self.allowed < self.ceiling and time.monotonic() >= self._growth_from:
            self.allowed = min(self.ceiling, self.allowed + 1 / max(1.0, self.allowed))

    def refused(self, asked_at: float, retry_after: float | None) -> None:
        """A 429. Calls that left before the last cut say nothing new."""
        now = time.monotonic()
        if asked_at >= self._last_cut:
            self.allowed = max(1.0, self.allowed * CUT)
            self._last_cut = now
        if retry_after:
            self.rest(retry_after)

    def rest(self, seconds: float) -> None:
        """Nothing leaves for so long: the provider said so."""
        if seconds > 0:
            self._rest_until = max(self._rest_until, time.monotonic() + seconds)

    def faulted(self, seconds: float) -> None:
        """A server fault: no growth for a while."""
        self._growth_from = max(self._growth_from, time.monotonic() + seconds)

    def pause(self, paused: bool) -> None:
        self.paused = paused
        self._pump()

    def _delay(self, now: float, tokens: int) -> float:
        return max(self._rest_until - now, self.requests.delay(now), self.tokens.delay(now, tokens))

    def _take(self, now: float, tokens: int) -> None:
        self.requests.take(now)
        self.tokens.take(now, tokens)
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
                self._take(now, tokens)
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
