"""The calls that a server works on at once: the others wait their turn, and nobody tells them that they do."""

import asyncio
from collections import deque


class Slots:
    def __init__(self) -> None:
        self._working = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self, slots: int, queue: int) -> bool:
        """Whether the call may run, after its wait in the queue; not when the queue is full. No slots: any number."""
        if not slots or self._working < slots:
            self._working += 1
            return True
        if len(self._waiting) >= queue:
            return False
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn
        return True

    def free(self) -> None:
        """The next in the queue inherits the slot, so nobody slips in between."""
        while self._waiting:
            if not (turn := self._waiting.popleft()).done():
                turn.set_result(None)
                return
        self._working -= 1
