"""The emulator as a whole: three providers, and other servers that speak like them, behind one port; `/_emulator/…` tells its books.

async with Emulator(openai=Faults(rates={"live": {"500": 0.2}})) as emulator:
    client = AsyncOpenAI(base_url=emulator.urls["openai"], api_key="any")
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from aiohttp import web

from .anthropic import Anthropic
from .books import Books, Purchase
from .faults import Faults
from .limits import StallWatch
from .ollama import Ollama
from .openai import OpenAI
from .points import Points
from .provider import Provider, json_response
from .replies import Answer, default_answer


class Control:
    def __init__(self, providers: Mapping[str, Provider], books: Books) -> None:
        self._providers = providers
        self._books = books
        self._stalls = StallWatch()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/_emulator/purchases", self._purchases),
            web.get("/_emulator/traffic", self._traffic),
            web.get("/_emulator/stalls", self._stood_still),
            web.get("/_emulator/arrivals/{provider}", self._arrivals),
        ]

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


_GIGABYTE = 1 << 30
_FAMILIES: dict[str, type[Provider]] = {"openai": OpenAI, "anthropic": Anthropic, "ollama": Ollama}


class Emulator:
    """`hosts` adds servers by name, each with its own models, pace and faults: Ollama's, or what `like` says."""

    def __init__(
        self,
        *,
        openai: Faults | None = None,
        anthropic: Faults | None = None,
        ollama: Faults | None = None,
        hosts: Mapping[str, Faults] | None = None,
        answer: Answer = default_answer,
        purchases: Path | None = None,
        port: int = 0,
    ) -> None:
        self.points = Points()
        self.books = Books(purchases)
        common = (self.points, self.books, answer)
        self.openai = OpenAI("openai", openai or Faults(), *common)
        self.anthropic = Anthropic("anthropic", anthropic or Faults(), *common)
        servers = {"ollama": ollama or Faults(), **(hosts or {})}
        self.providers: dict[str, Provider] = {
            "openai": self.openai,
            "anthropic": self.anthropic,
            **{name: _FAMILIES[faults.like](name, faults, *common) for name, faults in servers.items()},
        }
        self._control = Control(self.providers, self.books)
        self.strayed: list[Mapping[str, str]] = []
        """headers of requests that followed a redirect to another host"""
        self._port = port
        self._site: web.TCPSite | None = None
        self._outages: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None
        self.url = ""

    @property
    def urls(self) -> dict[str, str]:
        return urls(self.url, {name: provider.family for name, provider in self.providers.items()})

    def env(self) -> dict[str, str]:
        return environment(self.url)

    def set_faults(self, provider: str, **changes: Any) -> None:
        self.providers[provider].set_faults(replace(self.providers[provider].faults, **changes))

    @property
    def purchases(self) -> list[Purchase]:
        return self.books.purchases

    def traffic(self, provider: str) -> Counter[str]:
        return self.providers[provider].traffic

    async def __aenter__(self) -> "Emulator":
        app = web.Application(client_max_size=_GIGABYTE)
        for provider in self.providers.values():
            app.add_routes(provider.routes())
            provider.go_down = self._go_down
        app.add_routes(self._control.routes())
        app.router.add_route("*", "/elsewhere/{path:.*}", self._stray)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await self._listen()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}"
        return self

    async def _listen(self) -> None:
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await self._site.start()

    async def outage(self, seconds: float, noticed: asyncio.Event | None = None) -> None:
        """Nobody is there for so long, and until it was noticed where that is asked: open connections break, what was worked on is lost and not booked, new connections
        are refused; then the same port answers again."""
        assert self._site is not None and self._runner is not None and self._runner.server is not None
        await self._site.stop()
        await self._runner.server.shutdown(0.01)
        await asyncio.sleep(seconds)
        if noticed is not None:
            await noticed.wait()
        await self._listen()

    def _go_down(self, seconds: float) -> None:
        task = asyncio.get_running_loop().create_task(self.outage(seconds))
        self._outages.add(task)
        task.add_done_callback(self._outages.discard)

    async def _stray(self, request: web.Request) -> web.StreamResponse:
        self.strayed.append(dict(request.headers))
        return web.json_response({"choices": [], "who": "a stranger"})

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        for task in self._outages:
            task.cancel()
        self.points.end()
        await self._runner.cleanup()
        self.books.close()


def urls(url: str, families: Mapping[str, str]) -> dict[str, str]:
    """The base URL to give each SDK: OpenAI's has the version in it."""
    return {name: f"{url}/{name}" + ("/v1" if family == "openai" else "") for name, family in families.items()}


def environment(url: str, key: str = "emulated-key") -> dict[str, str]:
    """The environment in which a program talks to the emulator without knowing it."""
    places = urls(url, {name: name for name in _FAMILIES})
    return {
        "OPENAI_BASE_URL": places["openai"],
        "OPENAI_API_KEY": key,
        "ANTHROPIC_BASE_URL": places["anthropic"],
        "ANTHROPIC_API_KEY": key,
        "OLLAMA_HOST": places["ollama"],
    }
