"""The tasks that look after provider batches: beside the study's own ones, and not counted among those that can go on."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tidepool.engine.core.context import RunContext


class JobTasks:
    def __init__(self, context: RunContext, one_ended: Callable[[], None]) -> None:
        self._context = context
        self._one_ended = one_ended
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, life: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(life)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def start_busy(self, life: Coroutine[Any, Any, None]) -> None:
        """Answers on their way to the ledger: no wave leaves before they have come through."""
        tasks = self._context.run.tasks
        tasks.spawn(life, tasks.ending(self._report))

    async def end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._report(task)
        self._one_ended()

    def _report(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            self._context.fail(error)
