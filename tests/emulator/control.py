"""`/_emulator/…`: how a test outside this process sets faults, reads the books and stands at a point."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from aiohttp import web

from .books import Books
from .faults import Faults
from .points import Points
from .provider import Provider, json_response
from .stalls import StallWatch

_KNOWN = {field.name for field in fields(Faults)}


class Control:
    def __init__(self, providers: Mapping[str, Provider], books: Books, points: Points) -> None:
        self._providers = providers
        self._books = books
        self._points = points
        self._stalls = StallWatch()
        self._at_start = {name: provider.faults for name, provider in providers.items()}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/_emulator/faults", self._faults),
            web.post("/_emulator/faults", self._set_faults),
            web.delete("/_emulator/faults", self._reset_faults),
            web.get("/_emulator/purchases", self._purchases),
            web.get("/_emulator/traffic", self._traffic),
            web.get("/_emulator/stalls", self._stood_still),
            web.get("/_emulator/arrivals/{provider}", self._arrivals),
            web.post("/_emulator/points/{name}", self._arm),
            web.get("/_emulator/points/{name}", self._reached),
            web.delete("/_emulator/points/{name}", self._release),
        ]

    async def _faults(self, request: web.Request) -> web.Response:
        return json_response({name: asdict(provider.faults) for name, provider in self._providers.items()})

    async def _set_faults(self, request: web.Request) -> web.Response:
        """`{"openai": {"rates": …, "latency": 0.1}}`: the keys given are replaced, the others stay."""
        wanted: dict[str, dict[str, Any]] = await request.json()
        unknown = [name for name in wanted if name not in self._providers]
        unknown += [key for changes in wanted.values() for key in changes if key not in _KNOWN]
        if unknown:
            return json_response({"unknown": unknown}, 400)
        for name, changes in wanted.items():
            provider = self._providers[name]
            provider.set_faults(replace(provider.faults, **changes))
        return await self._faults(request)

    async def _reset_faults(self, request: web.Request) -> web.Response:
        for name, provider in self._providers.items():
            provider.set_faults(self._at_start[name])
        return await self._faults(request)

    async def _purchases(self, request: web.Request) -> web.Response:
        return json_response([asdict(purchase) for purchase in self._books.purchases])

    async def _traffic(self, request: web.Request) -> web.Response:
        return json_response({name: dict(provider.traffic) for name, provider in self._providers.items()})

    async def _stood_still(self, request: web.Request) -> web.Response:
        """From when to when this process stood still, since the first time that somebody asked."""
        self._stalls.start()
        return json_response(self._stalls.stalls)

    async def _arrivals(self, request: web.Request) -> web.Response:
        return json_response(self._providers[request.match_info["provider"]].arrivals)

    async def _arm(self, request: web.Request) -> web.Response:
        self._points.arm(request.match_info["name"], int(request.query.get("skip", 0)))
        return json_response({})

    async def _reached(self, request: web.Request) -> web.Response:
        """Answers once a request stands there."""
        await self._points.reached(request.match_info["name"])
        return json_response({})

    async def _release(self, request: web.Request) -> web.Response:
        self._points.release(request.match_info["name"], request.query.get("verdict", "go"))
        return json_response({})
