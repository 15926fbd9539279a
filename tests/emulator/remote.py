"""The emulator in a process of its own, for clients that get killed, and for honest CPU figures."""

import asyncio
import json
import sys
from types import TracebackType
from typing import Any

import aiohttp

from .server import environment


class RemoteEmulator:
    """The same words as `Emulator`, awaited."""

    def __init__(self, *, faults: dict[str, dict[str, Any]]) -> None:
        self._faults = json.dumps(faults)
        self.url = ""
        self.urls: dict[str, str] = {}

    async def __aenter__(self) -> "RemoteEmulator":
        command = [sys.executable, "-m", "tests.emulator", "--port", "0", "--faults", self._faults]
        self._process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert self._process.stdout is not None
        hello = json.loads(await self._process.stdout.readline())
        self.url, self.urls = hello["url"], hello["urls"]
        self._session = aiohttp.ClientSession(f"{self.url}/_emulator/")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()
        self._process.terminate()
        await self._process.communicate()

    def env(self) -> dict[str, str]:
        return environment(self.url)

    async def purchases(self) -> list[dict[str, Any]]:
        bought: list[dict[str, Any]] = await self._ask("purchases")
        return bought

    async def traffic(self, provider: str) -> dict[str, int]:
        counts: dict[str, int] = (await self._ask("traffic"))[provider]
        return counts

    async def stalls(self) -> list[tuple[float, float]]:
        """When the server's process stood still, since the first time that this was asked."""
        return [(since, until) for since, until in await self._ask("stalls")]

    async def arrivals(self, provider: str) -> list[tuple[float, bool]]:
        """When live calls came, and whether they were too many."""
        return [(at, refused) for at, refused in await self._ask(f"arrivals/{provider}")]

    async def _ask(self, path: str) -> Any:
        async with self._session.get(path, raise_for_status=True) as response:
            return await response.json()
