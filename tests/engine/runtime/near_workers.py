"""Hands in this very process: the real ones, without Ray between them and the crew. Each can be killed."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from tidepool.engine.runtime.worker import Worker


class InProcessWorker:
    def __init__(self, node: str) -> None:
        self.node = node
        self.work = Worker()
        self.gone = asyncio.Event()
        self.bunches: list[int] = []

    async def call(self, method: str, *arguments: Any) -> Any:
        if method == "submit":
            self.bunches.append(len(arguments[0]))
        said = getattr(self.work, method)(*arguments)
        if method in ("submit", "collect"):
            return await self._while_there(said)
        return replace(await said, node=self.node) if method == "card" else await said

    def kill(self) -> None:
        self.gone.set()

    async def _while_there(self, word: Coroutine[Any, Any, Any]) -> Any:
        said, gone = asyncio.ensure_future(word), asyncio.ensure_future(self.gone.wait())
        try:
            await asyncio.wait((said, gone), return_when=asyncio.FIRST_COMPLETED)
            if self.gone.is_set():
                raise ConnectionError("its process has ended")
            return said.result()
        finally:
            said.cancel()
            gone.cancel()


class InProcessStarter:
    start_seconds = 1.0

    def __init__(self, room: int = 100) -> None:
        self.started: list[InProcessWorker] = []
        self._window = room

    async def start(self) -> InProcessWorker:
        if len(self.started) >= self._window:
            await asyncio.Event().wait()
        self.started.append(InProcessWorker(f"node{len(self.started) + 1}"))
        return self.started[-1]

    async def close(self) -> None: ...
