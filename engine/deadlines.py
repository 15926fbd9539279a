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

    __slots__ = ("_cancelled_before", "_expired", "_handle", "_loop", "_seconds", "_task")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._expired = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelled_before = task.cancelling()
        self._loop = asyncio.get_running_loop()
        self._arm()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.cancel()
        if self._expired and self._task.uncancel() <= self._cancelled_before and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _arm(self) -> None:
        when = self._loop.time() + self._seconds
        self._handle = self._loop.call_at(when, self._due, when)

    def _due(self, when: float) -> None:
        if self._loop.time() - when > LATE:
            self._arm()
        else:
            self._expired = True
            self._task.cancel()
