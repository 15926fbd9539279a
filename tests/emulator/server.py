"""The emulator as a whole: the three providers, and as many Ollama servers as wanted, behind one port.

async with Emulator(openai=Faults(rates={"live": {"500": 0.2}})) as emulator:
    client = AsyncOpenAI(base_url=emulator.urls["openai"], api_key="any")
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from aiohttp import web

from .anthropic_wire import Anthropic
from .books import Books, Purchase
from .control import Control
from .faults import Faults
from .ollama_wire import Ollama
from .openai_wire import OpenAI
from .points import Points
from .provider import Provider
from .replies import Answer, default_answer

_GIGABYTE = 1 << 30


class Emulator:
    """`hosts` adds Ollama servers by name, each with its own models, pace and faults."""

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
        self.ollama = {name: Ollama(name, faults, *common) for name, faults in servers.items()}
        self.providers: dict[str, Provider] = {
            "openai": self.openai,
            "anthropic": self.anthropic,
            **self.ollama,
        }
        self._control = Control(self.providers, self.books, self.points)
        self._port = port
        self._runner: web.AppRunner | None = None
        self.url = ""

    @property
    def urls(self) -> dict[str, str]:
        return urls(self.url, tuple(self.ollama))

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
        app.add_routes(self._control.routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        self.points.end()
        await self._runner.cleanup()
        self.books.close()


def urls(url: str, ollama_hosts: tuple[str, ...] = ("ollama",)) -> dict[str, str]:
    """The base URL to give each SDK."""
    hosts = {name: f"{url}/{name}" for name in ollama_hosts}
    return {"openai": f"{url}/openai/v1", "anthropic": f"{url}/anthropic", **hosts}


def environment(url: str, key: str = "emulated-key") -> dict[str, str]:
    """The environment in which a program talks to the emulator without knowing it."""
    places = urls(url)
    return {
        "OPENAI_BASE_URL": places["openai"],
        "OPENAI_API_KEY": key,
        "ANTHROPIC_BASE_URL": places["anthropic"],
        "ANTHROPIC_API_KEY": key,
        "OLLAMA_HOST": places["ollama"],
    }
