"""Batches of one study draw from the same seeds, so that several may ask the very same at the same moment. One of them
buys the answer; the others wait for it and find it in the cache, as they would a moment later."""

import asyncio
from collections import deque

from tidepool.engine.core.tasks import Tasks


class Twins:
    def __init__(self) -> None:
        self._waiting: dict[bytes, deque[tuple[Tasks, asyncio.Future[None]]] | None] = {}
        """who waits, by what is asked just now; None: nobody"""

    async def turn(self, key: bytes, tasks: Tasks) -> None:
        """Returns when nobody else asks this just now; `done` gives the turn to the next."""
        if key not in self._waiting:
            self._waiting[key] = None
            return
        future: asyncio.Future[None] = tasks.park()
        queue = self._waiting[key] = self._waiting[key] or deque()
        queue.append((tasks, future))
        await future

    def is_asked(self, key: bytes) -> bool:
        return key in self._waiting

    def done(self, key: bytes) -> None:
        queue = self._waiting.get(key)
        while queue:
            tasks, future = queue.popleft()
            if not future.done():
                tasks.release(future, None)
                return
        self._waiting.pop(key, None)
