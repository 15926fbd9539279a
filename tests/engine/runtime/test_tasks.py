"""Fan-out by lanes: so many at a time, in order, and never uncounted."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.runtime.tasks import Tasks


class Stage:
    """Stories that wait for a wave; a wave leaves when nobody can go on by himself."""

    def __init__(self) -> None:
        self.tasks = Tasks()
        self.tasks.on_idle = lambda: asyncio.get_running_loop().call_soon(self.leave)
        self.waiting: list[asyncio.Future[None]] = []
        self.waves: list[int] = []
        self.begun = 0

    def leave(self) -> None:
        if not self.tasks.busy and self.waiting:
            waiting, self.waiting = self.waiting, []
            self.waves.append(len(waiting))
            for future in waiting:
                self.tasks.release(future, None)

    async def story(self, number: int) -> int:
        self.begun += 1
        future = self.tasks.park()
        self.waiting.append(future)
        await future
        if number < 0:
            raise LookupError(number)
        return number

    def stories(self, numbers: list[int]) -> Iterator[Any]:
        return (self.story(number) for number in numbers)

    async def lanes(self, numbers: list[int], at_once: int) -> list[int]:
        self.tasks.busy = 1
        return await self.tasks.lanes(self.stories(numbers), at_once)


@given(st.integers(0, 30), st.integers(1, 12))
def test_each_lane_takes_the_next_story_and_results_keep_their_order(count: int, at_once: int) -> None:
    stage = Stage()
    assert asyncio.run(stage.lanes(list(range(count)), at_once)) == list(range(count))
    whole, rest = divmod(count, at_once)
    assert stage.waves == [at_once] * whole + [rest] * bool(rest), "no story waits uncounted"
    assert stage.tasks.busy == 1


async def test_an_error_is_raised_when_the_other_lanes_have_ended() -> None:
    stage = Stage()
    with pytest.raises(LookupError):
        await stage.lanes([1, -1, 2, 3, 4], 2)
    assert stage.begun == 5, "the other lane went on"
