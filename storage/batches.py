"""Creates, finds, resumes, controls and deletes batches in a study file.

Uses short synchronous transactions. The ledger handles everything that happens thousands of times a second.
"""

import json
import re
import secrets
import socket
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.storage import db
from tidepool.storage.errors import BatchLocked, FileError, NotFound
from tidepool.storage.file import BATCH_ID, is_held, lock_path, reading, settle, value_of, writing
from tidepool.storage.states import (
    GIVEN_UP,
    IN_FLIGHT,
    KILLED,
    OPEN_PHASES_SQL,
    STALE_SECONDS,
    STUDY_BATCHES_SQL,
    WAS_SENT,
    BatchStatus,
    CallStatus,
    StopCode,
    UnitStatus,
    unit_id,
    unit_range,
)
from tidepool.storage.text import one_line, storable

if TYPE_CHECKING:
    from filelock import FileLock


MOST_BATCHES = 1 << 30
"""limit for the number of a batch, which is part of a unit's id"""


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to be written."""

    kind: str
    name: str
    description: str
    seed: int
    config: str
    version: str


def insert_batch(
    connection: sqlite3.Connection,
    batch: NewBatch,
    origin: str | None = None,
    records: Iterable[tuple[str, int, str]] = (),
) -> tuple[str, int]:
    """Creates a pending batch within the caller's transaction. Returns its id and its number. A branch passes its `origin`, and
    the conversations that it continues as `records`."""
    batch_id = secrets.token_hex(6)
    own: dict[str, Any] = {"id": batch_id, "host": socket.gethostname(), "created_at": time.time(), "origin": origin}
    row = db.Batch(**asdict(batch), **own)
    number = checked_number(db.add(connection, row))
    db.add(connection, db.Progress(batch_number=number))
    for name, position, content in records:
        db.add(connection, db.Record(unit_id=unit_id(number, 0), name=name, position=position, content=content))
    return batch_id, number


def checked_number(number: int) -> int:
    """Checks the number of a new batch. Numbers are not reused, but only a changed file runs out of them."""
    if not 0 < number < MOST_BATCHES:
        raise FileError(
            "This file has no free batch numbers, because another program changed it. Import its batches into a new file."
        )
    return number


def parse_steps_back(reference: str) -> int | None:
    """Returns 0 for `last`, 1 for `last~1` (the batch before it), and None for any other reference."""
    matched = re.fullmatch(r"last(?:~([0-9]{1,6}))?", reference)
    return None if matched is None else int(matched[1] or 0)


def newest(connection: sqlite3.Connection, steps_back: int) -> list[sqlite3.Row]:
    """Returns the newest batch, or a batch of the newest study, counted back by rows of `tidepool list`, where a study is one row."""
    return connection.execute(
        "SELECT * FROM batch WHERE number = (SELECT max(number) AS newest FROM batch GROUP BY coalesce(study_id, id) "
        "ORDER BY newest DESC LIMIT 1 OFFSET ?)",
        (steps_back,),
    ).fetchall()


def by_prefix(connection: sqlite3.Connection, table: str, reference: str) -> list[sqlite3.Row]:
    """Returns the row with this id, or the first rows whose ids begin with it."""
    pattern = re.sub(r"([\\%_])", r"\\\1", reference) + "%"
    query = f"SELECT * FROM {table} WHERE id LIKE ? ESCAPE '\\' LIMIT 9"
    rows = connection.execute(query, (pattern,)).fetchall() if reference else []
    return [row for row in rows if row["id"] == reference] or rows


def all_batches(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    return connection.execute("SELECT * FROM batch ORDER BY number").fetchall()


def find_batch(connection: sqlite3.Connection, reference: str) -> sqlite3.Row:
    """Finds a batch by its id, a unique prefix, `last`, or `last~1` for the batch before it. Raises NotFound for a study."""
    if (steps_back := parse_steps_back(reference)) is not None:
        rows = newest(connection, steps_back)
        if rows and rows[0]["study_id"]:
            _refuse_study(connection, reference, rows[0]["study_id"])
    else:
        rows = by_prefix(connection, "batch", reference)
    if not rows:
        for study in by_prefix(connection, "study", reference)[:1]:
            _refuse_study(connection, reference, study["id"])
        counted = " A study with several batches counts as one." if parse_steps_back(reference) else ""
        raise NotFound(
            f"There is no batch {reference!r} in this file. `tidepool list` shows the batches of this file.{counted}"
        )
    if len(rows) > 1:
        ids = ", ".join(row["id"] for row in rows)
        raise NotFound(f"{reference!r} matches several batches ({ids}). Type more of the id.")
    batch: sqlite3.Row = rows[0]
    if not BATCH_ID.match(batch["id"]):
        raise FileError("A batch in this file has an invalid id. Another program changed the file, so do not trust it.")
    return batch


def _refuse_study(connection: sqlite3.Connection, reference: str, study_id: str) -> None:
    """Raises NotFound with the ids of the study's batches. Accepts `last` for a study of one batch."""
    cells = connection.execute(
        "SELECT b.id, substr(b.name, 1, 200), s.name FROM batch b LEFT JOIN study s ON s.id = b.study_id WHERE b.study_id = ? "
        "ORDER BY b.number",
        (study_id,),
    ).fetchall()
    if len(cells) == 1 and parse_steps_back(reference) is not None:
        return
    cell_names = [f"{one_line(cell[0])} ({one_line(str(cell[1]).removeprefix(f'{cell[2]} · '))})" for cell in cells]
    raise NotFound(
        f"{reference} is a study of {len(cells):,} batches, and this command needs one of them, such as "
        f"{', '.join(cell_names[:MOST_NAMED])}. `tidepool list --cells` lists all."
    )


