"""What a running batch and whoever watches it leave for each other in the file: heartbeats one way, words the other.

Everything the running batch writes goes through its writer's queue, so it never waits for the disk.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.storage.under_way import UNDER_WAY
from tidepool.storage.writer import Statement, Writer

_BEAT = Statement(
    "UPDATE progress SET heartbeat = heartbeat + 1, heartbeat_at = ?, seconds = ?, "
    "peak_concurrency = max(peak_concurrency, ?), in_flight = ?, limits = ?, in_flight_usd = (SELECT coalesce(sum(s.cost_usd), 0) FROM surplus s "
    f"WHERE s.batch_number = progress.batch_number AND s.reason = '{UNDER_WAY}') WHERE batch_number = ?",
    rank=1,
)
_TAKEN = Statement("UPDATE control SET taken_at = ? WHERE id = ?", rank=1)
_PAUSED = Statement("UPDATE batch SET paused = ? WHERE number = ? AND status = 'in_progress'", rank=1)


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
    shown = json.dumps(in_flight, separators=(",", ":"))
    writer.beat(_BEAT, (time.time(), seconds, peak_concurrency, shown, json.dumps(limits), batch_number))


def commands_for(connection: sqlite3.Connection, batch_number: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The words left for a batch and not taken yet."""
    for row in connection.execute(
        "SELECT id, command, arguments FROM control WHERE batch_number = ? AND taken_at IS NULL ORDER BY id",
        (batch_number,),
    ).fetchall():
        yield row["id"], row["command"], json.loads(row["arguments"])


def take(writer: Writer, number: int) -> None:
    """A word is taken: it will not be read again."""
    writer.put(_TAKEN, (time.time(), number))


def set_paused(writer: Writer, batch_number: int, paused: bool) -> None:
    writer.put(_PAUSED, (paused, batch_number))
