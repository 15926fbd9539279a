"""A limit over a sliding minute, as the providers enforce it."""

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
