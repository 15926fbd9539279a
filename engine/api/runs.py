"""Batches of the API run in processes of their own, so many at once; the others wait in the file.

What waits is written there (pending, with the reason `queued`) and in the trust record, so a restart of the API loses
nothing: it goes on with what waits, and batches under way never knew that it was gone. What only the file calls queued
is nothing that anybody asked for here: it is left alone.
"""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Protocol

from tidepool.engine.trust.record import config_hash, trust_record
from tidepool.storage import api_queue
from tidepool.storage.api_queue import QUEUED
from tidepool.storage.errors import FileError
from tidepool.storage.states import BatchStatus

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
        self._running: dict[str, Process] = {}
        self._wake = asyncio.Event()
        self._excused: set[str] = set()
        """of whose processes nothing more is wanted"""
        self._lock = threading.Lock()
        """requests are answered in threads of their own"""
        self._loop: asyncio.AbstractEventLoop | None = None

    def queue(self, batch_id: str) -> None:
        """A batch that was asked for here, and waits for its turn."""
        self._record_queued(batch_id, api_queue.queue(self._database, batch_id))

    def requeue(self, batch_id: str, status: str) -> bool:
        """A batch that stopped waits for its turn again, and for its old process to end; False where another was first."""
        with self._lock:
            config = api_queue.requeue(self._database, batch_id, status)
            if config is not None and batch_id in self._running:
                self._excused.add(batch_id)
        self._record_queued(batch_id, config)
        return config is not None

    def _record_queued(self, batch_id: str, config: str | None) -> None:
        if config is not None:
            trust_record().queue(batch_id, config)
            self.wake()

    def forget(self, batch_id: str) -> None:
        """It was deleted."""
        trust_record().unqueue(batch_id)

    def waits(self, batch: sqlite3.Row) -> bool:
        """Somebody asked for it here, and its turn will come; or another program is about to run it."""
        if batch["status"] != BatchStatus.PENDING:
            return False
        return batch["reason"] != QUEUED or self._is_queued_here(batch["id"])

    def _is_queued_here(self, batch_id: str) -> bool:
        """Here, with the very config that the file has now."""
        queued_hashes = {queued_hash for queued_id, queued_hash in trust_record().queued() if queued_id == batch_id}
        config = api_queue.config_of(self._database, batch_id) if queued_hashes else None
        return config is not None and config_hash(config) in queued_hashes

    def lives(self, batch_id: str) -> bool:
        """Its process is there, whether or not it has begun with the batch, or is done with it."""
        process = self._running.get(batch_id)
        return process is not None and not process.ended

    def wake(self) -> None:
        """Something waits: look now. From any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake.set)

    async def keep_going(self) -> None:
        """Starts what waits and sees what ended, until cancelled."""
        self._loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            with contextlib.suppress(FileError, sqlite3.Error, OSError):
                await asyncio.to_thread(self.look)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), LOOK_SECONDS if self._running else None)

    def look(self) -> None:
        with self._lock:
            self._look()

    def _look(self) -> None:
        for batch_id, process in list(self._running.items()):
            if process.ended:
                del self._running[batch_id]
                if batch_id not in self._excused:
                    self._note_failure(batch_id, process.complaint())
                self._excused.discard(batch_id)
        free = max(0, self._at_once - len(self._running))
        for batch_id in islice(self._startable(), free):
            self._running[batch_id] = self._launch(self._database, batch_id)

    def _startable(self) -> Iterator[str]:
        """In the order in which they were made; what waits no longer is let go of."""
        queue = trust_record().queued()
        rows = api_queue.states_of(self._database, [batch_id for batch_id, _ in queue]) if queue else []
        for row in rows:
            if row["status"] != BatchStatus.PENDING:
                trust_record().unqueue(row["id"])
        for row in rows:
            is_queued = (row["status"], row["reason"]) == (BatchStatus.PENDING, QUEUED)
            if is_queued and row["id"] not in self._running and self._is_queued_here(row["id"]):
                yield row["id"]

    def _note_failure(self, batch_id: str, complaint: str | None) -> None:
        """A process that ended before it began with its batch: the batch could not start, or not go on."""
        api_queue.note_failure(self._database, batch_id, complaint or "its process ended before it began")
