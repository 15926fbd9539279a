"""Batches of simulations as the HTTP API keeps them: those that wait for a process of their own are `queued`."""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from tidepool.storage.file import reading, writing
from tidepool.storage.states import BatchStatus

QUEUED = "queued"
"""the reason of a pending batch that was asked for through the API"""


def simulation_batches(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    return connection.execute("SELECT * FROM batch WHERE kind = 'simulation' ORDER BY number").fetchall()


def simulation_batch(connection: sqlite3.Connection, batch_id: str) -> sqlite3.Row | None:
    """By its whole id."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM batch WHERE id = ? AND kind = 'simulation'", (batch_id,)
    ).fetchone()
    return row


def queue(path: Path, batch_id: str) -> str | None:
    """A pending batch waits for its turn; returns its frozen config, or None where there is no such batch."""
    with writing(path) as connection:
        connection.execute(
            "UPDATE batch SET reason = ? WHERE id = ? AND status = ?", (QUEUED, batch_id, BatchStatus.PENDING)
        )
    return _config_of(path, batch_id)


def requeue(path: Path, batch_id: str) -> str | None:
    """The same for a batch that has stopped."""
    with writing(path) as connection:
        connection.execute(
            "UPDATE batch SET status = ?, reason = ?, stop_code = NULL WHERE id = ?",
            (BatchStatus.PENDING, QUEUED, batch_id),
        )
    return _config_of(path, batch_id)


def _config_of(path: Path, batch_id: str) -> str | None:
    with reading(path) as connection:
        row = connection.execute("SELECT config FROM batch WHERE id = ?", (batch_id,)).fetchone()
    return None if row is None else str(row["config"])


def states_of(path: Path, batch_ids: Iterable[str]) -> list[sqlite3.Row]:
    """Those of the batches that are simulations (id, config, status, reason), in the order in which they were made."""
    with reading(path) as connection:
        return connection.execute(
            "SELECT id, config, status, reason FROM batch WHERE kind = 'simulation' "
            "AND id IN (SELECT value FROM json_each(?)) ORDER BY number",
            (json.dumps(list(batch_ids)),),
        ).fetchall()


def note_failure(path: Path, batch_id: str, reason: str) -> None:
    """A queued batch could not start, or not go on where it has some units already."""
    with writing(path) as connection:
        connection.execute(
            "UPDATE batch SET reason = ?, status = CASE WHEN (SELECT units_completed FROM progress "
            "WHERE batch_number = number) > 0 THEN ? ELSE ? END WHERE id = ? AND status = ? AND reason = ?",
            (reason, BatchStatus.INTERRUPTED, BatchStatus.FAILED, batch_id, BatchStatus.PENDING, QUEUED),
        )
