"""Deadlines of requests that may be paid for, in a process that may have stood still: a laptop's lid, a stopped job.

When it goes on, replies that came meanwhile wait to be read, and every deadline is over at once. Who gave up then would buy
all of them again; so a deadline that is noticed much too late begins anew.
"""

import asyncio
from types import TracebackType

LATE = 2.0
"""seconds by which a deadline is noticed late where nothing ran meanwhile"""


class Deadline:
    """`async with Deadline(seconds)`: as `asyncio.timeout`, for a process that runs."""

    __slots__ = ("_handle", "_loop", "_seconds", "_timeout")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def __aenter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(None)
        await self._timeout.__aenter__()
        self._arm()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _arm(self) -> None:
        self._handle = self._loop.call_later(self._seconds, self._due, self._loop.time() + self._seconds)

    def _due(self, when: float) -> None:
        if self._loop.time() - when > LATE:
            self._arm()
        else:
            self._timeout.reschedule(self._loop.time())
