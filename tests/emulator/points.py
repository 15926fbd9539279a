"""Named points of a request's life where the emulator can stand still, so that a client can be killed there.

A point is `PROVIDER:STEP:MOMENT`, such as `openai:create:after`. The moments are `before` (received, nothing
done; of an upload not even the body was read), `middle` (results only: half of the rows are sent) and `after`
(done, and the answer not sent).
"""

import asyncio
from dataclasses import dataclass, field
from typing import NoReturn


class Dropped(Exception):
    """A released request that shall go no further, as if it had never arrived."""


@dataclass
class _Stop:
    skip: int
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    verdict: str = "go"


class Points:
    def __init__(self) -> None:
        self._stops: dict[str, _Stop] = {}
        self._over = asyncio.Event()

    def arm(self, name: str, skip: int = 0) -> None:
        """The next request to come by, after `skip` others, stops here until it is released."""
        self._stops[name] = _Stop(skip)

    async def reached(self, name: str) -> None:
        """Returns once a request stands at the point."""
        await self._stops[name].reached.wait()

    def release(self, name: str, verdict: str = "go") -> None:
        """Lets the request go on, or drops it; a point that nobody has reached is disarmed."""
        stop = self._stops.pop(name)
        stop.verdict = verdict
        stop.released.set()

    def armed(self, name: str) -> bool:
        return name in self._stops

    async def stand_still(self) -> NoReturn:
        """No answer until the server itself ends."""
        await self._over.wait()
        raise Dropped("the server has ended")

    def end(self) -> None:
        """Drops all that stands still anywhere."""
        self._over.set()
        for name in list(self._stops):
            self.release(name, "drop")

    async def come_by(self, name: str) -> None:
        stop = self._stops.get(name)
        if stop is None or stop.reached.is_set():
            return
        if stop.skip:
            stop.skip -= 1
            return
        stop.reached.set()
        await stop.released.wait()
        if stop.verdict == "drop":
            raise Dropped(name)
