"""Several servers as one: each call goes to the server that will be through with it first.

Servers differ in speed, so "least busy" is counted in time, not in calls: what a server has in hand, times what a call
takes there. While more calls wait than the pool is ever given at once, every server works; towards the end a slow one
gets a call only where waiting for a faster one would take longer. A server that is busy, silent or gone rests for a
while, longer each time, and the others carry on.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidepool.engine.providers.parallelism import Parallelism

FIRST_REST = 0.5
LONGEST_REST = 60.0
SMOOTHING = 0.2


@dataclass(slots=True)
class Rest:
    """Of a server that is busy, silent or gone: longer each time, until it answers."""

    until: float = 0.0
    times: int = 0
    """in a row"""

    def begin(self, asked_at: float, now: float, at_least: float = 0.0) -> bool:
        """False: that call was asked before the last rest, and says nothing new."""
        if asked_at < self.until:
            return False
        self.until = now + max(at_least, min(LONGEST_REST, FIRST_REST * 2**self.times))
        self.times += 1
        return True


@dataclass(slots=True, eq=False)
class Host:
    url: str
    client: Any
    parallelism: Parallelism
    models: set[str] = field(default_factory=set)
    lists_models: bool = True
    """false: it does not tell what it has, and is taken to have every model that it has not refused"""
    lacking: set[str] = field(default_factory=set)
    """models that it refused"""
    in_flight: int = 0
    resting: Rest = field(default_factory=Rest)
    gone: bool = False
    """it rests because it cannot be reached"""
    share: float = 0.0
    """seconds of the server that one call takes, others beside it counted"""
    quickest: float = 0.0

    def has(self, model: str) -> bool:
        return model in self.models if self.lists_models else model not in self.lacking

    def shows(self, models: Iterable[str] | None) -> None:
        """What a look at it brought; None: it does not tell."""
        self.lists_models = models is not None
        self.models = set(models or ())
        self.lacking.clear()

    def lacks(self, model: str) -> None:
        self.models.discard(model)
        self.lacking.add(model)

    def full(self) -> bool:
        return self.in_flight >= self.parallelism.limit

    def through_at(self) -> float:
        """Seconds until one more call would be answered here; a server not tried yet is taken for quick."""
        return max(self.quickest, self.share * (self.in_flight + 1))

    def answered(self, seconds: float, beside: int, work: float, now: float) -> None:
        share = seconds / max(1, beside)
        self.share = share if not self.share else self.share + SMOOTHING * (share - self.share)
        self.quickest = min(seconds, self.quickest * 1.01) if self.quickest else seconds
        self.resting.times = 0
        if self.gone:
            self.gone, self.resting.until = False, 0.0
        self.parallelism.done(work, now, self.in_flight >= self.parallelism.limit)

    def rest(self, asked_at: float, now: float, at_least: float = 0.0) -> None:
        if self.resting.begin(asked_at, now, at_least):
            self.parallelism.failed()


class Pool:
    def __init__(self, hosts: list[Host]) -> None:
        self.hosts = hosts
        self.most = sum(host.parallelism.ceiling for host in hosts)
        """calls that it is given at once: as many mean that more may be waiting outside"""
        self._waiting: deque[tuple[asyncio.Future[Host], str]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def having(self, model: str) -> list[Host]:
        return [host for host in self.hosts if host.has(model)]

    def awake(self, model: str, now: float) -> list[Host]:
        return [host for host in self.hosts if host.resting.until <= now and host.has(model)]

    async def take(self, model: str) -> Host:
        """A place at the best server that has the model, as soon as there is one; LookupError where none has it."""
        future: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, model))
        self.pump()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.give_back(future.result())
            raise

    def give_back(self, host: Host) -> None:
        host.in_flight -= 1
        self.pump()

    def best(self, model: str, now: float) -> Host | None:
        """The server that will be through first, unless waiting for a faster one is quicker still. Where all rest, those
        that cannot be reached are tried all the same: how often, is for the account to say, which is down."""
        awake = self.awake(model, now) or [host for host in self.having(model) if host.gone]
        free = [host for host in awake if not host.full()]
        if not free:
            return None
        chosen = min(free, key=lambda host: (host.through_at(), host.in_flight))
        if len(self._waiting) + sum(host.in_flight for host in self.hosts) >= self.most:
            return chosen
        fastest = min(awake, key=lambda host: host.share)
        queue = fastest.share * (fastest.in_flight + len(self._waiting))
        return chosen if chosen is fastest or chosen.through_at() <= max(queue, fastest.quickest) else None

    def pump(self) -> None:
        now = time.monotonic()
        left: deque[tuple[asyncio.Future[Host], str]] = deque()
        nowhere: set[str] = set()
        while self._waiting:
            future, model = self._waiting[0]
            host = None if model in nowhere or future.done() else self.best(model, now)
            self._waiting.popleft()
            if future.done():
                continue
            if not self.having(model):
                future.set_exception(LookupError(model))
            elif host is None:
                nowhere.add(model)
                left.append((future, model))
            else:
                host.in_flight += 1
                future.set_result(host)
        self._waiting = left
        if left:
            self._wake_with_first(now)

    def _wake_with_first(self, now: float) -> None:
        resting = [host.resting.until for host in self.hosts if host.resting.until > now]
        if resting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(min(resting) - now + 0.001, self._rang)

    def _rang(self) -> None:
        self._timer = None
        self.pump()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
