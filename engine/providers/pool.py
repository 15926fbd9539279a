"""Several servers as one provider: each call goes to the server that will be through with it first.

Servers differ in speed, so "least busy" is counted in time, not in calls: what a server has in flight, times what a call
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

FIRST = 2
GAIN = 1.3
"""output must grow by this factor for a doubling to count as help"""
HOLD = 12
"""windows for which a found number is kept before more is tried again"""


class Parallelism:
    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = min(FIRST, ceiling)
        self._best_limit = 0
        """the largest number that still brought more"""
        self._best = 0.0
        self._hold_windows = 0
        self._start_window()

    def change(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = min(self.limit, ceiling)

    def done(self, work: float, now: float, full: bool) -> None:
        """A call came back with so much work in it; `full`: the server had as many calls as it may."""
        if not full:
            self._start_window()
            return
        if not self._count:
            self._since = now
        else:
            self._work += work
        self._count += 1
        enough = 2 * self.limit if self._hold_windows else self.limit
        if self._count > enough and now > self._since:
            self._judge(self._work / (now - self._since))
            self._start_window()

    def failed(self) -> None:
        """Busy, or too slow: half of it must do for a while."""
        self.limit = self._best_limit = max(1, self.limit // 2)
        self._hold_windows = HOLD
        self._best = 0.0
        self._start_window()

    def _judge(self, output: float) -> None:
        if self._hold_windows:
            self._hold_windows -= 1
            self._best = output
            if not self._hold_windows:
                self.limit = min(self.ceiling, 2 * max(1, self._best_limit))
            return
        if output >= self._best * GAIN:
            self._best, self._best_limit = output, self.limit
            self.limit = min(self.ceiling, self.limit * 2)
        else:
            self.limit = min(self.ceiling, self._best_limit + 1)
            self._hold_windows = HOLD

    def _start_window(self) -> None:
        self._count = 0
        self._work = 0.0
        self._since = 0.0


FIRST_REST = 0.5
LONGEST_REST = 60.0
SMOOTHING = 0.2


@dataclass(slots=True)
class Rest:
    """Of a server that is busy, silent or gone: longer each time, until it answers."""

    until: float = 0.0
    times: int = 0
    """in a row"""

    def begin(self, sent_at: float, now: float, at_least: float = 0.0) -> bool:
        """False: that call was asked before the last rest, and says nothing new."""
        if sent_at < self.until:
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
    unreachable: bool = False
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

    def expected_seconds(self) -> float:
        """Seconds until one more call would be answered here; a server not tried yet is taken for quick."""
        return max(self.quickest, self.share * (self.in_flight + 1))

    def answered(self, seconds: float, others: int, work: float, now: float) -> None:
        share = seconds / max(1, others)
        self.share = share if not self.share else self.share + SMOOTHING * (share - self.share)
        self.quickest = min(seconds, self.quickest * 1.01) if self.quickest else seconds
        self.resting.times = 0
        if self.unreachable:
            self.unreachable, self.resting.until = False, 0.0
        self.parallelism.done(work, now, self.in_flight >= self.parallelism.limit)

    def rest(self, sent_at: float, now: float, at_least: float = 0.0) -> None:
        if self.resting.begin(sent_at, now, at_least):
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
        awake = self.awake(model, now) or [host for host in self.having(model) if host.unreachable]
        free = [host for host in awake if not host.full()]
        if not free:
            return None
        chosen = min(free, key=lambda host: (host.expected_seconds(), host.in_flight))
        if len(self._waiting) + sum(host.in_flight for host in self.hosts) >= self.most:
            return chosen
        fastest = min(awake, key=lambda host: host.share)
        queue = fastest.share * (fastest.in_flight + len(self._waiting))
        return chosen if chosen is fastest or chosen.expected_seconds() <= max(queue, fastest.quickest) else None

    def pump(self) -> None:
        now = time.monotonic()
        unassigned: deque[tuple[asyncio.Future[Host], str]] = deque()
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
                unassigned.append((future, model))
            else:
                host.in_flight += 1
                future.set_result(host)
        self._waiting = unassigned
        if unassigned:
            self._wake_with_first(now)

    def _wake_with_first(self, now: float) -> None:
        resting = [host.resting.until for host in self.hosts if host.resting.until > now]
        if resting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(min(resting) - now + 0.001, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.pump()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
