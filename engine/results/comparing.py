"""`tidepool compare`: the statistics of several batches of one kind, side by side.

What a kind can say beyond that (is the difference more than chance?) stands in its `comparison.py`.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.branching.kind import kind_of
from tidepool.engine.errors import UsageError
from tidepool.engine.results.summary import summarise
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading

SHOWN = (
    "batch_id",
    "name",
    "kind",
    "status",
    "seed",
    "origin",
    "simulated",
    "simulated_roles",
    "roles",
    "units",
    "calls",
    "tokens",
    "cost_usd",
    "seconds",
    "statistics",
)


def compare(database: Path, references: Sequence[str]) -> dict[str, Any]:
    with reading(database) as connection:
        batches = [find_batch(connection, reference) for reference in references]
        _check(batches)
        _refuse_mixed(batches)
        summaries = [summarise(database, batch["id"]) for batch in batches]
        return {
            "kind": batches[0]["kind"],
            "batches": [{name: summary[name] for name in SHOWN} for summary in summaries],
            "rows": side_by_side([summary["statistics"] for summary in summaries]),
            "differences": _differences(connection, batches),
        }


def _check(batches: Sequence[sqlite3.Row]) -> None:
    ids = [batch["id"] for batch in batches]
    if len(set(ids)) < 2:
        raise UsageError("compare needs at least two different batches, such as `tidepool compare last~1 last`.")
    if len(set(ids)) < len(ids):
        raise UsageError("One of these batches is named twice. Name each once.")
    kinds = {batch["kind"] for batch in batches}
    if len(kinds) > 1:
        raise UsageError(f"Batches of different kinds have nothing in common to compare: {', '.join(sorted(kinds))}.")


def _refuse_mixed(batches: Sequence[sqlite3.Row]) -> None:
    branches = [batch["id"] for batch in batches if batch["origin"] is not None]
    if 0 < len(branches) < len(batches):
        raise UsageError(
            f"Batch {branches[0]} is a branch: its units are redraws of talks, and no talks to compare with others. Its control and "
            f"its effect stand in `tidepool show {branches[0]}`."
        )


def _differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    own = kind_of(batches[0]).differences
    return own(connection, batches) if own else []


def side_by_side(statistics: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every number that the statistics hold, by its place in them; None where a batch has none there."""
    flat = [dict(numbers_in(found)) for found in statistics]
    names = dict.fromkeys(name for numbers in flat for name in numbers)
    return [{"name": name, "values": [numbers.get(name) for numbers in flat]} for name in names]


def numbers_in(found: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, float]]:
    """`agents.Ada.score`: mappings are followed, lists (intervals, series, rankings) are not."""
    for key, value in found.items():
        if isinstance(value, Mapping):
            yield from numbers_in(value, f"{place}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{place}{key}", value
