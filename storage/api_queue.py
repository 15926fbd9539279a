"""Simulation batches of the HTTP API. Batches that wait for a process are `queued`."""

import sqlite3
from pathlib import Path

from tidepool.storage import db
from tidepool.storage.errors import BatchLocked
from tidepool.storage.file import is_held, value_of, writing
from tidepool.storage.states import BatchStatus
from tidepool.storage.text import storable

QUEUED = "queued"
"""the reason of a pending batch that was created through the API"""


LONGEST_CONFIG = 64 * 2**20
_READ = (
    "SELECT number, id, substr(name, 1, 1000) AS name, substr(description, 1, 100000) AS description, status, "
    "substr(reason, 1, 10000) AS reason, simulated, created_at, host, study_id, "
    f"CASE WHEN length(config) <= {LONGEST_CONFIG} THEN config END AS config FROM batch WHERE kind = 'simulation'"
)
"""the columns of a batch, cut to a length that no batch of ours exceeds, since the file may be untrusted"""


def simulation_batches(connection: sqlite3.Connection, limit: int, offset: int) -> list[sqlite3.Row]:
    """Returns the simulation batches, oldest first."""
    return connection.execute(f"{_READ} ORDER BY number LIMIT ? OFFSET ?", (limit, offset)).fetchall()


def simulation_count(connection: sqlite3.Connection) -> int:
    return int(value_of(connection, "SELECT count(*) FROM batch WHERE kind = 'simulation'"))


def simulation_batch(connection: sqlite3.Connection, batch_id: str) -> sqlite3.Row | None:
    """Finds a batch by its complete id."""
    row: sqlite3.Row | None = connection.execute(f"{_READ} AND id = ?", (batch_id,)).fetchone()
    return row


def queue(path: Path, batch_id: str, status: str) -> bool:
    """Queues the batch. Returns False if its status is no longer `status`.

    A process that runs a batch takes its lock before it writes to it, and its first write waits for this transaction.
    """
    with writing(path) as connection:
        if is_held(path, batch_id):
            raise BatchLocked(f"Batch {batch_id} is already running.")
        pending = {"status": BatchStatus.PENDING, "reason": QUEUED, "stop_code": None}
        return db.change(connection, db.Batch, {"id": batch_id, "status": status}, **pending).rowcount > 0


def note_failure(path: Path, batch_id: str, reason: str) -> None:
    """Records that a queued batch could not start, or could not continue if it already has completed units."""
    query = "SELECT p.units_completed FROM batch b JOIN progress p ON p.batch_number = b.number WHERE b.id = ?"
    with writing(path) as connection:
        status = BatchStatus.INTERRUPTED if value_of(connection, query, (batch_id,)) else BatchStatus.FAILED
        queued = {"id": batch_id, "status": BatchStatus.PENDING, "reason": QUEUED}
        db.change(connection, db.Batch, queued, reason=storable(reason), status=status)
