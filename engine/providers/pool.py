"""Several servers as one provider. Each request goes to the server that is expected to finish it first.

Servers differ in speed, so load is measured in time: the requests in flight times the time per request. A busy, silent or
unreachable server pauses for a while, longer each time, and the others continue. The account's limiter decides how many
requests are in flight in total.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FIRST_REST = 0.5
LONGEST_REST = 60.0
SMOOTHING = 0.2


@dataclass(slots=True, eq=False)
class Host:
    url: str
    client: Any
    limit: int
    """maximum number of concurrent requests"""
    models: Mapping[str, str | None] | None = None
    """the listed models, each with its shutdown date; None: assume every model except rejected ones"""
    lacking: set[str] = field(default_factory=set)
    """models that it rejected"""
    in_flight: int = 0
    unreachable: bool = False
    """it pauses because it cannot be reached"""
    share: float = 0.0
    """server seconds per request, with concurrent ones counted; 0: not known yet"""
    rest_until: float = 0.0
    rests: int = 0
    """number of pauses in a row"""

    def has(self, model: str) -> bool:
        return model not in self.lacking and (self.models is None or model in self.models)

    def answered(self, seconds: float, beside: int) -> None:
        """Records the time of a request, sent next to `beside` others."""
        share = seconds / beside
        self.share = share if not self.share else self.share + SMOOTHING * (share - self.share)
        self.rests = 0
        if self.unreachable:
            self.unreachable, self.rest_until = False, 0.0

    def rest(self, sent_at: float, at_least: float = 0.0) -> None:
        """Pauses the server. A request sent before the last pause gives no new information."""
        if sent_at >= self.rest_until:
            self.rest_until = time.monotonic() + max(at_least, min(LONGEST_REST, FIRST_REST * 2**self.rests))
            self.rests += 1


class Pool:
    def __init__(self, hosts: list[Host]) -> None:
        self.hosts = hosts
        self._waiting: deque[tuple[asyncio.Future[Host], str]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def having(self, model: str) -> list[Host]:
        return [host for host in self.hosts if host.has(model)]

    def awake(self, model: str) -> list[Host]:
        now = time.monotonic()
        return [host for host in self.having(model) if host.rest_until <= now]

    async def take(self, model: str) -> Host:
        """Reserves a place at the best server with the model, as soon as one is free. Raises LookupError if none has it."""
        if len(self.hosts) == 1 and self.hosts[0].has(model):
            self.hosts[0].in_flight += 1
            return self.hosts[0]
        future: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, model))
        self._pump()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.give_back(future.result())
            raise

    def give_back(self, host: Host) -> None:
        host.in_flight -= 1
        if self._waiting:
            self._pump()

    def _best(self, model: str) -> Host | None:
        """The server that is expected to finish first. None if waiting for the fastest one takes less time, unless there are
        enough requests for all. An untried server counts as fast as the fastest. If all are paused, unreachable ones are tried
        anyway, and the account decides how often, since it is down."""
        awake = self.awake(model) or [host for host in self.having(model) if host.unreachable]
        free = [host for host in awake if host.in_flight < host.limit]
        quickest = min((host.share for host in awake if host.share), default=0.0)

        def expected(host: Host, others: int = 0) -> tuple[float, int]:
            return (host.share or quickest) * (host.in_flight + 1 + others), host.in_flight

        chosen = min(free, key=expected, default=None)
        calls = len(self._waiting) + sum(host.in_flight for host in awake)
        if chosen is None or calls + 1 >= sum(host.limit for host in awake):
            return chosen
        fastest = min(awake, key=lambda host: host.share or quickest)
        return chosen if expected(chosen)[0] <= expected(fastest, len(self._waiting))[0] else None

    def _pump(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        for future, model in waiting:
            if future.done():
                continue
            if not self.having(model):
                future.set_exception(LookupError(model))
            elif (host := self._best(model)) is not None:
                host.in_flight += 1
                future.set_result(host)
            else:
                self._waiting.append((future, model))
        resting = [host.rest_until for host in self.hosts if host.rest_until > time.monotonic()]
        if self._waiting and resting and self._timer is None:
            delay = min(resting) - time.monotonic() + 0.001
            self._timer = asyncio.get_running_loop().call_later(delay, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._pump()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
