"""What a batch's summary is made of, beside its progress row: waves, failures, and how its answers were bought."""

import sqlite3
from collections import Counter
from typing import Any

from tidepool.storage.states import ASKED, BESIDE_SQL
from tidepool.storage.unit_ids import unit_id

MOST_WAVES = 20_000
MOST_MODELS = 200
LONGEST_WORDS = 2_000


def waves_of(connection: sqlite3.Connection, batch_number: int) -> list[sqlite3.Row]:
    """The first of them: no study of ours has more, and a file of a stranger's may have millions."""
    query = "SELECT * FROM wave WHERE batch_number = ? ORDER BY wave LIMIT ?"
    return connection.execute(query, (batch_number, MOST_WAVES)).fetchall()


def failures_of(connection: sqlite3.Connection, batch_number: int, most: int) -> list[dict[str, Any]]:
    """Why units failed, the most frequent reason first, and where the first of each is to be read."""
    rows = connection.execute(
        f"SELECT substr(error, 1, {LONGEST_WORDS}) AS error, count(*) AS units, min(sequence_number) AS first FROM unit "
        "WHERE batch_number = ? AND status = 'failed' GROUP BY 1 ORDER BY units DESC, first LIMIT ?",
        (batch_number, most),
    )
    return [dict(row) for row in rows]


def asked_models(connection: sqlite3.Connection, batch_number: int) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """How many calls each model had; and which models the providers say have answered for it."""
    bounds = unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1
    rows = connection.execute(
        "SELECT model, served_model AS served, count(*) AS replies FROM call "
        f"WHERE unit_id BETWEEN ? AND ? AND {ASKED} GROUP BY model, served_model ORDER BY model, replies DESC, served LIMIT ?",
        (*bounds, MOST_MODELS),
    ).fetchall()
    calls: Counter[str] = Counter()
    for row in rows:
        calls[row["model"]] += row["replies"]
    return dict(calls.most_common()), [dict(row) for row in rows if row["served"] is not None]


def has_provider_batches(connection: sqlite3.Connection, batch_number: int) -> bool:
    query = f"SELECT 1 FROM provider_batch WHERE batch_number IN {BESIDE_SQL} LIMIT 1"
    return connection.execute(query, {"batch": batch_number}).fetchone() is not None


def answers_bought_live(connection: sqlite3.Connection, batch_number: int) -> int:
    """Counted one by one: no running counter tells them apart."""
    bounds = unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1
    query = "SELECT count(*) FROM call WHERE unit_id BETWEEN ? AND ? AND source = 'live' AND status = 'answered'"
    return int(connection.execute(query, bounds).fetchone()[0])


def conversations_of(connection: sqlite3.Connection, batch_id: str) -> int:
    """How many there are, ended or not."""
    query = "SELECT count(*) FROM conversations WHERE batch_id = ?"
    return int(connection.execute(query, (batch_id,)).fetchone()[0])


def moments_of(connection: sqlite3.Connection, batch_id: str) -> dict[str, str | None]:
    """When it was made, and when it last ended, as the views write it."""
    query = "SELECT created_at, finished_at FROM batches WHERE id = ?"
    return dict(connection.execute(query, (batch_id,)).fetchone() or {"created_at": None, "finished_at": None})