MOST_NAMED = 3
"""batches of a study that an error lists"""


def batch_numbered(connection: sqlite3.Connection, batch_number: int) -> sqlite3.Row:
    row: sqlite3.Row = connection.execute("SELECT * FROM batch WHERE number = ?", (batch_number,)).fetchone()
    return row


def progress_of(connection: sqlite3.Connection, batch_number: int) -> sqlite3.Row:
    row: sqlite3.Row = connection.execute("SELECT * FROM progress WHERE batch_number = ?", (batch_number,)).fetchone()
    return row


def is_running(path: Path, batch: sqlite3.Row, progress: sqlite3.Row) -> bool:
    """Whether a process runs the batch. Checks the lock on this host, and the heartbeat elsewhere."""
    if batch["status"] != BatchStatus.IN_PROGRESS:
        return False
    if batch["host"] == socket.gethostname():
        return is_held(path, str(batch["study_id"] or batch["id"]))
    # The age may be negative after a clock was set back, and an untrusted file may contain any time.
    return bool(abs(time.time() - progress["heartbeat_at"]) <= STALE_SECONDS)


def begin(path: Path, batch_id: str, *, simulated: bool) -> None:
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        db.change(
            connection,
            db.Batch,
            {"number": number},
            status=BatchStatus.IN_PROGRESS,
            **dict.fromkeys(("reason", "stop_code", "finished_at")),
            paused=False,
            host=socket.gethostname(),
            simulated=simulated,
        )
        db.change(connection, db.Progress, {"batch_number": number}, heartbeat_at=time.time(), replayed=0)
        count_in_flight_as_bought(connection, number)
        discard_commands(connection, batch_id)


def count_in_flight_as_bought(connection: sqlite3.Connection, batch_number: int) -> int:
    """Counts the calls that were in flight as bought, because they may have been charged. Call this when no process runs the batch."""
    rows_in_flight = "FROM surplus WHERE batch_number = ? AND reason = ?"
    calls, cost, unpriced = connection.execute(
        f"SELECT count(*), coalesce(sum(cost_usd), 0), coalesce(sum(cost_usd IS NULL), 0) {rows_in_flight}",
        (batch_number, IN_FLIGHT),
    ).fetchone()
    db.change(
        connection,
        db.Progress,
        {"batch_number": batch_number},
        bought=db.col(db.Progress.bought) + calls,
        cost_usd=db.col(db.Progress.cost_usd) + cost,
        unpriced=db.col(db.Progress.unpriced) + unpriced,
        in_flight="[]",
        in_flight_usd=0.0,
    )
    db.change(connection, db.Surplus, {"batch_number": batch_number, "reason": IN_FLIGHT}, reason=KILLED)
    return int(calls)


