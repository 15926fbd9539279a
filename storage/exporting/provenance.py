"""Who was asked what: models with their calls, and system prompts in full. Columns that stand behind the replies are not
touched, so that a file of gigabytes is not read for it."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tidepool.storage.reading.watching import LONGEST_NAME
from tidepool.storage.states import ASKED
from tidepool.storage.unit_ids import UNIT_BITS

MOST_MODELS = 200
_CALLS = (
    "(SELECT value AS number FROM json_each(?)) b CROSS JOIN call "
    f"ON unit_id BETWEEN b.number << {UNIT_BITS} AND (b.number + 1 << {UNIT_BITS}) - 1"
)
"""the calls of these batches: each a range of the index, whatever lies between them"""


class AskedModel(NamedTuple):
    model: str
    calls: int
    failed: int


class UsedPrompt(NamedTuple):
    text: str
    calls: int
    models: Mapping[str, int]
    """calls by model, the most asked first"""
    speaker: str | None
    """one who spoke by it"""
    speakers: int
    batches: frozenset[int]
    """numbers of those in which it was used"""


class ReplyPairs(NamedTuple):
    """Replies of simulated models at one address of two batches, where what was asked differs."""

    replies: int
    identical: bool
    """all of them"""
    models: frozenset[str]


def models_asked(connection: sqlite3.Connection, numbers: Sequence[int], *, branch: bool = False) -> list[AskedModel]:
    """The most asked first. Of a branch those are left out that nobody was asked for, which takes reading it whole."""
    rows = connection.execute(
        f"SELECT substr(model, 1, {LONGEST_NAME}), count(*) AS calls, sum(status = 'failed') FROM {_CALLS} "
        f"{f'WHERE {ASKED} ' if branch else ''}GROUP BY 1 ORDER BY calls DESC, 1 LIMIT ?",
        (json.dumps(numbers), MOST_MODELS),
    ).fetchall()
    return [AskedModel(*row) for row in rows]


def transports_used(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[str]:
    """How calls were sent: live, batch, or both (live+batch)."""
    query = "SELECT DISTINCT transport FROM wave WHERE batch_number IN (SELECT value FROM json_each(?)) LIMIT ?"
    return [str(row[0] or "") for row in connection.execute(query, (json.dumps(numbers), MOST_MODELS))]


def distinct_prompts(connection: sqlite3.Connection, numbers: Sequence[int]) -> int:
    query = f"SELECT count(DISTINCT prompt) FROM {_CALLS}"
    return int(connection.execute(query, (json.dumps(numbers),)).fetchone()[0])


def prompts_used(connection: sqlite3.Connection, numbers: Sequence[int], most: int) -> list[UsedPrompt]:
    """The most used first, then as they were first used."""
    rows = connection.execute(
        "SELECT u.prompt, p.text, u.calls, u.speaker, u.speakers, u.numbers FROM ("
        f"SELECT prompt, count(*) AS calls, min(substr(speaker, 1, {LONGEST_NAME})) AS speaker, "
        f"count(DISTINCT speaker) AS speakers, min(id) AS first, group_concat(DISTINCT b.number) AS numbers FROM {_CALLS} "
        "WHERE prompt IS NOT NULL GROUP BY prompt ORDER BY calls DESC, first LIMIT ?) u "
        "JOIN prompt p ON p.hash = u.prompt ORDER BY u.calls DESC, u.first",
        (json.dumps(numbers), most),
    ).fetchall()
    models: dict[Any, dict[str, int]] = {row[0]: {} for row in rows}
    # Cells of a study may give one prompt to several models.
    for prompt, model, calls in connection.execute(
        f"SELECT prompt, substr(model, 1, {LONGEST_NAME}) AS name, count(*) AS calls FROM {_CALLS} "
        f"WHERE prompt IN ({', '.join('?' * len(models))}) GROUP BY prompt, name ORDER BY calls DESC, name LIMIT ?",
        (json.dumps(numbers), *models, most * MOST_MODELS),
    ):
        models[prompt][model] = calls
    return [
        UsedPrompt(text, calls, models[prompt], speaker, speakers, frozenset(map(int, numbers.split(","))))
        for prompt, text, calls, speaker, speakers, numbers in rows
    ]


MOST_PAIRS = 10_000
_PAIRS = (
    "FROM (SELECT * FROM call WHERE unit_id BETWEEN :first AND :last LIMIT :most) a "
    "CROSS JOIN call b ON b.unit_id = a.unit_id + :apart AND b.step = a.step "
    "WHERE a.key <> b.key AND a.status = 'answered' AND b.status = 'answered' "
    "AND a.model LIKE 'simulated:%' AND b.model LIKE 'simulated:%'"
)


def compare_replies(connection: sqlite3.Connection, number: int, other: int) -> ReplyPairs:
    """Of the first calls of two batches. A key names what was asked and its seed: equal keys are one request."""
    apart = other - number << UNIT_BITS
    bounds = {"apart": apart, "first": number << UNIT_BITS, "last": (number + 1 << UNIT_BITS) - 1, "most": MOST_PAIRS}
    if connection.execute(f"SELECT 1 {_PAIRS} AND a.text <> b.text LIMIT 1", bounds).fetchone():
        return ReplyPairs(0, False, frozenset())
    rows = connection.execute(
        f"SELECT model, count(*) FROM (SELECT b.model AS model {_PAIRS}) GROUP BY model", bounds
    ).fetchall()
    return ReplyPairs(sum(row[1] for row in rows), True, frozenset(row[0] for row in rows))
