"""What screens and commands read: short queries in autocommit, each bounded in what it returns."""

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidepool.storage.batches import status_now
from tidepool.storage.reading.units import StoredMessage, unit_of
from tidepool.storage.reading.watching import resting_in
from tidepool.storage.states import BatchStatus
from tidepool.storage.unit_ids import unit_id


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One batch in a list."""

    number: int
    id: str
    kind: str
    name: str
    status: str
    paused: bool
    reason: str | None
    simulated: bool
    created_at: float
    finished_at: float | None
    units_total: int
    units_completed: int
    units_failed: int
    calls: int
    cost_usd: float | None
    seconds: float
    resting: dict[str, Any] = field(default_factory=dict)
    """providers that its calls wait for"""


def list_batches(path: Path, connection: sqlite3.Connection) -> list[BatchLine]:
    rows = connection.execute(
        "SELECT b.number, b.id, b.kind, b.name, b.status, b.paused, b.reason, b.simulated, b.created_at, b.finished_at, "
        "b.host, p.units_total, p.units_completed, p.units_failed, p.calls, p.cost_usd, p.unpriced, p.seconds, "
        "p.heartbeat_at, p.limits FROM batch b JOIN progress p ON p.batch_number = b.number ORDER BY b.number DESC"
    ).fetchall()
    return [
        BatchLine(
            row["number"],
            row["id"],
            row["kind"],
            row["name"],
            status := status_now(path, row, row),
            bool(row["paused"]),
            row["reason"],
            bool(row["simulated"]),
            row["created_at"],
            row["finished_at"],
            row["units_total"],
            row["units_completed"],
            row["units_failed"],
            row["calls"],
            None if row["unpriced"] else row["cost_usd"],
            row["seconds"],
            resting_in(row["limits"]) if status == BatchStatus.IN_PROGRESS else {},
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class Transcript:
    sequence_number: int
    participants: list[str]
    status: str
    error: str | None
    game: int | None
    round: int | None
    messages: list[StoredMessage]
    outcomes: list[dict[str, object]]
    judgements: list[dict[str, object]]
    details: dict[str, Any]
    """what the study kept of it"""


def transcript(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> Transcript | None:
    unit = unit_of(connection, batch_number, sequence_number)
    if unit is None:
        return None
    outcomes = connection.execute(
        "SELECT * FROM outcome WHERE unit_id = ? ORDER BY side", (unit_id(batch_number, sequence_number),)
    ).fetchall()
    return Transcript(
        sequence_number,
        unit.participants,
        unit.status,
        unit.error,
        unit.game,
        unit.round,
        unit.messages,
        [dict(outcome) for outcome in outcomes],
        [{"entity": entity, "rating": rating} for entity, rating in unit.ratings],
        unit.details,
    )


def log_lines(
    connection: sqlite3.Connection, batch_number: int, after: int = 0, most: int = 10_000
) -> list[sqlite3.Row]:
    """The log of a batch, from the row after `after`."""
    return connection.execute(
        "SELECT id, at, level, message FROM log_line WHERE batch_number = ? AND id > ? ORDER BY id LIMIT ?",
        (batch_number, after, most),
    ).fetchall()
