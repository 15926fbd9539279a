"""One hand as the process at home deals with it: calls out in bunches, answers back by a long poll.

A hand whose process or node dies, or that says nothing for long, is lost, and so are the calls it had: whether they were
bought nobody knows. They come back as faults that heal, and are asked again elsewhere.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple, Protocol

from tidepool.engine.cluster.hand import Bunch, Fault, HandCard, Job, Opening, packed_jobs, unpacked
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.pool import Rest
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError, Silence

SILENT_SECONDS = 60.0
"""without a word, after which a hand is taken for lost: it says something every two"""
RATE_SECONDS = 10.0
"""over which the calls a second of a hand are counted"""
GOODBYE_SECONDS = 2.0


class FarHand(Protocol):
    """How a hand is spoken to. Whatever any of this raises means that it is gone."""

    async def card(self) -> HandCard: ...

    async def open(self, opening: Opening) -> Fault | None: ...

    async def serve(self, batch_id: str) -> None: ...

    async def change(self, settings: dict[str, ProviderSettings]) -> None: ...

    async def give(self, packed: bytes) -> None: ...

    async def take(self) -> bytes: ...

    async def close(self) -> None: ...

    def kill(self) -> None:
        """At once, whatever it does."""


class Waiting(NamedTuple):
    """Who waits for a call that a hand has."""

    answer: "asyncio.Future[Answer]"
    provider: str
    asked_at: float


class HandTrade:
    def __init__(self, far: FarHand, card: HandCard, on_lost: "Callable[[HandTrade, str], None]") -> None:
        self.far = far
        self.card = card
        self.providers: set[str] = set()
        """that can be asked from there"""
        self.rests: dict[str, Rest] = {}
        """of providers whose server is beside it, while that is busy, silent or gone"""
        self.troubled: set[str] = set()
        """those of which the last word was a fault"""
        self.in_flight: dict[int, Waiting] = {}
        self.returned = 0
        self.pause = 0.0
        """seconds before another is started where this one is lost"""
        self.notice: Callable[[str, str], None] = lambda provider, words: None
        self.heard: Callable[[HandTrade, Waiting, Fault | None], None] = lambda hand, waiting, fault: None
        """told of each call that came back, with its fault or without"""
        self._on_lost = on_lost
        self._lost = False
        self._recent: deque[tuple[float, int]] = deque()
        self._since = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        self._spawn(self._take_back())

    def give(self, jobs: Sequence[Job], answers: Sequence["asyncio.Future[Answer]"]) -> None:
        now = time.monotonic()
        for job, answer in zip(jobs, answers, strict=True):
            self.in_flight[job.number] = Waiting(answer, job.provider, now)
        self._spawn(self.far.give(packed_jobs(jobs)))

    def tell(self, word: Coroutine[Any, Any, None]) -> None:
        """Says something that no answer is waited for."""
        self._spawn(word)

    @property
    def rate(self) -> float:
        """Calls a second that came back of late."""
        now = time.monotonic()
        while self._recent and self._recent[0][0] < now - RATE_SECONDS:
            self._recent.popleft()
        return sum(count for _, count in self._recent) / max(1.0, min(RATE_SECONDS, now - self._since))

    async def close(self) -> None:
        self._lost = True
        for task in self._tasks:
            task.cancel()
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self.far.close()
        except Exception:  # it is not waited for
            pass
        finally:
            self.far.kill()

    def lose(self, why: str) -> None:
        if self._lost:
            return
        self._lost = True
        self.far.kill()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._on_lost(self, why)
        for waiting in self.in_flight.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(lost_call(self.card.node, why))
        self.in_flight.clear()

    async def _take_back(self) -> None:
        while True:
            async with asyncio.timeout(SILENT_SECONDS):
                packed = await self.far.take()
            self._settle(unpacked(packed))

    def _settle(self, bunch: Bunch) -> None:
        count = len(bunch.returned)
        if count:
            self.returned += count
            self._recent.append((time.monotonic(), count))
        for provider, words in bunch.notices:
            self.notice(provider, words)
        for number, answer, fault in bunch.returned:
            waiting = self.in_flight.pop(number, None)
            if waiting is None:
                continue
            self.heard(self, waiting, fault)
            if waiting.answer.done():  # nobody waits for it any more
                continue
            if fault is not None:
                waiting.answer.set_exception(fault.error())
            elif answer is not None:
                waiting.answer.set_result(answer)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            silent = isinstance(error, TimeoutError)
            self.lose("it says nothing" if silent else f"{type(error).__name__}: {first_line(error)}")


def first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "")[:300]


def lost_call(node: str, why: str) -> ProviderError:
    return ProviderError(ErrorClass.HEALS, f"The hand on {node} was lost ({why})", silence=Silence.LOST)
