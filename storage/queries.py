"""What screens and commands read: short queries in autocommit, each bounded in what it returns."""

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from storage.batches import is_running
from storage.tables import unit_id


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


def list_batches(path: Path, connection: sqlite3.Connection) -> list[BatchLine]:
    rows = connection.execute(
        "SELECT b.number, b.id, b.kind, b.name, b.status, b.paused, b.reason, b.simulated, b.created_at, b.finished_at, "
        "b.host, p.units_total, p.units_completed, p.units_failed, p.calls, p.cost_usd, p.unpriced, p.seconds, "
        "p.heartbeat_at FROM batch b JOIN progress p ON p.batch_number = b.number ORDER BY b.number DESC"
    ).fetchall()
    return [
        BatchLine(
            row["number"],
            row["id"],
            row["kind"],
            row["name"],
            "interrupted" if row["status"] == "in_progress" and not is_running(path, row, row) else row["status"],
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
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message of a transcript."""

    turn: int
    speaker: str
    content: str
    thought: str | None
    source: str
    model: str


@dataclass(frozen=True, slots=True)
class Transcript:
    sequence_number: int
    participants: list[str]
    status: str
    error: str | None
    game: int | None
    round: int | None
    messages: list[Spoken]
    outcomes: list[dict[str, object]]


def transcript(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> Transcript | None:
    unit = unit_id(batch_number, sequence_number)
    row = connection.execute("SELECT * FROM unit WHERE id = ?", (unit,)).fetchone()
    if row is None:
        return None
    outcomes = connection.execute("SELECT * FROM outcome WHERE unit_id = ? ORDER BY side", (unit,)).fetchall()
    return Transcript(
        sequence_number,
        json.loads(row["participants"]),
        row["status"],
        row["error"],
        row["game"],
        row["round"],
        _messages(connection, unit),
        [dict(outcome) for outcome in outcomes],
    )


def _messages(connection: sqlite3.Connection, unit: int) -> list[Spoken]:
    """Whole replies, and the parts of replies that hold several messages."""
    rows = connection.execute(
        "SELECT c.turn, c.speaker, c.text AS content, NULL AS thought, c.source, c.model, 0 AS position FROM call c "
        "WHERE c.unit_id = :unit AND c.turn IS NOT NULL AND c.status = 'answered' "
        "UNION ALL "
        "SELECT l.turn, l.speaker, substr(c.text, l.start + 1, l.length), "
        "CASE WHEN l.thought_start IS NOT NULL THEN substr(c.text, l.thought_start + 1, l.thought_length) END, "
        "c.source, c.model, l.position "
        "FROM line l JOIN call c ON c.unit_id = l.unit_id AND c.step = l.step WHERE l.unit_id = :unit "
        "ORDER BY 1, 7",
        {"unit": unit},
    ).fetchall()
    return [Spoken(*tuple(row)[:6]) for row in rows]


def log_lines(
    connection: sqlite3.Connection, batch_number: int, after: int = 0, most: int = 10_000
) -> list[sqlite3.Row]:
    """The log of a batch, from the row after `after`."""
    return connection.execute(
        "SELECT id, at, level, message FROM log_line WHERE batch_number = ? AND id > ? ORDER BY id LIMIT ?",
        (batch_number, after, most),
    ).fetchall()
