"""The JSON summary of a batch, from the file alone."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.batches import find_batch, open_provider_batches, progress_of, shown_status
from tidepool.storage.file import reading
from tidepool.storage.unit_ids import unit_id


def summarise(path: Path, reference: str, *, with_statistics: bool = True) -> dict[str, Any]:
    with reading(path) as connection:
        batch = find_batch(connection, reference)
        progress = progress_of(connection, batch["number"])
        summary = _counted(path, connection, batch, progress)
        if with_statistics:
            summary["statistics"] = statistics_of(connection, batch)
    return summary


def statistics_of(connection: sqlite3.Connection, batch: sqlite3.Row) -> dict[str, Any]:
    config = load_frozen(batch["config"])
    return load_kind(batch["kind"]).statistics(connection, dict(batch), config)


def _counted(path: Path, connection: sqlite3.Connection, batch: sqlite3.Row, progress: sqlite3.Row) -> dict[str, Any]:
    return {
        "batch_id": batch["id"],
        "name": batch["name"],
        "kind": batch["kind"],
        "status": shown_status(path, batch),
        "paused": bool(batch["paused"]),
        "reason": batch["reason"],
        "seed": batch["seed"],
        "simulated": bool(batch["simulated"]),
        "metadata": json.loads(batch["config"])["batch"]["metadata"],
        "units": {
            "total": progress["units_total"],
            "completed": progress["units_completed"],
            "failed": progress["units_failed"],
        },
        "calls": {
            "total": progress["calls"],
            **{name: progress[name] for name in ("bought", "cached", "replayed", "retried", "failed")},
        },
        "waves": [
            {
                "index": wave["wave"],
                "calls": wave["calls"],
                "failed": wave["failed"],
                "seconds": wave["seconds"],
                "seconds_per_message": wave["seconds"] / wave["calls"] if wave["calls"] else None,
                "transport": wave["transport"],
            }
            for wave in connection.execute(
                "SELECT * FROM wave WHERE batch_number = ? ORDER BY wave", (batch["number"],)
            )
        ],
        "failures": _failures(connection, batch["number"]),
        "provider_batches": open_provider_batches(connection, batch["number"]),
        "tokens": {"input": progress["input_tokens"], "output": progress["output_tokens"]},
        "cost_usd": None if progress["unpriced"] else progress["cost_usd"],
        "seconds": progress["seconds"],
        "performance": _performance(progress, _live_calls(connection, batch["number"], progress)),
    }


MOST_FAILURES = 5


def _failures(connection: sqlite3.Connection, batch_number: int) -> list[dict[str, Any]]:
    """Why units failed, the most frequent reason first, and where the first of each is to be read."""
    rows = connection.execute(
        "SELECT error, count(*) AS units, min(sequence_number) AS first FROM unit "
        "WHERE batch_number = ? AND status = 'failed' GROUP BY error ORDER BY units DESC, first LIMIT ?",
        (batch_number, MOST_FAILURES),
    )
    return [dict(row) for row in rows]


def _live_calls(connection: sqlite3.Connection, batch_number: int, progress: sqlite3.Row) -> int:
    """Answers bought live. They are counted one by one only where some came from provider batches."""
    ordered = connection.execute("SELECT 1 FROM provider_batch WHERE batch_number = ? LIMIT 1", (batch_number,))
    if not progress["call_seconds"] or ordered.fetchone() is None:
        return int(progress["bought"])
    bounds = unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1
    counted = "SELECT count(*) FROM call WHERE unit_id BETWEEN ? AND ? AND source = 'live' AND status = 'answered'"
    return int(connection.execute(counted, bounds).fetchone()[0])


def _performance(progress: sqlite3.Row, live: int) -> dict[str, Any]:
    seconds, calls = progress["seconds"], progress["calls"]
    return {
        "calls_per_second": calls / seconds if seconds else None,
        "cache_hit_rate": progress["cached"] / calls if calls else 0.0,
        "mean_latency": progress["call_seconds"] / live if live and progress["call_seconds"] else None,
        "peak_concurrency": progress["peak_concurrency"],
        "speedup_over_sequential": progress["call_seconds"] / seconds if seconds and progress["call_seconds"] else None,
    }
