"""An event loop whose clock jumps to the next timer: minutes of pacing are tried in milliseconds.

Only for what waits on timers alone: no threads, no sockets, so no study file.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

import tidepool.engine.providers.pool
import tidepool.engine.providers.provider
import tidepool.engine.runtime.accounts
import tidepool.engine.runtime.limits
import tidepool.engine.runtime.recording
import tidepool.engine.simulated.provider

T = TypeVar("T")

MODULES = (
    tidepool.engine.runtime.accounts,
    tidepool.engine.runtime.limits,
    tidepool.engine.runtime.recording,
    tidepool.engine.providers.pool,
    tidepool.engine.providers.provider,
    tidepool.engine.simulated.provider,
)
"""those that look at the clock"""


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__(_NeverWaiting(self))
        self.now = 1_000.0

    def time(self) -> float:
        return self.now


class _NeverWaiting(selectors.SelectSelector):
    """Instead of waiting for the next timer it moves the clock there."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("everything waits, and nothing will ever happen")
        self._loop.now += timeout
        return super().select(0)


def play(monkeypatch: pytest.MonkeyPatch, story: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """Runs a story in virtual time; returns what it returned, and how many seconds it took."""
    loop = VirtualLoop()
    clock = _Clock(loop)
    for module in MODULES:
        monkeypatch.setattr(module, "time", clock)
    begun = loop.now
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(story), loop.now - begun


class _Clock:
    def __init__(self, loop: VirtualLoop) -> None:
        self.monotonic = loop.time
        self.time = loop.time
