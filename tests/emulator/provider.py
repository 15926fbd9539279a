"""What the providers share: every request passes a guard that applies keys, limits, faults and points."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count
from time import monotonic
from typing import Any

from aiohttp import web

from . import malformed_replies as malformed
from .books import Books, Purchase
from .faults import AFTERWARDS, Dice, Faults
from .limits import SlidingMinute, Slots, seconds_header
from .points import Dropped, Points
from .replies import Answer, PromptCache

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question, asked live or in a batch."""

    status: int
    body: dict[str, Any]
    bought: Purchase | None = None

    def in_batch(self, custom_id: str, batch_id: str) -> "Outcome":
        assert self.bought is not None
        return replace(self, bought=replace(self.bought, custom_id=custom_id, batch_id=batch_id))


def json_response(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    encoded = json.dumps(body).encode()
    return web.Response(body=encoded, status=status, headers=headers, content_type="application/json")


class Provider(ABC):
    """One provider as its clients see it. A subclass knows the wire format, and nothing of faults."""

    family: str
    """whose wire format it speaks"""
    models: tuple[str, ...] = ()
    usual_slots = 0
    """calls it works on at once, where nobody says how many; 0 = any number"""

    def __init__(self, name: str, faults: Faults, points: Points, books: Books, answer: Answer) -> None:
        self.name = name
        self.points = points
        self.books = books
        self.answer = answer
        self.traffic: Counter[str] = Counter()
        """requests by step, faults by `step:fault`, and `peak`: the most live calls there were at once"""
        self.headers: dict[str, set[str]] = defaultdict(set)
        """what its clients have said of themselves, by header"""
        self.go_down: Callable[[float], None] = lambda seconds: None
        """makes the whole server unreachable for so long"""
        self._ids = count(1)
        self._cache = PromptCache()
        self._live = 0
        self._slots = Slots()
        self._dice = Dice(faults)
        self._requests = SlidingMinute()
        self._window = SlidingMinute()
        self.arrivals: list[tuple[float, bool]] = []
        """when live calls came, and whether they were too many; kept where a window is enforced"""
        self._tokens = SlidingMinute()
        self.faults = faults

    def new_id(self, prefix: str) -> str:
        return f"{prefix}{next(self._ids):024x}"

    @property
    def known_models(self) -> tuple[str, ...]:
        return tuple(self.faults.models) or self.models

    @abstractmethod
    def routes(self) -> list[web.RouteDef]: ...

    @abstractmethod
    def error_body(
        self, status: int, message: str = "", code: str | None = None, param: str | None = None
    ) -> dict[str, Any]: ...

    @abstractmethod
    def spend_error(self) -> dict[str, Any]: ...

    @abstractmethod
    def rate_headers(self, now: float) -> dict[str, str]: ...

    def set_faults(self, faults: Faults) -> None:
        self.faults = faults
        self._dice.load(faults)

    def roll(self, step: str, key: str) -> str:
        fault = self._dice.roll(step, key)
        if fault:
            self.traffic[f"{step}:{fault}"] += 1
        return fault

    def refusal(
        self, status: int, message: str = "", code: str | None = None, param: str | None = None
    ) -> web.Response:
        return json_response(self.error_body(status, message, code, param), status)

    def admits(self, request: web.Request) -> bool:
        key = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")
        return key in self.faults.keys if self.faults.keys else bool(key)

    async def work(self, request: web.Request, bought: Purchase) -> bool:
        """Answers once there is a slot, and books it; not when too many wait. Who hung up in the queue is passed over."""
        faults = self.faults
        if not await self._slots.take(faults.parallel or self.usual_slots, faults.queue):
            return False
        try:
            if request.transport is None or request.transport.is_closing():
                raise Dropped("nobody waits for it any more")
            await self.take_time(bought.content)
        finally:
            self._slots.free()
        self.books.book([bought])
        return True

    async def take_time(self, key: str) -> None:
        """As long as this provider thinks and writes."""
        seconds = self.faults.latency * self._dice.spread(key, self.faults.jitter)
        if seconds > 0:
            await asyncio.sleep(seconds)

    def guard(self, step: str, act: Handler) -> Handler:
        """The handler behind everything that can go wrong at this step."""

        async def handle(request: web.Request) -> web.StreamResponse:
            self.traffic[step] += 1
            for name, value in request.headers.items():
                if name not in ("Content-Length", "Content-Type"):
                    self.headers[name.lower()].add(value)
            if not self.admits(request):
                return self.refusal(401)
            try:
                await self.points.come_by(f"{self.name}:{step}:before")
                response = malformed.worded(self.faults.error_form, await self._weather(step, act, request))
                await self.points.come_by(f"{self.name}:{step}:after")
            except (Dropped, ConnectionError):
                return hang_up(request)
            return response

        async def handle_live(request: web.Request) -> web.StreamResponse:
            if self.faults.outage_after and self.traffic[step] + 1 == self.faults.outage_after:
                self.traffic[step] += 1
                self.go_down(self.faults.outage_seconds)
                return hang_up(request)
            self._live += 1
            self.traffic["peak"] = max(self.traffic["peak"], self._live)
            try:
                return await handle(request)
            finally:
                self._live -= 1

        return handle_live if step == "live" else handle

    async def _weather(self, step: str, act: Handler, request: web.Request) -> web.StreamResponse:
        key = request.path
        if step == "live":
            body = await request.read()
            key = blake2b(body, digest_size=16).hexdigest()
            if refused := self._limited(len(body) // 4):
                return refused
        if step in ("live", "create") and self._spent():
            return json_response(self.spend_error(), 429)
        fault = self.roll(step, key)
        if fault and fault not in AFTERWARDS and (not malformed.is_malformed(fault) or malformed.strikes_before(fault)):
            return await self._strike(request, fault)
        response = await act(request)
        if step == "live":
            response.headers.update(self.rate_headers(monotonic()))
        return await self._spoil(request, response, fault) if fault else response

    def _spent(self) -> bool:
        limit = self.faults.spend_limit
        return bool(limit) and self.books.bought_of(self.name) >= limit

    def _limited(self, tokens: int) -> web.Response | None:
        faults, now = self.faults, monotonic()
        if not faults.requests_per_minute and not faults.tokens_per_minute:
            return None
        wait = max(
            self._requests.wait(1, faults.requests_per_minute, faults.minute, now),
            self._window.wait(1, faults.in_window(faults.requests_per_minute), faults.window, now),
            self._tokens.wait(tokens, faults.tokens_per_minute, faults.minute, now),
        )
        if faults.window:
            self.arrivals.append((now, bool(wait)))
        if wait:
            self.traffic["live:limit"] += 1
            return self._too_many(wait, now)
        self._requests.take(1, now)
        if faults.window:
            self._window.take(1, now)
        self._tokens.take(tokens, now)
        return None

    def _too_many(self, seconds: float, now: float) -> web.Response:
        wait = {"retry-after": seconds_header(seconds)} if seconds else {}
        headers = {**wait, **self.rate_headers(now)}
        return json_response(self.error_body(429), 429, headers)

    async def _strike(self, request: web.Request, fault: str) -> web.StreamResponse:
        """A fault before anything was done."""
        if malformed.is_malformed(fault):
            return malformed.refusal(self, fault, request)
        if fault == "drop":
            return hang_up(request)
        if fault == "hang":
            await self.points.stand_still()
        if fault == "garbage":
            return web.Response(text="<html><body>Bad day at the proxy</body></html>", content_type="text/html")
        if fault == "spend":
            return json_response(self.spend_error(), 429)
        if fault == "429":
            return self._too_many(self.faults.retry_after, monotonic())
        return self.refusal(int(fault))

    async def _spoil(self, request: web.Request, response: web.StreamResponse, fault: str) -> web.StreamResponse:
        """A fault after it was done: the client cannot know."""
        if malformed.is_malformed(fault):
            return await malformed.response(self, fault, request, response) if response.status == 200 else response
        if fault == "lost-hang":
            await self.points.stand_still()
        if fault == "lost-500":
            return self.refusal(500)
        if fault == "cut" and isinstance(response, web.Response):
            await send_half(request, response)
        return hang_up(request)


def hang_up(request: web.Request) -> web.Response:
    """Closes the connection; what is returned goes nowhere."""
    if request.transport is not None:
        request.transport.close()
    return web.Response()


async def send_half(request: web.Request, response: web.Response) -> None:
    body = response.body if isinstance(response.body, bytes) else b""
    half = web.StreamResponse(status=response.status, headers={"Content-Type": response.content_type})
    half.content_length = len(body)
    await half.prepare(request)
    await half.write(body[: len(body) // 2])
