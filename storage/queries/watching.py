"""Queries that a screen runs several times a second for a running batch: counters, and the visible rows.

The cost of every query depends on the size of the screen, not of the batch. Watching a hundred thousand conversations costs
as much as watching ten. All queries run in autocommit.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidepool.storage.batches import status_now
from tidepool.storage.file import value_of
from tidepool.storage.queries.units import whole
from tidepool.storage.states import OPEN_PHASES, STUDY_BATCHES_SQL, BatchStatus, sequence_number_of, unit_id


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A batch and its running counters at one moment."""

    number: int
    id: str
    kind: str
    name: str
    description: str
    status: str
    """as shown, so `interrupted` for a batch whose process died"""
    paused: bool
    reason: str | None
    seed: int
    simulated: bool
    created_at: float
    finished_at: float | None
    units_total: int
    units_completed: int
    units_failed: int
    calls: int
    bought: int
    cached: int
    replayed: int
    retried: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    spent_usd: float
    """the known part of the cost"""
    seconds: float
    call_seconds: float
    peak_concurrency: int
    heartbeat: int
    in_flight: str
    """JSON: some of the calls in flight, as [sequence number, wave]"""
    limits: str
    """JSON: the current limits"""
    study_id: str | None = None
    """the study with a design that the batch belongs to"""
    cells: int = 0
    """number of batches of a study"""
    origin: str | None = None
    """source of a branch, as JSON: `batch_id`, and the message `at` which it starts"""
    headline: str | None = None
    """JSON: the main result of an ended batch"""

    @property
    def branched_off(self) -> dict[str, str] | None:
        """The source of a branch; None for other batches and in damaged files."""
        try:
            origin = json.loads(self.origin or "null")
        except (ValueError, RecursionError):
            return None
        names = ("batch_id", "at")
        return {name: str(origin.get(name, ""))[:LONGEST_NAME] for name in names} if isinstance(origin, dict) else None

    @property
    def resting(self) -> dict[str, Any]:
        """The providers to which no calls are sent at the moment, with the reason, the start and the end by the wall clock."""
        providers = json.loads(self.limits).get("providers", {}) if self.running else {}
        rests = {name: provider.get("resting") for name, provider in providers.items()}
        return {
            name: rest
            for name, rest in rests.items()
            if isinstance(rest, dict)
            and rest.keys() == _REST
            and all(isinstance(rest[name], int | float) for name in ("since", "until"))
        }

    @property
    def partly_simulated(self) -> bool:
        """Whether some calls may go to a real provider."""
        return self.simulated and any(name != "simulated" for name in providers_used(self.limits))

    @property
    def free(self) -> bool:
        """Whether all calls are simulated and cost nothing."""
        return self.simulated and not self.partly_simulated and not self.spent_usd

    @property
    def units_done(self) -> int:
        return self.units_completed + self.units_failed

    @property
    def running(self) -> bool:
        return self.status == BatchStatus.IN_PROGRESS


def _flights(text: str) -> str:
    """Returns the JSON if it is a list of pairs of numbers, else an empty list, since the file may be untrusted."""
    content = json.loads(text)
    pairs = isinstance(content, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, int) for one in pair) for pair in content
    )
    return text if pairs else "[]"


def _rules(text: str) -> str:
    """Returns the JSON if all limits are numbers, else an empty object, since the file may be untrusted."""
    content = json.loads(text)
    providers = content.get("providers", {}) if isinstance(content, dict) else None
    shaped = isinstance(providers, dict) and all(
        isinstance(provider, dict) and all(isinstance(provider.get(name, 0), int | float) for name in _LIMITS)
        for provider in providers.values()
    )
    return text if shaped and isinstance(content.get("budget_usd") or 0.0, int | float) else "{}"


_LIMITS = ("in_flight", "allowed", "max_concurrent", "requests_per_minute", "tokens_per_minute")
_REST = {"why", "since", "until", "down"}


