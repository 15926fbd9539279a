"""Runs batches of the API in separate processes, a limited number at once. Other batches wait in this process.

A waiting batch is pending in the file. Running batches do not notice when the API ends. Batches that were still waiting are resumed by
`POST …/resume`. Nothing in a file starts a batch; only a request does.
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
    """The process of a batch, as the launcher knows it."""

    @property
    def ended(self) -> bool: ...

    def complaint(self) -> str | None:
        """Why it died before its end."""


Launch = Callable[[Path, str], Process]
"""starts the process that runs a batch of a file"""


class Runs:
    def __init__(self, database: Path, launch: Launch, at_once: int) -> None:
        self._database = database
        self._launch = launch
        self._at_once = at_once
        self._waiting: dict[str, None] = {}
        """batches in the order of their requests"""
        self._running: dict[str, Process] = {}
        self._lock = threading.RLock()
        """requests are answered in separate threads"""

    def queue(self, batch_id: str, status: str) -> bool:
        """Queues the batch until there is a free place and its old process has ended. False if its state has changed."""
        with self._lock:
            queued = api_queue.queue(self._database, batch_id, status)
            if queued:
                self._waiting[batch_id] = None
                self.look()
        return queued

    def forget(self, batch_id: str) -> None:
        """Removes a deleted batch."""
        self._waiting.pop(batch_id, None)

    def waits(self, batch_id: str) -> bool:
        return batch_id in self._waiting

    def lives(self, batch_id: str) -> bool:
        """Whether its process exists, even before it starts or after it finishes the batch."""
        process = self._running.get(batch_id)
        return process is not None and not process.ended

    async def keep_going(self) -> None:
        """Starts waiting batches and handles ended processes, until cancelled."""
        while True:
            with contextlib.suppress(FileError, sqlite3.Error, OSError):
                await asyncio.to_thread(self.look)
            await asyncio.sleep(LOOK_SECONDS)

    def look(self) -> None:
        with self._lock:
            for batch_id, process in list(self._running.items()):
                if process.ended:
                    del self._running[batch_id]
                    if batch_id not in self._waiting:  # otherwise it was resumed in the meantime
                        reason = process.complaint() or "its process ended before it began"
                        api_queue.note_failure(self._database, batch_id, reason)
            for batch_id in [one for one in self._waiting if one not in self._running]:
                if len(self._running) < self._at_once:
                    del self._waiting[batch_id]
                    self._running[batch_id] = self._launch(self._database, batch_id)
