"""Reads what a summary needs besides the progress row: results, waves, failures, costs, models and prompts.

These queries do not read columns that follow the replies, so that a file of gigabytes is not read completely.
"""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from tidepool.storage.file import value_of
from tidepool.storage.states import IN_FLIGHT, OPEN_PHASES_SQL, STUDY_BATCHES_SQL, UNIT_BITS, WAS_SENT, unit_range


def finding(connection: sqlite3.Connection, batch_number: int, name: str) -> Any | None:
    """Returns a stored result by name; None if the study has not computed it yet."""
    query = "SELECT content FROM finding WHERE batch_number = ? AND name = ?"
    return json.loads(value_of(connection, query, (batch_number, name)) or "null")


def findings(connection: sqlite3.Connection, batch_number: int) -> dict[str, Any]:
    """Returns all stored results by name, sorted."""
    rows = connection.execute(
        "SELECT name, content FROM finding WHERE batch_number = ? ORDER BY name", (batch_number,)
    ).fetchall()
    return {name: json.loads(content) for name, content in rows}


MOST_WAVES = 20_000
MOST_MODELS = 200
LONGEST_MODEL = 1_000
"""characters of the name of a model or a speaker"""
LONGEST_WORDS = 2_000
MOST_REASONS = 1_000
LONGEST_REASON = 300
"""characters by which errors are distinguished"""
_VARIABLE = re.compile(r"(?<!answered )\b[A-Za-z_-]{0,40}\d[\w.,:-]{0,80}")
"""numbers and ids in an error, except an HTTP status"""


def waves_of(connection: sqlite3.Connection, batch_number: int) -> list[sqlite3.Row]:
    """Returns the first waves. No study has more than the limit, but an untrusted file may have millions."""
    query = "SELECT * FROM wave WHERE batch_number = ? ORDER BY wave LIMIT ?"
    return connection.execute(query, (batch_number, MOST_WAVES)).fetchall()


def failures_of(connection: sqlite3.Connection, batch_number: int, most: int) -> list[dict[str, Any]]:
    """Returns the reasons of failed calls and units, the most frequent first, each with its first unit."""
    if not value_of(connection, "SELECT failed + units_failed FROM progress WHERE batch_number = ?", (batch_number,)):
        return []
    bounds = unit_range(batch_number)
    calls = "count(*) AS calls, 0 AS units, min(unit_id) - ? AS first FROM call WHERE unit_id BETWEEN ? AND ?"
    units = "0 AS calls, count(*) AS units, min(sequence_number) AS first FROM unit WHERE batch_number = ?"
    rows: list[sqlite3.Row] = []
    for query, values in ((calls, (bounds[0], *bounds)), (units, (batch_number,))):
        rows += connection.execute(
            f"SELECT substr(coalesce(error, ''), 1, {LONGEST_WORDS}) AS error, {query} AND status = 'failed' "
            "GROUP BY 1 ORDER BY calls DESC, units DESC, first LIMIT ?",
            (*values, MOST_REASONS),
        ).fetchall()
    return merge_failures(map(dict, sorted(rows, key=itemgetter("first"))), most)


def merge_failures(failures: Iterable[Mapping[str, Any]], most: int) -> list[dict[str, Any]]:
    """Sums calls and units by reason. Messages that differ only in numbers and ids count as one, and the first is shown."""
    reasons: dict[str, dict[str, Any]] = {}
    for failure in failures:
        name = _VARIABLE.sub("#", (failure["error"] or "")[:LONGEST_REASON])
        reason = reasons.setdefault(name, {**failure, "calls": 0, "units": 0})
        reason["calls"] += failure["calls"]
        reason["units"] += failure["units"]
    return sorted(reasons.values(), key=lambda failure: -max(failure["calls"], failure["units"]))[:most]


