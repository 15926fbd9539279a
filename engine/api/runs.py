"""Batches of the API run in processes of their own, so many at once; the others wait in this one.

A batch that waits is pending in the file. Batches under way do not notice that the API ends; those that still waited then are resumed by
`POST …/resume`. Nothing that a file says starts a batch: only a request does.
"""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tidepool.storage import api_queue
from tidepool.storage.errors import FileError

LOOK_SECONDS = 0.2


class Process(Protocol):
    """A batch's own process, as the launcher knows it."""

    @property
    def ended(self) -> bool: ...

    def complaint(self) -> str | None:
        """What it died of before its end."""


Launch = Callable[[Path, str], Process]
"""starts the process that runs a batch of a file"""


class Runs:
    def __init__(self, database: Path, launch: Launch, at_once: int) -> None:
        self._database = database
        self._launch = launch
        self._at_once = at_once
        self._waiting: dict[str, None] = {}
        """batches, in the order in which they were asked for"""
        self._running: dict[str, Process] = {}
        self._lock = threading.Lock()
        """requests are answered in threads of their own"""

    def queue(self, batch_id: str, status: str) -> bool:
        """The batch waits for its turn, and for an old process of it to end; False where it is not in this state any more."""
        with self._lock:
            queued = api_queue.queue(self._database, batch_id, status)
            if queued:
                self._waiting[batch_id] = None
                self._look()
        return queued

    def forget(self, batch_id: str) -> None:
        """It was deleted."""
        self._waiting.pop(batch_id, None)

    def waits(self, batch_id: str) -> bool:
        return batch_id in self._waiting

    def lives(self, batch_id: str) -> bool:
        """Its process is there, whether or not it has begun with the batch, or is done with it."""
        process = self._running.get(batch_id)
        return process is not None and not process.ended

    async def keep_going(self) -> None:
        """Starts what waits and sees what ended, until cancelled."""
        while True:
            with contextlib.suppress(FileError, sqlite3.Error, OSError):
                await asyncio.to_thread(self.look)
            await asyncio.sleep(LOOK_SECONDS)

    def look(self) -> None:
        with self._lock:
            self._look()

    def _look(self) -> None:
        for batch_id, process in list(self._running.items()):
            if process.ended:
                del self._running[batch_id]
                if batch_id not in self._waiting:  # else it was resumed meanwhile
                    reason = process.complaint() or "its process ended before it began"
                    api_queue.note_failure(self._database, batch_id, reason)
        for batch_id in [one for one in self._waiting if one not in self._running]:
            if len(self._running) < self._at_once:
                del self._waiting[batch_id]
                self._running[batch_id] = self._launch(self._database, batch_id)
