"""What a server allows: requests in a sliding minute, calls at once; and when the machine itself stood still."""

import asyncio
import threading
import time
from collections import deque
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a limit, and in how many seconds all of it is free again."""

    limit: int
    remaining: int
    reset: float


class SlidingMinute:
    def __init__(self) -> None:
        self._taken: deque[tuple[float, int]] = deque()
        self._sum = 0

    def wait(self, amount: int, limit: int, minute: float, now: float) -> float:
        """Seconds until this amount fits; 0 when it fits now. A limit of 0 is none."""
        if not limit:
            return 0.0
        self._forget(minute, now)
        excess = self._sum + min(amount, limit) - limit
        freed = 0.0
        for at, taken in self._taken:
            if excess <= 0:
                break
            excess -= taken
            freed = at + minute - now
        return freed

    def take(self, amount: int, now: float) -> None:
        self._taken.append((now, amount))
        self._sum += amount

    def room(self, limit: int, minute: float, now: float) -> Room:
        self._forget(minute, now)
        reset = self._taken[-1][0] + minute - now if self._taken else 0.0
        return Room(limit, max(0, limit - self._sum), reset)

    def _forget(self, minute: float, now: float) -> None:
        while self._taken and self._taken[0][0] + minute <= now:
            self._sum -= self._taken.popleft()[1]


def seconds_header(seconds: float) -> str:
    """Retry-After: whole seconds as the providers send them, or a fraction for tests in a hurry."""
    return str(ceil(seconds)) if seconds >= 1 else f"{max(seconds, 0.001):.3f}"


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


TICK = 0.005
"""seconds between two looks at the clock"""
LATE = 0.02
"""seconds by which a look must come late to count"""


class StallWatch:
    """A thread that does nothing but look at the clock. It sees what its process sees: a core that was taken away."""

    def __init__(self) -> None:
        self.stalls: list[tuple[float, float]] = []
        """from when to when nothing moved, on the clock that all processes of a machine share"""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="stalls", daemon=True)
            self._thread.start()

    def end(self) -> None:
        self._ended.set()

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(TICK):
            now = time.monotonic()
            if now - last > TICK + LATE:
                self.stalls.append((last, now))
            last = now
