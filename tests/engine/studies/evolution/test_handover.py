"""A search in a thread asks, and the study answers."""

import asyncio
from threading import Event

import pytest

from tidepool.engine.studies.evolution.gepa import Ask, Ended, Handover


async def doubled(question: int) -> int:
    await asyncio.sleep(0)
    return 2 * question


async def test_questions_are_answered_one_after_the_other() -> None:
    heard: list[int] = []

    def work(ask: Ask) -> None:
        heard.extend(ask(number) for number in range(5))

    await Handover().lead(work, doubled)
    assert heard == [0, 2, 4, 6, 8]


async def test_what_goes_wrong_in_the_thread_is_raised_in_the_study() -> None:
    def work(ask: Ask) -> None:
        raise LookupError(ask(1))

    with pytest.raises(LookupError, match="2"):
        await Handover().lead(work, doubled)


@pytest.mark.parametrize("how", ["cancelled", "failed"])
async def test_a_thread_unwinds_when_the_study_ends_before_it(how: str) -> None:
    unwound, asked = Event(), asyncio.Event()

    def work(ask: Ask) -> None:
        try:
            try:
                ask(1)
            except Exception:  # a library that swallows errors must not swallow this one
                ask(2)
        except Ended:
            unwound.set()
            raise

    async def never(question: int) -> int:
        asked.set()
        if how == "failed":
            raise LookupError("no answer")
        await asyncio.get_running_loop().create_future()
        return 0

    leading = asyncio.create_task(Handover().lead(work, never))
    await asked.wait()
    if how == "cancelled":
        leading.cancel()
    with pytest.raises((LookupError, asyncio.CancelledError)):
        await leading
    assert await asyncio.to_thread(unwound.wait, 10)


async def test_a_thread_that_asks_after_the_end_is_told_at_once() -> None:
    ended, late = Event(), Event()

    def work(ask: Ask) -> None:
        ended.wait(10)
        try:
            ask(1)
        except Ended:
            late.set()
            raise

    leading = asyncio.create_task(Handover().lead(work, doubled))
    await asyncio.sleep(0)
    leading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leading
    ended.set()
    assert await asyncio.to_thread(late.wait, 10)
