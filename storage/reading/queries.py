"""What screens and commands read: short queries in autocommit, each bounded in what it returns."""

import json
import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidepool.storage.batches import status_now
from tidepool.storage.reading.units import StoredMessage, unit_of
from tidepool.storage.reading.watching import LONGEST_NAME, LONGEST_WORDS, MOST_NAMES, asks_a_provider, resting_in
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
    partly_simulated: bool = False
    """calls may go to other providers as well as to the simulated one"""
    seed: int | None = None
    study_id: str | None = None
    """the study of several batches that it is a cell of"""
    cells: int = 0
    """of a study: how many batches it has"""
    origin: dict[str, str] | None = None
    """of a branch: `batch_id`, and `at` which message it was taken"""


def list_batches(path: Path, connection: sqlite3.Connection, most: int = -1) -> list[BatchLine]:
    """The newest batches, or all."""
    rows = connection.execute(
        f"SELECT b.number, b.id, b.kind, substr(b.name, 1, {LONGEST_NAME}) AS name, b.status, b.paused, "
        f"substr(b.reason, 1, {LONGEST_WORDS}) AS reason, b.simulated, b.created_at, b.finished_at, b.seed, b.origin, "
        "b.host, b.study_id, p.units_total, p.units_completed, p.units_failed, p.calls, p.cost_usd, p.unpriced, p.seconds, "
        "p.heartbeat_at, p.limits FROM batch b LEFT JOIN progress p ON p.batch_number = b.number ORDER BY b.number DESC "
        "LIMIT ?",
        (most,),
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
            bool(row["simulated"]) and asks_a_provider(row["limits"]),
            row["seed"],
            row["study_id"],
            origin=branched_off(row["origin"]),
        )
        for row in rows
    ]


def branched_off(origin: object) -> dict[str, str] | None:
    """None: it is no branch, or its file was changed."""
    try:
        found = json.loads(origin) if isinstance(origin, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return None
    return {name: str(found.get(name, ""))[:LONGEST_NAME] for name in ("batch_id", "at")}


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
        "SELECT * FROM outcome WHERE unit_id = ? ORDER BY side LIMIT ?",
        (unit_id(batch_number, sequence_number), MOST_NAMES),
    ).fetchall()
    return Transcript(
        sequence_number,
        [name[:LONGEST_NAME] for name in unit.participants[:MOST_NAMES]],
        unit.status,
        unit.error and unit.error[:LONGEST_WORDS],
        unit.game,
        unit.round,
        [_shown(message) for message in unit.messages[:MOST_MESSAGES]],
        [dict(outcome) for outcome in outcomes],
        [{"entity": entity, "rating": rating} for entity, rating in unit.ratings],
        unit.details,
    )


MOST_MESSAGES = 10_000
LONGEST_MESSAGE = 200_000
"""a transcript is read by a person; an export holds all of it"""


def _shown(message: StoredMessage) -> StoredMessage:
    if not isinstance(message.content, str):
        raise TypeError("a message is no text")
    if len(message.content) <= LONGEST_MESSAGE and len(message.speaker or "") <= LONGEST_NAME:
        return message
    content = message.content
    more = len(content) - LONGEST_MESSAGE
    return replace(
        message,
        speaker=message.speaker and message.speaker[:LONGEST_NAME],
        content=content if more <= 0 else f"{content[:LONGEST_MESSAGE]} … and {more:,} characters more",
    )


def log_lines(
    connection: sqlite3.Connection, batch_number: int, after: int = 0, most: int = 10_000
) -> list[sqlite3.Row]:
    """The log of a batch, from the row after `after`."""
    return connection.execute(
        f"SELECT id, at, substr(level, 1, {LONGEST_NAME}) AS level, substr(message, 1, {LONGEST_WORDS}) AS message "
        "FROM log_line WHERE batch_number = ? AND id > ? ORDER BY id LIMIT ?",
        (batch_number, after, most),
    ).fetchall()
