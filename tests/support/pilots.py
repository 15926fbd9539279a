"""Textual's pilot, which waits after each key until every widget has worked off its messages."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import pytest
from textual import _callback
from textual.app import ScreenStackError
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout


@contextmanager
def quick_pilot() -> Iterator[None]:
    """By itself it sends a message to every widget and counts the answers: more work than most keys. Those who have no
    message, and wait for one, need not be asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "_wait_for_screen", _wait_for_screen)
        patch.setattr(_callback, "_count_parameters", lru_cache(maxsize=64)(_callback._count_parameters))
        yield


def _rests(pump: MessagePump) -> bool:
    queue = pump._message_queue
    return queue.empty() and pump._pending_message is None and bool(queue.ready_event._waiters)  # type: ignore[attr-defined]


async def _wait_for_screen(pilot: "Pilot[object]", timeout: float = 30.0) -> bool:
    try:
        screen = pilot.app.screen
    except ScreenStackError:
        return False
    asked, done = 0, asyncio.Event()

    def answered() -> None:
        nonlocal asked
        asked -= 1
        if not asked:
            done.set()

    for pump in (pilot.app, screen, *(one for one in screen.walk_children() if not _rests(one))):
        asked += pump.call_later(answered)
    if not asked:
        return True
    waits = [asyncio.create_task(event.wait()) for event in (done, pilot.app._exception_event)]
    finished, pending = await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    if not finished:
        raise WaitForScreenTimeout("Timed out while waiting for widgets to process pending messages.")
    return not asked