def discard_commands(connection: sqlite3.Connection, batch_id: str) -> None:
    """Marks commands to an earlier process as read."""
    number = find_batch(connection, batch_id)["number"]
    db.change(connection, db.Control, {"batch_number": number, "taken_at": None}, taken_at=time.time())


def rewrite_configs(path: Path, configs: Mapping[str, str], note: str = "") -> None:
    """Stores changed limits for the next resume, and adds `note` to the log of each batch."""
    with writing(path) as connection:
        for batch_id, config in configs.items():
            db.change(connection, db.Batch, {"id": batch_id}, config=config)
            if note:
                number = find_batch(connection, batch_id)["number"]
                db.add(
                    connection, db.LogLine(batch_number=number, at=time.time(), level="info", message=storable(note))
                )


def replies_of(connection: sqlite3.Connection, batch_number: int) -> Iterator[tuple[bytes, str, bytes | None]]:
    """Yields each reply of the batch: the key of its request, its text and its seal."""
    bounds = unit_range(batch_number)
    query = "SELECT key, text, seal FROM call WHERE unit_id BETWEEN ? AND ? AND status = 'answered'"
    return ((row["key"], row["text"], row["seal"]) for row in connection.execute(query, bounds))


def seal_replies(connection: sqlite3.Connection, batch_id: str, seal: Callable[[bytes, str], bytes]) -> None:
    """Seals all replies of the batch as the user's own."""
    number = find_batch(connection, batch_id)["number"]
    bounds = unit_range(number)
    rows = connection.execute(
        "SELECT key, text, id FROM call WHERE unit_id BETWEEN ? AND ? AND status = 'answered'", bounds
    ).fetchall()
    statement = db.update(db.Call).where(db.col(db.Call.id) == db.bindparam("call")).values(seal=db.bindparam("mark"))
    db.execute(connection, statement, [{"call": identity, "mark": seal(key, text)} for key, text, identity in rows])


def end(
    path: Path,
    batch_id: str,
    *,
    status: BatchStatus,
    reason: str | None,
    stop_code: StopCode | None = None,
    headline: str | None = None,
) -> None:
    """Ends a batch. `reason` explains an early end to people, `stop_code` to programs."""
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        ending = {"status": status, "reason": reason and storable(reason), "stop_code": stop_code, "headline": headline}
        db.change(connection, db.Batch, {"number": number}, **ending, paused=False, finished_at=time.time())
        count_in_flight_as_bought(connection, number)


def reopen_failures(path: Path, batch_id: str) -> int:
    """Reopens failed units, unless another unit has read their outcome, so that a resume retries them. Paid replies stay recorded."""
    provider = db.func.substr(db.Call.model, 1, db.func.instr(db.Call.model, ":") - 1)
    copied = ("unit_id", "step", "text", "input_tokens", "output_tokens", "cost_usd", "at")
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        failed = connection.execute(
            "SELECT id FROM unit WHERE batch_number = ? AND status = 'failed' AND NOT sealed", (number,)
        ).fetchall()
        for (unit,) in failed:
            failed_call = (db.col(db.Call.unit_id) == unit, db.col(db.Call.status) == CallStatus.FAILED)
            paid = db.select(
                *(db.literal(number), db.func.coalesce(db.Call.order_id, provider)),
                *(getattr(db.Call, name) for name in copied),
                db.col(db.Call.finish_reason),
            ).where(*failed_call, db.col(db.Call.finish_reason).is_not(None))
            names = ["batch_number", "order_id", *copied, "reason"]
            db.execute(connection, db.insert(db.Surplus).from_select(names, paid))
            db.execute(connection, db.delete(db.Call).where(*failed_call))
            db.execute(connection, db.delete(db.Measure).where(db.col(db.Measure.unit_id) == unit))
            db.change(connection, db.Unit, {"id": unit}, status=UnitStatus.IN_PROGRESS, error=None)
        recount(connection, number)
    return len(failed)


