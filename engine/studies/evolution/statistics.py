"""The contract's statistics of an evolution, from the file alone; while it runs, of what there is so far."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.studies.evolution.inputs import settings_of
from tidepool.engine.studies.evolution.recorder import GENERATION, RESULT
from tidepool.storage.batches import progress_of
from tidepool.storage.study_rows.evolution import genome, genome_counts
from tidepool.storage.study_rows.findings import findings

_UNKNOWN = ("validation_accuracy", "validation_ci95", "validation_problems", "validation_missing", "models")


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig) -> dict[str, Any]:
    return {"strategy": settings_of(config).strategy, **report(connection, batch["number"])}


def report(connection: sqlite3.Connection, batch_number: int) -> dict[str, Any]:
    found = findings(connection, batch_number)
    generations = [content for name, content in found.items() if name.startswith(GENERATION)]
    result = found.get(RESULT) or _so_far(connection, batch_number, generations)
    return {
        "generations": generations,
        "baseline_calls": None,
        **result,
        "genomes": _genomes(connection, batch_number),
        "performance": _performance(connection, batch_number, result),
    }


def _so_far(connection: sqlite3.Connection, batch_number: int, generations: list[dict[str, Any]]) -> dict[str, Any]:
    """An unfinished run has a leader, but no honest word on it yet."""
    leaders = [_portrait(connection, batch_number, told["leader"]) for told in (generations[-1:] + generations[:1])]
    champion, baseline = leaders if leaders else (None, None)
    return {
        "champion": champion,
        "baseline": baseline,
        "p_value": None,
        "difference": None,
        "pairs": 0,
        "better": None,
        "stopped_by": None,
        "calls_saved_by_racing": None,
        "search_calls": sum(told["calls"] for told in generations),
        "random_search": None,
    }


def _portrait(connection: sqlite3.Connection, batch_number: int, genome_id: str) -> dict[str, Any] | None:
    row = genome(connection, batch_number, genome_id)
    return None if row is None else {**row, **dict.fromkeys(_UNKNOWN)}


def _genomes(connection: sqlite3.Connection, batch_number: int) -> dict[str, Any]:
    """`missing` is the share of their calls that failed, so a genome that was asked more counts more."""
    row = genome_counts(connection, batch_number)
    return {"total": row[0], "distinct_prompts": row[1], "missing": row[2]}


def _performance(connection: sqlite3.Connection, batch_number: int, result: dict[str, Any]) -> dict[str, Any]:
    row = progress_of(connection, batch_number)
    seconds, calls = row["seconds"], row["calls"]
    saved = result["calls_saved_by_racing"]
    unraced = result["search_calls"] + (saved or 0)
    return {
        "problems_per_second": calls / seconds if seconds else None,
        "cache_hits": row["cached"],
        "cache_hit_rate": row["cached"] / calls if calls else 0.0,
        "calls_saved_by_racing": saved,
        "calls_saved_percentage": 100 * saved / unraced if saved else None,
        "speedup_over_sequential": row["call_seconds"] / seconds if seconds and row["call_seconds"] else None,
    }
