"""What a running batch and whoever watches it leave for each other in the file: heartbeats one way, words the other.

Everything the running batch writes goes through its writer's queue, so it never waits for the disk.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, func
from sqlmodel import col, select, update

from tidepool.storage.sql import compile_statement, update_by
from tidepool.storage.states import IN_FLIGHT, BatchStatus
from tidepool.storage.tables import Batch, Control, Progress, Surplus
from tidepool.storage.writer import Writer

_IN_FLIGHT_USD = (
    select(func.coalesce(func.sum(Surplus.cost_usd), 0))
    .where(col(Surplus.batch_number) == col(Progress.batch_number), col(Surplus.reason) == IN_FLIGHT)
    .scalar_subquery()
)
_BEAT = compile_statement(
    update(Progress)
    .where(col(Progress.batch_number) == bindparam("batch"))
    .values(
        heartbeat=col(Progress.heartbeat) + 1,
        heartbeat_at=bindparam("now"),
        seconds=bindparam("running"),
        peak_concurrency=func.max(col(Progress.peak_concurrency), bindparam("peak")),
        in_flight=bindparam("calls"),
        limits=bindparam("rules"),
        in_flight_usd=_IN_FLIGHT_USD,
    ),
    rank=1,
)
_MARK_READ = update_by(Control, ["id"], ["taken_at"])
_PAUSED = update_by(Batch, ["number", "status"], ["paused"])


def beat(
    writer: Writer,
    batch_number: int,
    *,
    seconds: float,
    peak_concurrency: int,
    in_flight: Sequence[Sequence[int]],
    limits: Mapping[str, Any],
) -> None:
    """The batch lives: how long it has run, what is at the providers (unit and wave of each call), and its limits."""
    in_flight_json = json.dumps(in_flight, separators=(",", ":"))
    row = _BEAT.row(
        batch=batch_number,
        now=time.time(),
        running=seconds,
        peak=peak_concurrency,
        calls=in_flight_json,
        rules=json.dumps(limits),
    )
    writer.beat(_BEAT, row)


def commands_for(connection: sqlite3.Connection, batch_number: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The words left for a batch and not taken yet."""
    for row in connection.execute(
        "SELECT id, command, arguments FROM control WHERE batch_number = ? AND taken_at IS NULL ORDER BY id",
        (batch_number,),
    ).fetchall():
        yield row["id"], row["command"], json.loads(row["arguments"])


def mark_command_read(writer: Writer, number: int) -> None:
    """A word is taken: it will not be read again."""
    writer.put(_MARK_READ, _MARK_READ.row(taken_at=time.time(), id=number))


def set_paused(writer: Writer, batch_number: int, paused: bool) -> None:
    writer.put(_PAUSED, _PAUSED.row(paused=paused, number=batch_number, status=BatchStatus.IN_PROGRESS))
