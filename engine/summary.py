"""The JSON summary of a batch, from the file alone."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from engine.kinds import load_kind
from engine.reading import thaw
from storage.batches import find_batch, open_orders, progress_of, shown_status
from storage.file import reading


def summarise(path: Path, reference: str, *, with_statistics: bool = True) -> dict[str, Any]:
    with reading(path) as connection:
        batch = find_batch(connection, reference)
        progress = progress_of(connection, batch["number"])
        summary = _counted(path, connection, batch, progress)
        if with_statistics:
            summary["statistics"] = statistics_of(connection, batch)
    return summary


def statistics_of(connection: sqlite3.Connection, batch: sqlite3.Row) -> dict[str, Any]:
    config = thaw(batch["config"])
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
        "provider_batches": open_orders(connection, batch["number"]),
        "tokens": {"input": progress["input_tokens"], "output": progress["output_tokens"]},
        "cost_usd": None if progress["unpriced"] else progress["cost_usd"],
        "seconds": progress["seconds"],
        "performance": _performance(progress),
    }


def _performance(progress: sqlite3.Row) -> dict[str, Any]:
    seconds, bought, calls = progress["seconds"], progress["bought"], progress["calls"]
    return {
        "calls_per_second": calls / seconds if seconds else None,
        "cache_hit_rate": progress["cached"] / calls if calls else 0.0,
        "mean_latency": progress["call_seconds"] / bought if bought and progress["call_seconds"] else None,
        "peak_concurrency": progress["peak_concurrency"],
        "speedup_over_sequential": progress["call_seconds"] / seconds if seconds and progress["call_seconds"] else None,
    }
