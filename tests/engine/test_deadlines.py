"""A deadline is kept, and begins anew where the process stood still when it was due."""

import asyncio

import pytest

from tidepool.engine.deadlines import LATE, Deadline


async def test_a_deadline_is_kept() -> None:
    with pytest.raises(TimeoutError):
        async with Deadline(0.01):
            await asyncio.Event().wait()


async def test_a_deadline_noticed_much_too_late_begins_anew_so_that_what_came_meanwhile_is_read() -> None:
    loop = asyncio.get_running_loop()
    deadline, came = Deadline(60), asyncio.Event()
    async with deadline:
        deadline._due(loop.time() - LATE - 1)
        loop.call_soon(came.set)
        await came.wait()
    with pytest.raises(TimeoutError):
        async with deadline:
            deadline._due(loop.time())
            await asyncio.Event().wait()
