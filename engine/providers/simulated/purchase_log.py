"""The simulated provider's own books: what it sold, kept outside the batch's process and file.

A kill of the batch cannot hide a double purchase: live sales are lines appended to a file, provider batches rows of
a small database, both in the seller's folder. Nothing here is read by a study.
"""

import json
import os
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tidepool.engine.call import Call, Message
from tidepool.storage.folders import state_folder

FOLDER_VARIABLE = "TIDEPOOL_SELLER"
STORED = 7
"""fields of a call that an answer depends on, from its step to its `max_tokens`"""


def seller_folder() -> Path:
    """TIDEPOOL_SELLER, else the user's state folder; a temporary one where that cannot be written."""
    configured = os.environ.get(FOLDER_VARIABLE)
    folder = Path(configured) if configured else state_folder() / "seller"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / "tidepool-seller"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True, slots=True)
class SoldBatch:
    remote_id: str
    created_at: float
    cancelled_at: float | None
    count: int


class PurchaseLog:
    def __init__(self, batch_id: str) -> None:
        self._batch_id = batch_id
        self._descriptor: int | None = None

    @cached_property
    def folder(self) -> Path:
        """Made when something is sold: a plan leaves no trace."""
        return seller_folder()

    @property
    def _sales(self) -> Path:
        return self.folder / f"{self._batch_id}.sales"

    # -- live sales --------------------------------------------------------------------------------------

    def sell(self, seed: int) -> None:
        """One line for each answer sold live; the seed is the call's address, hashed."""
        if self._descriptor is None:
            self._descriptor = os.open(self._sales, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(self._descriptor, b"%016x\n" % seed)

    def live_sales(self) -> list[str]:
        return self._sales.read_text().split() if self._sales.exists() else []

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    # -- provider batches --------------------------------------------------------------------------------

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.folder / "batches.db", timeout=30, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS sold (remote_id TEXT PRIMARY KEY, order_id TEXT, created_at REAL, "
                "cancelled_at REAL, count INTEGER, seeds BLOB, requests BLOB)"
            )
            yield connection

    def add_order(self, order_id: str, calls: Iterable[tuple[str, int, Call]]) -> str:
        """A provider batch is bought at the moment it is taken, as with the real ones."""
        orders = [(name, seed, call[:STORED]) for name, seed, call in calls]
        remote_id = f"simbatch_{order_id}_{time.time_ns():x}"
        requests = zlib.compress(json.dumps(orders).encode(), 1)
        seeds = json.dumps([seed for _, seed, _ in orders])
        with self._connect() as connection:
            connection.execute(
                "INSERT INTO sold VALUES (?, ?, ?, NULL, ?, ?, ?)",
                (remote_id, order_id, time.time(), len(orders), seeds, requests),
            )
        return remote_id

    def find(self, order_id: str) -> str | None:
        with self._connect() as connection:
            row = connection.execute("SELECT remote_id FROM sold WHERE order_id = ?", (order_id,)).fetchone()
        return str(row[0]) if row else None

    def look_up(self, remote_id: str) -> SoldBatch | None:
        with self._connect() as connection:
            row = connection.execute(
                "SELECT remote_id, created_at, cancelled_at, count FROM sold WHERE remote_id = ?", (remote_id,)
            ).fetchone()
        return SoldBatch(*row) if row else None

    def requests_of(self, remote_id: str) -> list[tuple[str, int, Call]]:
        with self._connect() as connection:
            row = connection.execute("SELECT requests FROM sold WHERE remote_id = ?", (remote_id,)).fetchone()
        requests: list[tuple[str, int, Call]] = []
        for name, seed, (step, wave, model, messages, *rest) in json.loads(zlib.decompress(row[0])):
            requests.append((name, seed, Call(step, wave, model, tuple(Message(*one) for one in messages), *rest)))
        return requests

    def cancel(self, remote_id: str) -> None:
        with self._connect() as connection:
            connection.execute(
                "UPDATE sold SET cancelled_at = ? WHERE remote_id = ? AND cancelled_at IS NULL",
                (time.time(), remote_id),
            )

    def ordered_seeds(self, order_ids: Iterable[str]) -> list[int]:
        """Every call ever ordered under these ids, once for each time it was ordered."""
        seeds: list[int] = []
        with self._connect() as connection:
            for order_id in order_ids:
                for (text,) in connection.execute("SELECT seeds FROM sold WHERE order_id = ?", (order_id,)):
                    seeds += json.loads(text)
        return seeds