def recount(connection: sqlite3.Connection, batch_number: int) -> None:
    """Recomputes the running counters from the ledger."""
    bounds = unit_range(batch_number)
    totals = connection.execute(
        "SELECT count(*), coalesce(sum(status = 'failed'), 0), "
        "coalesce(sum(status = 'answered' AND source = 'cache'), 0), "
        "coalesce(sum((status = 'answered' OR finish_reason IS NOT NULL) AND source <> 'cache'), 0) "
        f"FROM call WHERE unit_id BETWEEN ? AND ? AND {WAS_SENT}",
        bounds,
    ).fetchone()
    surplus = value_of(
        connection, "SELECT count(*) FROM surplus WHERE batch_number = ? AND reason IS NOT ?", (batch_number, IN_FLIGHT)
    )
    units = connection.execute(
        "SELECT coalesce(sum(status = 'completed'), 0), coalesce(sum(status = 'failed'), 0) FROM unit "
        "WHERE batch_number = ? AND sequence_number > 0",
        (batch_number,),
    ).fetchone()
    calls, failed, cached, answered = totals
    bought = db.func.max(db.col(db.Progress.bought), answered + surplus)
    counts = {"calls": calls, "failed": failed, "cached": cached, "bought": bought}
    unit_counts = {"units_completed": units[0], "units_failed": units[1]}
    key = {"batch_number": batch_number}
    db.change(connection, db.Progress, key, **counts, **unit_counts)
    db.change(connection, db.Wave, key, calls=0, failed=0, cached=0)
    for row in connection.execute(
        "SELECT wave, count(*) AS calls, sum(status = 'failed') AS failed, sum(source = 'cache') AS cached "
        f"FROM call WHERE unit_id BETWEEN ? AND ? AND {WAS_SENT} GROUP BY wave",
        bounds,
    ).fetchall():
        counts = {name: row[name] for name in ("calls", "failed", "cached")}
        db.change(connection, db.Wave, {**key, "wave": row["wave"]}, **counts)


def send_command(path: Path, batch_number: int, command: str, arguments: dict[str, Any] | None = None) -> None:
    row = db.Control(batch_number=batch_number, at=time.time(), command=command, arguments=json.dumps(arguments or {}))
    with writing(path) as connection:
        db.add(connection, row)


def status_now(path: Path, batch: sqlite3.Row, progress: sqlite3.Row) -> str:
    """Returns the status, which is `interrupted` for a batch whose process died."""
    if batch["status"] != BatchStatus.IN_PROGRESS or is_running(path, batch, progress):
        return str(batch["status"])
    with reading(path) as connection:  # it may have ended since its row was read
        now = value_of(connection, "SELECT status FROM batch WHERE id = ?", (batch["id"],))
    return BatchStatus.INTERRUPTED if now in (None, BatchStatus.IN_PROGRESS) else str(now)


def refuse_running(path: Path, reference: str) -> sqlite3.Row:
    """Returns the batch. Raises BatchLocked if a process runs it."""
    with reading(path) as connection:
        batch = find_batch(connection, reference)
        if is_running(path, batch, progress_of(connection, batch["number"])):
            raise BatchLocked(f"Batch {batch['id']} is running. Stop it first: `tidepool stop {batch['id']}`.")
    return batch


def delete_batch(path: Path, reference: str) -> str:
    """Deletes a batch while holding its lock, so that no process can start to run it."""
    batch_id = str(refuse_running(path, reference)["id"])
    with holding(path, batch_id), writing(path) as connection:
        delete_rows(connection, find_batch(connection, batch_id)["number"])
    settle(path)
    return batch_id


