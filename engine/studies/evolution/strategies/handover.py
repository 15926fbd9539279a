"""A search that cannot wait asynchronously runs in a thread, and hands each of its questions to the study.

The study's own task answers them, one at a time. It counts as busy while the thread computes, so waves stay exact;
and a question is answered before the thread goes on, so a replay asks the same in the same order.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any

Ask = Callable[[Any], Any]


class Ended(BaseException):
    """The run is over: the thread is to unwind. No library takes it for an error of its own."""


class Handover:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._questions: asyncio.Queue[tuple[Any, Future[Any]] | None] = asyncio.Queue()
        self._lock = Lock()
        self._open: Future[Any] | None = None
        """the answer that the thread waits for"""
        self._ended = False

    async def lead(self, work: Callable[[Ask], None], answer: Callable[[Any], Awaitable[Any]]) -> None:
        """Runs `work` in a thread to its end; what it asks is answered by `answer`, here."""
        thread = asyncio.create_task(asyncio.to_thread(self._run, work))
        try:
            while (asked := await self._questions.get()) is not None:
                question, reply = asked
                reply.set_result(await answer(question))
            await thread
        finally:
            self._end()

    def _run(self, work: Callable[[Ask], None]) -> None:
        try:
            work(self._ask)
        except Ended:
            return
        finally:
            with self._lock:
                if not self._ended:
                    self._loop.call_soon_threadsafe(self._questions.put_nowait, None)

    def _ask(self, question: Any) -> Any:
        reply: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise Ended
            self._open = reply
            self._loop.call_soon_threadsafe(self._questions.put_nowait, (question, reply))
        return reply.result()

    def _end(self) -> None:
        with self._lock:
            self._ended = True
            if self._open is not None and not self._open.done():
                self._open.set_exception(Ended())
