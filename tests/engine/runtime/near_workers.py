"""Hands in this very process: the real ones, without Ray between them and the crew. Each can be killed."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.runtime.worker import Fault, Opening, Worker, WorkerCard


class NearHand:
    def __init__(self, node: str) -> None:
        self.node = node
        self.work = Worker()
        self.gone = asyncio.Event()
        self.bunches: list[int] = []

    async def card(self) -> WorkerCard:
        card = await self.work.card()
        return WorkerCard(self.node, card.process, card.version)

    async def open(self, opening: Opening) -> Fault | None:
        return await self.work.open(opening)

    async def serve(self, batch_id: str) -> None:
        await self.work.serve(batch_id)

    async def change(self, settings: dict[str, ProviderSettings]) -> None:
        await self.work.change(settings)

    async def give(self, packed: bytes) -> None:
        self.bunches.append(len(packed))
        await self._while_there(self.work.give(packed))

    async def take(self) -> bytes:
        taken: bytes = await self._while_there(self.work.take())
        return taken

    async def close(self) -> None:
        await self.work.close()

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


class NearStarter:
    start_seconds = 1.0

    def __init__(self, room: int = 100) -> None:
        self.started: list[NearHand] = []
        self._window = room

    async def start(self) -> NearHand:
        if len(self.started) >= self._window:
            await asyncio.Event().wait()
        self.started.append(NearHand(f"node{len(self.started) + 1}"))
        return self.started[-1]

    async def close(self) -> None: ...

    def room(self) -> str:
        return f"There is room for {self._window}."
