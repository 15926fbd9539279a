"""Who was asked what: models with their calls, and system prompts in full. Columns that stand behind the replies are not
touched, so that a file of gigabytes is not read for it."""

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

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
    model: str
    """one that was given it"""
    speaker: str | None
    """one who spoke by it"""
    speakers: int
    batches: frozenset[int]
    """numbers of those in which it was used"""


def models_asked(connection: sqlite3.Connection, numbers: Sequence[int], *, branch: bool = False) -> list[AskedModel]:
    """The most asked first. Of a branch those are left out that nobody was asked for, which takes reading it whole."""
    rows = connection.execute(
        f"SELECT model, count(*) AS calls, sum(status = 'failed') FROM {_CALLS} "
        f"{f'WHERE {ASKED} ' if branch else ''}GROUP BY model ORDER BY calls DESC, model LIMIT ?",
        (json.dumps(numbers), MOST_MODELS),
    ).fetchall()
    return [AskedModel(*row) for row in rows]


def distinct_prompts(connection: sqlite3.Connection, numbers: Sequence[int]) -> int:
    query = f"SELECT count(DISTINCT prompt) FROM {_CALLS}"
    return int(connection.execute(query, (json.dumps(numbers),)).fetchone()[0])


def prompts_used(connection: sqlite3.Connection, numbers: Sequence[int], most: int) -> list[UsedPrompt]:
    """The most used first, then as they were first used."""
    rows = connection.execute(
        "SELECT p.text, u.calls, u.model, u.speaker, u.speakers, u.numbers FROM ("
        "SELECT prompt, count(*) AS calls, min(model) AS model, min(speaker) AS speaker, "
        f"count(DISTINCT speaker) AS speakers, min(id) AS first, group_concat(DISTINCT b.number) AS numbers FROM {_CALLS} "
        "WHERE prompt IS NOT NULL GROUP BY prompt ORDER BY calls DESC, first LIMIT ?) u "
        "JOIN prompt p ON p.hash = u.prompt ORDER BY u.calls DESC, u.first",
        (json.dumps(numbers), most),
    ).fetchall()
    return [UsedPrompt(*row[:5], frozenset(map(int, row[5].split(",")))) for row in rows]
