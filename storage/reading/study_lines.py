"""Studies in a list of batches: one line for each, in the place of its newest batch, with its cells beneath."""

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tidepool.storage.lock_files import BATCH_ID
from tidepool.storage.reading.queries import BatchLine
from tidepool.storage.reading.watching import LONGEST_NAME, Watched, providers_asked
from tidepool.storage.states import study_reason, study_status

Line = TypeVar("Line", BatchLine, Watched)

_PROVIDER = re.compile(r"(?:(?<=^)|(?<=, ))[\w-]+:(?=\S)")
_SUMMED = (
    *("units_total", "units_completed", "units_failed", "calls", "bought", "cached", "replayed", "retried", "failed"),
    *("input_tokens", "output_tokens", "spent_usd", "call_seconds"),
)


def with_studies(connection: sqlite3.Connection, lines: Sequence[Line]) -> list[Line]:
    """The lines as they come, each study's before its cells, which follow in the order in which they were made. What says that
    it belongs to a study which is not there, as no file of ours does, stands by itself."""
    if not any(line.study_id for line in lines):
        return list(lines)
    rows = connection.execute(f"SELECT id, substr(name, 1, {LONGEST_NAME}) FROM study").fetchall()
    names = {row[0]: row[1] for row in rows if isinstance(row[0], str) and BATCH_ID.match(row[0])}
    lines = [line if line.study_id in names else replace(line, study_id=None) for line in lines]
    cells: dict[str, list[Line]] = {}
    for line in lines:
        if line.study_id:
            cells.setdefault(line.study_id, []).insert(0, line)
    found: list[Line] = []
    told: set[str] = set()
    for line in lines:
        if not line.study_id:
            found.append(line)
        elif line.study_id not in told:
            told.add(line.study_id)
            beneath: list[Line] = cells[line.study_id]
            found.append(study_line(beneath, line.study_id, names[line.study_id]))
            found += beneath
    return found


def cell_name(name: str, study: str, room: int) -> str:
    """What of a cell's name is its own; where there is little room, without its models' providers."""
    own = name.removeprefix(f"{study} · ")
    return own if len(own) <= room else _PROVIDER.sub("", own).replace(" · replicate ", " · ")


def study_line(cells: Sequence[Line], study_id: str, name: str) -> Line:
    """What its cells come to together. Its number is that of its first batch, below zero: so it meets no batch's."""
    first, running = cells[0], next((cell for cell in cells if cell.status == "in_progress"), cells[-1])
    ends = [cell.finished_at for cell in cells]
    costs = [cell.cost_usd for cell in cells]
    values: dict[str, Any] = {
        "id": study_id,
        "name": name,
        "number": -min(cell.number for cell in cells),
        "status": study_status([cell.status for cell in cells]),
        "paused": any(cell.paused and cell.status == "in_progress" for cell in cells),
        "reason": study_reason([(cell.status, cell.reason) for cell in cells]),
        "simulated": any(cell.simulated for cell in cells),
        "created_at": min(cell.created_at for cell in cells),
        "finished_at": None if None in ends else max(end for end in ends if end is not None),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        "seconds": max(cell.seconds for cell in cells),
        "study_id": None,
        "seed": first.seed,
        "cells": len(cells),
        **_simulated(cells, running),
        **{name: sum(getattr(cell, name) for cell in cells) for name in _SUMMED if hasattr(first, name)},
    }
    return replace(running, **values)


def _simulated(cells: Sequence[Line], running: Line) -> dict[str, Any]:
    """Who is asked by any of the cells, in the form that the line has it."""
    if not isinstance(running, Watched):
        real = any(not cell.simulated or (isinstance(cell, BatchLine) and cell.partly_simulated) for cell in cells)
        return {"partly_simulated": real and any(cell.simulated for cell in cells)}
    asks = {name for cell in cells if isinstance(cell, Watched) for name in providers_asked(cell.limits)}
    return {"limits": json.dumps({**json.loads(running.limits), "asks": sorted(asks)})}
