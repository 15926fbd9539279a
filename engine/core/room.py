"""How many stories may be in memory at once. Whoever would begin one more waits for room, as a task that is parked.

Live, a window of them is begun, in the plan's order: more would only wait for their turns. Where calls are gathered into
waves all of them are begun, and those that wait for a provider batch are let go when there are too many.
"""

import asyncio
from collections.abc import Callable

from tidepool.engine.core.tasks import Tasks

NARROWEST, EACH, WIDEST = 50, 10, 10_000
"""stories begun and not ended where calls are live: ten for each call that may be in flight, so that none is idle towards the
end. More than needed would be slower, since they leave the processor's cache between two turns; and nothing would come to
its end, to be seen, before all are near theirs."""
KEPT = 50_000
"""stories in memory where calls are gathered: below this none is let go"""
FREED = 10
"""those who wait go on when one part in so many is free: not one by one"""


class Room:
    """The stories in memory of all batches that share it."""

    def __init__(self) -> None:
        self.at_once: Callable[[], int] = lambda: 0
        """live calls that may be in flight"""
        self.gathers = False
        self.stories = 0
        self.make: Callable[[int], None] = lambda stories: None
        """lets go of so many stories, where it can"""
        self._waiting: list[tuple[Tasks, asyncio.Future[None]]] = []
        self._urgent: list[tuple[Tasks, asyncio.Future[None]]] = []
        """those whom others in memory may wait for"""

    def for_waves(self) -> None:
        """Calls are gathered: stories may wait for one another's."""
        self.gathers = True

    @property
    def most(self) -> int:
        """Stories that may be in memory."""
        if self.gathers:
            return KEPT
        at_once = self.at_once()
        return max(NARROWEST, min(EACH * at_once, WIDEST), 2 * at_once)

    @property
    def wanted(self) -> bool:
        """Somebody waits for room."""
        return bool(self._waiting or self._urgent)

    @property
    def _enough(self) -> int:
        return self.most - max(1, self.most // FREED)

    async def wait(self, tasks: Tasks) -> None:
        """Until one more story may be begun."""
        while self.stories >= self.most:
            future: asyncio.Future[None] = tasks.park()
            self._waiting.append((tasks, future))
            self.ask()
            await future

    async def wait_in_need(self, tasks: Tasks) -> None:
        """The same for stories that others in memory may wait for: they come in where nobody else makes room."""
        if self.stories >= self.most:
            future: asyncio.Future[None] = tasks.park()
            self._urgent.append((tasks, future))
            self.ask()
            await future

    def ask(self) -> None:
        """Where somebody waits, stories are let go."""
        if self.wanted and self.stories > self._enough:
            self.make(self.stories - self._enough)

    def left(self) -> None:
        """A story is in memory no longer."""
        self.stories -= 1
        if self.wanted and self.stories <= self._enough:
            self.let_in_urgent()
            waiting, self._waiting = self._waiting, []
            for tasks, future in waiting:
                tasks.release(future, None)

    def let_in_urgent(self) -> bool:
        """Nobody makes room any more; whether somebody came in."""
        urgent, self._urgent = self._urgent, []
        for tasks, future in urgent:
            tasks.release(future, None)
        return bool(urgent)
