"""The JSON summary of a batch, made from the study file alone, and its headline.

A running batch has preliminary results: its statistics on the first completed units, which are fast to compute. The headline of
an ended batch is stored with it, so a list of batches needs no statistics."""

import json
import sqlite3
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tidepool.engine.branching.results import results_of
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.reports.blocks import Block, Figure, Headline, Table, as_json, read_headline
from tidepool.engine.results.batch_summary import Summary
from tidepool.engine.results.simulated_roles import roles_asked, simulated_roles
from tidepool.engine.runtime.stop_results import stopping_statistics
from tidepool.engine.studies.branches import read_origin
from tidepool.storage.batches import find_batch, open_provider_batches, progress_of, status_now
from tidepool.storage.errors import TidepoolError
from tidepool.storage.file import reading
from tidepool.storage.queries.summary import (
    answers_bought_live,
    failures_of,
    has_provider_batches,
    model_counts,
    moments_of,
    waves_of,
)
from tidepool.storage.queries.units import only_first_units
from tidepool.storage.queries.watching import LONGEST_NAME, LONGEST_WORDS
from tidepool.storage.states import BatchStatus


def read_summary(reference: str = "last", database: str | Path = "tidepool.db") -> Summary:
    """Returns the summary of a stored batch, which may be running, stopped or ended.

    `reference` is an id, a unique prefix of one, or "last".
    """
    return summarise(Path(database), reference)


def summarise(path: Path, reference: str, *, with_statistics: bool = True) -> Summary:
    with reading(path) as connection:
        batch = find_batch(connection, reference)
        summary = count_batch(path, connection, batch)
        if with_statistics:
            summary["statistics"] = statistics_of(connection, batch)
    return Summary(summary, path)


def statistics_of(connection: sqlite3.Connection, batch: sqlite3.Row) -> dict[str, Any]:
    config = StoredConfig(batch["config"])
    try:
        results = results_of(batch)
        statistics = results.statistics(connection, dict(batch), config)
        statistics |= stopping_statistics(connection, batch["number"])
        _name_estimands(statistics, results.estimand(statistics) if statistics else "")
        return statistics
    except (AttributeError, LookupError, TypeError, ValueError):
        # The config of an untrusted file may be invalid. Loading it raises an error that names the problem.
        from tidepool.engine.config.freezing import load_frozen

        load_frozen(batch["config"])
        raise


def _name_estimands(node: Any, estimand: str) -> None:
    """Adds the estimand to each object with an interval."""
    if isinstance(node, dict):
        estimand = node.get("estimand", estimand)
        if any(key.endswith("ci95") or key == "interval" for key in node):
            node.setdefault("estimand", estimand)
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _name_estimands(inner, estimand)


def count_batch(path: Path, connection: sqlite3.Connection, batch: sqlite3.Row) -> dict[str, Any]:
    """Returns the summary without statistics."""
    progress = progress_of(connection, batch["number"])
    config = json.loads(batch["config"])
    calls_by_model, served = model_counts(connection, batch["number"])
    roles = roles_asked(batch["kind"], config, calls_by_model)
    status = status_now(path, batch, progress)
    return {
        "batch_id": batch["id"],
        "name": batch["name"][:LONGEST_NAME],
        "kind": batch["kind"],
        "status": status,
        "paused": bool(batch["paused"]),
        "reason": batch["reason"] and batch["reason"][:LONGEST_WORDS],
        "seed": batch["seed"],
        "simulated": any(role["simulated"] for role in roles) if roles else bool(batch["simulated"]),
        "simulated_roles": simulated_roles(roles),
        "roles": roles,
        "metadata": config["batch"]["metadata"],
        "version": batch["version"],
        **moments_of(connection, batch["id"]),
        "origin": None if (origin := read_origin(batch["origin"])) is None else asdict(origin),
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
            for wave in waves_of(connection, batch["number"])
        ],
        "replies": {name: progress[name] for name in ("cut", "unusable", "usage_missing")},
        "served_models": served,
        "failures": failures_of(connection, batch["number"], MOST_FAILURES),
        "provider_batches": open_provider_batches(connection, batch["number"]),
        "tokens": {name: progress[f"{name}_tokens"] for name in ("input", "output", "reasoning")},
        "cost_usd": None if progress["unpriced"] else progress["cost_usd"],
        "seconds": progress["seconds"],
        "performance": _performance(connection, batch["number"], progress),
    }


MOST_FAILURES = 5


def _performance(connection: sqlite3.Connection, batch_number: int, progress: sqlite3.Row) -> dict[str, Any]:
    seconds, calls, live = progress["seconds"], progress["calls"], int(progress["bought"])
    if progress["call_seconds"] and has_provider_batches(connection, batch_number):
        live = answers_bought_live(connection, batch_number)  # slow: counts the rows
    return {
        "calls_per_second": calls / seconds if seconds else None,
        "cache_hit_rate": progress["cached"] / calls if calls else 0.0,
        "mean_latency": progress["call_seconds"] / live if live and progress["call_seconds"] else None,
        "peak_concurrency": progress["peak_concurrency"],
        "calls_in_flight_mean": progress["call_seconds"] / seconds if seconds and progress["call_seconds"] else None,
        "speedup_over_sequential": None,  # only `tidepool bench CONFIG` measures it, with a sequential run
    }


MOST_UNITS = 2_000


def findings_so_far(connection: sqlite3.Connection, batch: sqlite3.Row) -> tuple[Headline | None, list[Block]]:
    """Returns the headline, a figure and a table of the first 2,000 completed units in planned order."""
    with only_first_units(connection, batch["number"], MOST_UNITS) as cut:
        statistics = statistics_of(connection, batch)
    results = results_of(batch)
    headline, blocks = results.headline(statistics), results.blocks(statistics)
    if headline is None or getattr(headline.figure, "value", 0) is None:
        return None, []
    shown = [next((block for block in blocks if isinstance(block, kind)), None) for kind in (Figure, Table)]
    note = f"so far, first {MOST_UNITS:,} units" if cut else "so far"
    return replace(headline, words=", ".join(filter(None, (note, headline.words)))), [one for one in shown if one]


def headline_of(connection: sqlite3.Connection, batch: sqlite3.Row) -> str | None:
    """Returns the headline of an ended batch as JSON, or None if the statistics cannot be computed."""
    try:
        headline = results_of(batch).headline(statistics_of(connection, batch))
    except (TidepoolError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # the batch still ends, and its report shows the problem
    return None if headline is None else json.dumps(as_json(headline), ensure_ascii=False)


def stored_headline(batch: sqlite3.Row) -> Headline | None:
    """Returns the stored headline, or None if it is missing or the batch is running again."""
    return None if batch["status"] == BatchStatus.IN_PROGRESS else read_headline(batch["headline"])
