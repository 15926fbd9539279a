"""The JSON summary of a study of several batches, from the file alone."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.design.study_statistics import study_statistics
from tidepool.engine.results.simulated_roles import merge_roles, simulated_roles
from tidepool.engine.results.summary import MOST_FAILURES, count_batch
from tidepool.engine.stopping.statistics import stopping_of
from tidepool.storage import studies
from tidepool.storage.batches import progress_of, status_now
from tidepool.storage.file import reading
from tidepool.storage.queries.summary import merge_failures
from tidepool.storage.states import BatchStatus, study_reason, study_status

StudySummary = dict[str, Any]
_SUMMED = ("units", "calls", "tokens", "replies")
_OF_CELLS = ("status", "reason", "seed", "simulated", "simulated_roles", "roles", "units", "calls", "cost_usd")


def read_study(reference: str = "last", database: str | Path = "tidepool.db") -> StudySummary:
    """The summary of a study that is in the file already. `reference` is its id, a unique prefix of one, or "last"."""
    return summarise_study(Path(database), reference)


def summarise_study(path: Path, reference: str, *, with_statistics: bool = True) -> StudySummary:
    with reading(path) as connection:
        study = studies.find_study(connection, reference)
        cells = studies.cells_of(connection, study.id)
        status, reason = status_of(path, [cell.batch for cell in cells])
        of_cells = [count_batch(path, connection, cell.batch) for cell in cells]
        sums: dict[str, Counter[str]] = {name: Counter() for name in _SUMMED}
        for one in of_cells:
            for name in _SUMMED:
                sums[name].update({key: value or 0 for key, value in one[name].items()})
        costs = [one["cost_usd"] for one in of_cells]
        roles = merge_roles(one["roles"] for one in of_cells)
        stops = [stopping_of(connection, cell.batch["number"]) for cell in cells]
        design = {name: value for name, value in study.design.items() if name != "source"}
        return {
            "study_id": study.id,
            "name": study.name,
            "kind": cells[0].batch["kind"],
            "status": status,
            "reason": reason,
            "simulated": any(one["simulated"] for one in of_cells),
            "simulated_roles": simulated_roles(roles),
            "roles": roles,
            "served_models": _served(of_cells),
            "failures": merge_failures(
                ({**failure, "batch_id": one["batch_id"]} for one in of_cells for failure in one["failures"]),
                MOST_FAILURES,
            ),
            "design": design,
            **{name: dict(counted) for name, counted in sums.items()},
            "cost_usd": None if None in costs else sum(costs),
            "calls_saved": sum(stop.calls_saved for stop in stops if stop is not None),
            "seconds": max(one["seconds"] for one in of_cells),
            "cells": [
                {
                    "batch_id": cell.batch["id"],
                    "replicate": cell.replicate,
                    "levels": cell.levels,
                    **{name: one[name] for name in _OF_CELLS},
                }
                for cell, one in zip(cells, of_cells, strict=True)
            ],
            "statistics": study_statistics(connection, {"id": study.id, "design": json.dumps(study.design)})
            if with_statistics
            else {},
        }


def _served(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Which models the providers say have answered, over all cells."""
    served: Counter[tuple[str, str]] = Counter()
    for one in cells:
        served.update({(row["model"], row["served"]): row["replies"] for row in one["served_models"]})
    return [{"model": model, "served": name, "replies": count} for (model, name), count in served.items()]


def status_of(path: Path, batches: Sequence[sqlite3.Row]) -> tuple[BatchStatus, str | None]:
    """Of a study: the gravest of its cells', or how much of them is complete."""
    with reading(path) as connection:
        states = [
            (BatchStatus(status_now(path, batch, progress_of(connection, batch["number"]))), batch["reason"])
            for batch in batches
        ]
    return study_status([status for status, _ in states]), study_reason(states)