def providers_used(limits: str) -> list[str]:
    """Returns the providers of the batch itself. `limits` may list more, because all batches of a study share accounts."""
    rules = json.loads(limits)
    asks = rules.get("asks")
    return list(map(str, asks)) if isinstance(asks, list) else list(rules.get("providers", {}))


LONGEST_NAME = 1_000
LONGEST_WORDS = 20_000
"""characters to read of a name, and of a description, an error or a log line, since texts of an untrusted file may be very long"""
MOST_BATCHES_SHOWN = 2_000

_BATCH_LINES = (
    f"SELECT b.number, b.id, b.kind, substr(b.name, 1, {LONGEST_NAME}) AS name, "
    f"substr(b.description, 1, {LONGEST_WORDS}) AS description, b.status, b.paused, "
    f"substr(b.reason, 1, {LONGEST_WORDS}) AS reason, b.seed, b.simulated, b.host, b.study_id, b.origin, b.headline, "
    "b.created_at, b.finished_at, p.units_total, p.units_completed, p.units_failed, p.calls, p.bought, p.cached, "
    "p.replayed, p.retried, p.failed, p.input_tokens, p.output_tokens, p.cost_usd, p.unpriced, p.seconds, "
    "p.call_seconds, p.peak_concurrency, p.heartbeat, p.heartbeat_at, p.in_flight, p.limits "
    "FROM batch b LEFT JOIN progress p ON p.batch_number = b.number"
)


def read_batch(connection: sqlite3.Connection, path: Path, batch_number: int) -> BatchLine | None:
    row = connection.execute(f"{_BATCH_LINES} WHERE b.number = ?", (batch_number,)).fetchone()
    return None if row is None else _batch_line(path, row)


def read_batches(connection: sqlite3.Connection, path: Path, most: int = MOST_BATCHES_SHOWN) -> list[BatchLine]:
    """Returns the batches of the file, newest first. `most` = -1 returns all."""
    rows = connection.execute(f"{_BATCH_LINES} ORDER BY b.number DESC LIMIT ?", (most,)).fetchall()
    return [_batch_line(path, row) for row in rows]


def _batch_line(path: Path, row: sqlite3.Row) -> BatchLine:
    names = [key for key in BatchLine.__dataclass_fields__ if key not in ("status", "cost_usd", "spent_usd", "cells")]
    values = {key: row[key] for key in names}
    values["paused"], values["simulated"] = bool(row["paused"]), bool(row["simulated"])
    return whole(
        BatchLine(
            status=status_now(path, row, row),
            cost_usd=None if row["unpriced"] else row["cost_usd"],
            spent_usd=row["cost_usd"],
            **values | {"in_flight": _flights(row["in_flight"]), "limits": _rules(row["limits"])},
        )
    )


def batch_number(connection: sqlite3.Connection, batch_id: str) -> int | None:
    number: int | None = value_of(connection, "SELECT number FROM batch WHERE id = ?", (batch_id,))
    return number


def changes(connection: sqlite3.Connection) -> int:
    """Returns a number that changes when another connection commits. While it stays the same, there is nothing new to read."""
    return int(value_of(connection, "PRAGMA data_version"))


@dataclass(frozen=True, slots=True)
class UnitLine:
    sequence_number: int
    participants: tuple[str, ...]
    status: str
    error: str | None
    game: int | None
    round: int | None


def unit_lines(connection: sqlite3.Connection, batch_number: int, first: int, last: int) -> list[UnitLine]:
    """Returns the started units among first..last."""
    rows = connection.execute(
        f"SELECT sequence_number, participants, status, substr(error, 1, {LONGEST_WORDS}), game, round FROM unit "
        "WHERE id BETWEEN ? AND ?",
        (unit_id(batch_number, first), unit_id(batch_number, last)),
    ).fetchall()
    return [whole(UnitLine(row[0], names_in(row[1]), *tuple(row)[2:])) for row in rows]


MOST_NAMES = 1_000


def names_in(participants: str) -> tuple[str, ...]:
    """Returns the participants, cut to what a screen can show."""
    return tuple(name[:LONGEST_NAME] for name in json.loads(participants)[:MOST_NAMES])