def delete_rows(connection: sqlite3.Connection, number: int) -> None:
    """Deletes all rows of a batch, and the shared rows that only this batch used."""
    bounds = unit_range(number)
    for table in db.tables_with("batch_number"):
        db.execute(connection, db.delete(table).where(table.c.batch_number == number))
    for table in db.tables_with("unit_id"):
        db.execute(connection, db.delete(table).where(table.c.unit_id.between(*bounds)))
    batch, study, call, prompt = (db.table_of(model) for model in (db.Batch, db.Study, db.Call, db.Prompt))
    db.execute(connection, db.delete(batch).where(batch.c.number == number))
    studies = db.select(batch.c.study_id).where(batch.c.study_id.is_not(None))
    db.execute(connection, db.delete(study).where(study.c.id.not_in(studies)))
    used = db.select(call.c.prompt).where(call.c.prompt.is_not(None))
    db.execute(
        connection, db.delete(prompt).where(~db.exists(db.select(1).select_from(batch)) | prompt.c.hash.not_in(used))
    )


def give_up_later(path: Path, order_id: str) -> None:
    """Marks a provider batch, so that the next run of its batch stops waiting for it."""
    with writing(path) as connection:
        db.change(connection, db.ProviderBatch, {"id": order_id}, remote_state=GIVEN_UP)


def open_provider_batches(connection: sqlite3.Connection, batch_number: int) -> list[dict[str, Any]]:
    """Returns the provider batches that a batch waits for, or will wait for when it is resumed."""
    rows = connection.execute(
        "SELECT provider, remote_id, coalesce(remote_state, state) AS state, count, created_at FROM provider_batch "
        f"WHERE batch_number IN {STUDY_BATCHES_SQL} AND state IN {OPEN_PHASES_SQL} ORDER BY created_at",
        {"batch": batch_number},
    ).fetchall()
    return [
        {
            "provider": row["provider"],
            "id": row["remote_id"],
            "state": row["state"],
            "calls": row["count"],
            "seconds": max(0.0, time.time() - row["created_at"]),
        }
        for row in rows
    ]


# -- Locks -------------------------------------------------------------------------------------------------------------


HEARTBEAT_SECONDS = 1.0
PROBE_SECONDS = 1.0
"""longer than a process holds a lock only to check whether it is free"""


@contextmanager
def holding(path: Path, batch_id: str) -> Iterator[None]:
    """Holds the lock of a batch, or of its study. Raises BatchLocked at once if another process holds it.

    The lock is released when its process dies, however it dies, and a copy of the file does not include it. The holder removes
    the lock file before it releases the lock. `filelock` retries if it locked a file that was just removed.
    """
    _refuse_second_host(path, batch_id)
    with reading(path) as connection:  # all batches of a study run together, under one lock with the study's id
        study_id = value_of(connection, "SELECT study_id FROM batch WHERE id = ?", (batch_id,))
    where = lock_path(path, study_id or batch_id)
    lock = _acquired(where, batch_id)
    try:
        yield
    finally:
        where.unlink(missing_ok=True)
        lock.release()


def _acquired(lock_file: Path, batch_id: str) -> "FileLock":
    from filelock import FileLock, Timeout

    lock = FileLock(lock_file, timeout=PROBE_SECONDS)
    try:
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise BatchLocked(
            f"Batch {batch_id} is already running in another process. Watch it with `tidepool show {batch_id}`, "
            f"or stop it with `tidepool stop {batch_id}`."
        ) from None
    return lock


def _refuse_second_host(path: Path, batch_id: str) -> None:
    """Raises BatchLocked if another host runs the batch. Watches the heartbeat, because locks do not work across a network share
    and clocks differ."""
    query = (
        "SELECT b.host, b.status, p.heartbeat FROM batch b JOIN progress p ON p.batch_number = b.number "
        "WHERE b.id = ? OR b.study_id = ? ORDER BY b.status = 'in_progress' DESC"
    )
    with reading(path) as connection:
        before = connection.execute(query, (batch_id, batch_id)).fetchone()
        if (
            before is None
            or before["status"] != BatchStatus.IN_PROGRESS
            or before["host"] in (None, socket.gethostname())
        ):
            return
        time.sleep(3 * HEARTBEAT_SECONDS)
        after = connection.execute(query, (batch_id, batch_id)).fetchone()
    if after["heartbeat"] != before["heartbeat"]:
        raise BatchLocked(
            f"Batch {batch_id} is running on the host {before['host']}, which shares this file. "
            "Stop it there, or use a copy of the file."
        )