def model_counts(connection: sqlite3.Connection, batch_number: int) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Returns the number of calls of each model, and the models that answered, as reported by the providers."""
    rows = connection.execute(
        f"SELECT substr(model, 1, {LONGEST_WORDS}) AS model, substr(served_model, 1, {LONGEST_WORDS}) AS served, "
        f"count(*) AS replies FROM call WHERE unit_id BETWEEN ? AND ? AND {WAS_SENT} "
        "GROUP BY 1, 2 ORDER BY 1, replies DESC, 2 LIMIT ?",
        (*unit_range(batch_number), MOST_MODELS),
    ).fetchall()
    calls: Counter[str] = Counter()
    for row in rows:
        calls[row["model"]] += row["replies"]
    return dict(calls.most_common()), [dict(row) for row in rows if row["served"] is not None]


def has_provider_batches(connection: sqlite3.Connection, batch_number: int) -> bool:
    query = f"SELECT 1 FROM provider_batch WHERE batch_number IN {STUDY_BATCHES_SQL} LIMIT 1"
    return value_of(connection, query, {"batch": batch_number}) is not None


def answers_bought_live(connection: sqlite3.Connection, batch_number: int) -> int:
    """Counts the live replies in the ledger, because no running counter exists for them."""
    query = "SELECT count(*) FROM call WHERE unit_id BETWEEN ? AND ? AND source = 'live' AND status = 'answered'"
    return int(value_of(connection, query, unit_range(batch_number)))


def conversations_of(connection: sqlite3.Connection, batch_id: str) -> int:
    """Returns the number of conversations, ended or not."""
    return int(value_of(connection, "SELECT count(*) FROM conversations WHERE batch_id = ?", (batch_id,)))


def moments_of(connection: sqlite3.Connection, batch_id: str) -> dict[str, str | None]:
    """Returns when the batch was created and when it last ended, in the format of the views."""
    query = "SELECT created_at, finished_at FROM batches WHERE id = ?"
    return dict(connection.execute(query, (batch_id,)).fetchone() or {"created_at": None, "finished_at": None})


@dataclass(frozen=True, slots=True)
class Money:
    spent: float = 0.0
    reserved: float = 0.0
    """what open provider batches may still cost; the reservation outlives the process that made it"""


def money_by_provider(connection: sqlite3.Connection, batch_numbers: Iterable[int]) -> dict[str, Money]:
    """Sums the costs of several batches by provider."""
    totals: dict[str, Money] = {}
    for number in batch_numbers:
        for provider, money in _money_of(connection, number).items():
            before = totals.get(provider, Money())
            totals[provider] = Money(before.spent + money.spent, before.reserved + money.reserved)
    return totals


def _money_of(connection: sqlite3.Connection, batch_number: int) -> dict[str, Money]:
    def sums(query: str, *values: object) -> dict[str, float]:
        return dict(connection.execute(query, values).fetchall())

    spent = Counter(
        sums(
            "SELECT substr(model, 1, instr(model, ':') - 1), sum(cost_usd) FROM call "
            "WHERE unit_id BETWEEN ? AND ? AND cost_usd > 0 GROUP BY 1",
            *unit_range(batch_number),
        )
    )
    spent.update(
        sums(
            "SELECT coalesce(p.provider, s.order_id), sum(s.cost_usd) FROM surplus s "
            "LEFT JOIN provider_batch p ON p.id = s.order_id "
            "WHERE s.batch_number = ? AND s.cost_usd > 0 AND s.reason IS NOT ? GROUP BY 1",
            batch_number,
            IN_FLIGHT,
        )
    )
    reserved = sums(
        "SELECT provider, sum(reservation_usd) FROM provider_batch "
        f"WHERE batch_number = ? AND state IN {OPEN_PHASES_SQL} GROUP BY 1",
        batch_number,
    )
    return {name: Money(spent[name], reserved.get(name, 0.0)) for name in {*spent, *reserved}}


_CALLS = (
    "(SELECT value AS number FROM json_each(?)) b CROSS JOIN call "
    f"ON unit_id BETWEEN b.number << {UNIT_BITS} AND (b.number + 1 << {UNIT_BITS}) - 1"
)
"""the calls of these batches, each as one range of the index"""


class ModelCalls(NamedTuple):
    model: str
    calls: int
    failed: int


class UsedPrompt(NamedTuple):
    text: str
    calls: int
    models: Mapping[str, int]
    """calls by model, the most used first"""
    speaker: str | None
    """one speaker with this prompt"""
    speakers: int
    batches: frozenset[int]
    """numbers of the batches that used it"""


def models_used(connection: sqlite3.Connection, numbers: Sequence[int], *, branch: bool = False) -> list[ModelCalls]:
    """Returns the models by number of calls. For a branch, skips calls that were not sent, which requires reading all its calls."""
    rows = connection.execute(
        f"SELECT substr(model, 1, {LONGEST_MODEL}), count(*) AS calls, sum(status = 'failed') FROM {_CALLS} "
        f"{f'WHERE {WAS_SENT} ' if branch else ''}GROUP BY 1 ORDER BY calls DESC, 1 LIMIT ?",
        (json.dumps(numbers), MOST_MODELS),
    ).fetchall()
    return [ModelCalls(*row) for row in rows]


def transports_used(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[str]:
    """Returns how calls were sent: live, batch, or both (live+batch)."""
    query = "SELECT DISTINCT transport FROM wave WHERE batch_number IN (SELECT value FROM json_each(?)) LIMIT ?"
    return [str(row[0] or "") for row in connection.execute(query, (json.dumps(numbers), MOST_MODELS))]


FEW_ENOUGH = 2_000
"""replies from the cache that are looked up"""


def known_before(connection: sqlite3.Connection, study_id: str) -> bool:
    """Whether replies of the first replicate were in the file before the study, so its hypotheses may be based on them."""
    query = """
        WITH own AS (SELECT number FROM batch WHERE study_id = ? AND coalesce(replicate, 1) = 1),
        reused AS (SELECT c.key FROM own JOIN call c ON c.unit_id BETWEEN own.number << 32 AND ((own.number + 1) << 32) - 1
            WHERE c.source = 'cache' AND c.status = 'answered' LIMIT ?)
        SELECT EXISTS (SELECT 1 FROM reused JOIN call o ON o.key = reused.key AND o.status = 'answered'
            WHERE o.unit_id < (SELECT min(number) FROM own) << 32)"""
    return bool(connection.execute(query, (study_id, FEW_ENOUGH)).fetchone()[0])


def distinct_prompts(connection: sqlite3.Connection, numbers: Sequence[int]) -> int:
    return int(value_of(connection, f"SELECT count(DISTINCT prompt) FROM {_CALLS}", (json.dumps(numbers),)))


def prompts_used(connection: sqlite3.Connection, numbers: Sequence[int], most: int) -> list[UsedPrompt]:
    """Returns the prompts by number of calls, then by first use."""
    rows = connection.execute(
        "SELECT u.prompt, p.text, u.calls, u.speaker, u.speakers, u.numbers FROM ("
        f"SELECT prompt, count(*) AS calls, min(substr(speaker, 1, {LONGEST_MODEL})) AS speaker, "
        f"count(DISTINCT speaker) AS speakers, min(id) AS first, group_concat(DISTINCT b.number) AS numbers FROM {_CALLS} "
        "WHERE prompt IS NOT NULL GROUP BY prompt ORDER BY calls DESC, first LIMIT ?) u "
        "JOIN prompt p ON p.hash = u.prompt ORDER BY u.calls DESC, u.first",
        (json.dumps(numbers), most),
    ).fetchall()
    models: dict[Any, dict[str, int]] = {row[0]: {} for row in rows}
    # Cells of a study may send one prompt to several models.
    for prompt, model, calls in connection.execute(
        f"SELECT prompt, substr(model, 1, {LONGEST_MODEL}) AS name, count(*) AS calls FROM {_CALLS} "
        f"WHERE prompt IN ({', '.join('?' * len(models))}) GROUP BY prompt, name ORDER BY calls DESC, name LIMIT ?",
        (json.dumps(numbers), *models, most * MOST_MODELS),
    ):
        models[prompt][model] = calls
    return [
        UsedPrompt(text, calls, models[prompt], speaker, speakers, frozenset(map(int, numbers.split(","))))
        for prompt, text, calls, speaker, speakers, numbers in rows
    ]
