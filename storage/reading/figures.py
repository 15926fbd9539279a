"""What a batch's summary is made of, beside its progress row: waves, failures, and how its answers were bought."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tidepool.storage.states import ASKED, BESIDE_SQL
from tidepool.storage.study_rows.findings import ASKED_MODELS, LOST_CALLS, finding
from tidepool.storage.unit_ids import unit_id

MOST_WAVES = 20_000
MOST_MODELS = 200
LONGEST_WORDS = 2_000
MANY_CALLS = 100_000
"""a batch with more keeps what a summary would count in them"""

Asked = tuple[str, str | None, int]
"""a model, who answered for it as the provider says, and how often"""
LostCalls = tuple[str, int, int, int]
"""an error, calls that it ended, 0 (units are counted apart), and the unit of the first"""
MOST_REASONS = 1_000
LONGEST_REASON = 300
"""characters of an error that tell it from others"""
_VARIABLE = re.compile(r"(?<!answered )\b[A-Za-z_-]{0,40}\d[\w.,:-]{0,80}")
"""numbers and ids in an error, but not the status of an answer"""


def waves_of(connection: sqlite3.Connection, batch_number: int) -> list[sqlite3.Row]:
    """The first of them: no study of ours has more, and a file of a stranger's may have millions."""
    query = "SELECT * FROM wave WHERE batch_number = ? ORDER BY wave LIMIT ?"
    return connection.execute(query, (batch_number, MOST_WAVES)).fetchall()


def failures_of(connection: sqlite3.Connection, batch_number: int, most: int) -> list[dict[str, Any]]:
    """Why calls were lost and units failed, the most frequent reason first, and where the first of each is to be read."""
    units = connection.execute(
        f"SELECT substr(error, 1, {LONGEST_WORDS}) AS error, 0, count(*) AS units, min(sequence_number) AS first FROM unit "
        "WHERE batch_number = ? AND status = 'failed' GROUP BY 1 ORDER BY units DESC, first LIMIT ?",
        (batch_number, MOST_REASONS),
    )
    found = sorted([*lost_calls(connection, batch_number), *map(tuple, units)], key=lambda row: row[3])
    names = ("error", "calls", "units", "first")
    return merge_failures((dict(zip(names, row, strict=True)) for row in found), most)


def merge_failures(failures: Iterable[Mapping[str, Any]], most: int) -> list[dict[str, Any]]:
    """Sums calls and units by reason: messages that differ only in numbers and ids are one. The first of them is shown."""
    reasons: dict[str, dict[str, Any]] = {}
    for one in failures:
        name = _VARIABLE.sub("#", (one["error"] or "")[:LONGEST_REASON])
        reason = reasons.setdefault(name, {**one, "calls": 0, "units": 0})
        reason["calls"] += one["calls"]
        reason["units"] += one["units"]
    return sorted(reasons.values(), key=lambda one: -max(one["calls"], one["units"]))[:most]


def lost_calls(connection: sqlite3.Connection, batch_number: int) -> list[LostCalls]:
    """Calls that failed for good, by their error."""
    row = connection.execute("SELECT failed FROM progress WHERE batch_number = ?", (batch_number,)).fetchone()
    if not row or not row[0]:
        return []
    stored: list[LostCalls] = _kept(connection, batch_number, LOST_CALLS, (str, int, int, int))
    if sum(one[1] for one in stored) != row[0]:
        return _count_lost(connection, batch_number)
    return [(error[:LONGEST_WORDS], calls, units, first) for error, calls, units, first in stored]


def _count_lost(connection: sqlite3.Connection, batch_number: int) -> list[LostCalls]:
    bounds = unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1
    rows = connection.execute(
        f"SELECT substr(error, 1, {LONGEST_WORDS}), count(*) AS calls, 0, min(unit_id) - ? FROM call "
        "WHERE unit_id BETWEEN ? AND ? AND status = 'failed' GROUP BY 1 ORDER BY calls DESC LIMIT ?",
        (bounds[0], *bounds, MOST_REASONS),
    )
    return [(str(error or ""), calls, failed, first) for error, calls, failed, first in rows]


def asked_models(connection: sqlite3.Connection, batch_number: int) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """How many calls each model had; and which models the providers say have answered for it."""
    rows: list[Asked] = _kept(connection, batch_number, ASKED_MODELS, (str, str | None, int))
    if sum(row[2] for row in rows) != _calls(connection, batch_number):
        rows = _counted(connection, batch_number)
    calls: Counter[str] = Counter()
    for model, _, replies in rows:
        calls[model] += replies
    names = ("model", "served", "replies")
    return dict(calls.most_common()), [dict(zip(names, row, strict=True)) for row in rows if row[1] is not None]


def _counted(connection: sqlite3.Connection, batch_number: int) -> list[Asked]:
    bounds = unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1
    rows = connection.execute(
        f"SELECT substr(model, 1, {LONGEST_WORDS}), substr(served_model, 1, {LONGEST_WORDS}), count(*) AS replies FROM call "
        f"WHERE unit_id BETWEEN ? AND ? AND {ASKED} GROUP BY 1, 2 ORDER BY 1, replies DESC, 2 LIMIT ?",
        (*bounds, MOST_MODELS),
    )
    return [tuple(row) for row in rows.fetchall()]


def counts_to_keep(connection: sqlite3.Connection, batch_number: int) -> dict[str, str]:
    """Counts over the calls of a large batch, stored so that a summary need not repeat them."""
    if _calls(connection, batch_number) <= MANY_CALLS:
        return {}
    counted = {
        ASKED_MODELS: _counted(connection, batch_number),
        LOST_CALLS: _count_lost(connection, batch_number),
    }
    return {name: json.dumps(rows) for name, rows in counted.items() if rows}


def _kept(connection: sqlite3.Connection, batch_number: int, name: str, types: tuple[Any, ...]) -> list[Any]:
    """Counts stored when the batch ended; empty if malformed. The caller checks that they cover all calls."""
    found = finding(connection, batch_number, name)
    rows = [tuple(row) for row in found if isinstance(row, list)] if isinstance(found, list) else []
    shaped = all(len(row) == len(types) and all(map(isinstance, row, types)) for row in rows)
    return rows if shaped else []


def _calls(connection: sqlite3.Connection, batch_number: int) -> int:
    row = connection.execute("SELECT calls FROM progress WHERE batch_number = ?", (batch_number,)).fetchone()
    return int(row[0]) if row else 0


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