@dataclass(frozen=True, slots=True)
class WaveCell:
    """One call of the ledger, shown as a coloured cell."""

    sequence_number: int
    wave: int
    state: str
    """done, cached, retried or failed"""


def cells(
    connection: sqlite3.Connection, batch_number: int, first: int, last: int, most: int = 20_000
) -> list[WaveCell]:
    """Returns the calls of the units first..last, in the order in which each unit's calls were answered."""
    rows = connection.execute(
        "SELECT unit_id, wave, CASE WHEN status = 'failed' THEN 'failed' WHEN source = 'cache' THEN 'cached' "
        "WHEN attempts > 1 THEN 'retried' ELSE 'done' END FROM call WHERE unit_id BETWEEN ? AND ? "
        "ORDER BY unit_id, id LIMIT ?",
        (unit_id(batch_number, first), unit_id(batch_number, last), most),
    ).fetchall()
    return [WaveCell(sequence_number_of(row[0]), row[1], row[2]) for row in rows]


@dataclass(frozen=True, slots=True)
class WaveLine:
    wave: int
    calls: int
    failed: int
    cached: int
    retried: int
    seconds: float
    transport: str
    orders: tuple["ProviderBatchLine", ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderBatchLine:
    """A provider batch in the table of waves."""

    id: str
    provider: str
    state: str
    remote_state: str | None
    count: int
    wave: int
    created_at: float
    finished_at: float | None
    remote_id: str | None = None
    reservation_usd: float = 0.0

    @property
    def open(self) -> bool:
        return self.state in OPEN_PHASES


def wave_lines(
    connection: sqlite3.Connection, numbers: Sequence[int], skip: int = 0, most: int = 200
) -> tuple[int, list[WaveLine]]:
    """Returns the number of waves of these batches, and some waves summed over the batches, each with its provider batches."""
    batches = "FROM wave WHERE batch_number IN (SELECT value FROM json_each(?))"
    rows = connection.execute(
        f"SELECT wave, sum(calls), sum(failed), sum(cached), sum(retried), max(seconds), max(transport) {batches} "
        "GROUP BY wave ORDER BY wave LIMIT ? OFFSET ?",
        (json.dumps(numbers), most, skip),
    ).fetchall()
    orders = order_lines(connection, numbers[0]) if rows else []
    lines = [whole(replace(WaveLine(*row), orders=tuple(one for one in orders if one.wave == row[0]))) for row in rows]
    return int(value_of(connection, f"SELECT count(DISTINCT wave) {batches}", (json.dumps(numbers),))), lines


def order_lines(connection: sqlite3.Connection, batch_number: int, most: int = 1_000) -> list[ProviderBatchLine]:
    rows = connection.execute(
        "SELECT id, provider, state, remote_state, count, wave, created_at, finished_at, remote_id, reservation_usd "
        f"FROM provider_batch WHERE batch_number IN {STUDY_BATCHES_SQL} ORDER BY created_at DESC LIMIT :most",
        {"batch": batch_number, "most": most},
    ).fetchall()
    return [whole(ProviderBatchLine(*row)) for row in rows]


@dataclass(frozen=True, slots=True)
class LogLine:
    id: int
    at: float
    level: str
    message: str


def log_lines(
    connection: sqlite3.Connection, numbers: Sequence[int], after: int = 0, most: int = 2_000
) -> list[LogLine]:
    """Returns the newest log lines of these batches after row `after`, oldest first."""
    rows = connection.execute(
        f"SELECT id, at, substr(level, 1, {LONGEST_NAME}), substr(message, 1, {LONGEST_WORDS}) FROM log_line "
        "WHERE batch_number IN (SELECT value FROM json_each(?)) AND id > ? ORDER BY id DESC LIMIT ?",
        (json.dumps(numbers), after, most),
    ).fetchall()
    return [whole(LogLine(*row)) for row in reversed(rows)]
