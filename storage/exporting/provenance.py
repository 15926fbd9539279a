"""Who was asked what: models with their calls, and system prompts in full. Columns that stand behind the replies are not
touched, so that a file of gigabytes is not read for it."""

import sqlite3
from typing import NamedTuple

from tidepool.storage.states import ASKED
from tidepool.storage.unit_ids import unit_id

MOST_MODELS = 200


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


def models_asked(connection: sqlite3.Connection, batch_number: int, *, branch: bool = False) -> list[AskedModel]:
    """The most asked first. Of a branch those are left out that nobody was asked for, which takes reading it whole."""
    rows = connection.execute(
        "SELECT model, count(*) AS calls, sum(status = 'failed') FROM call WHERE unit_id BETWEEN ? AND ? "
        f"{f'AND {ASKED} ' if branch else ''}GROUP BY model ORDER BY calls DESC, model LIMIT ?",
        (*_bounds(batch_number), MOST_MODELS),
    ).fetchall()
    return [AskedModel(*row) for row in rows]


def distinct_prompts(connection: sqlite3.Connection, batch_number: int) -> int:
    query = "SELECT count(DISTINCT prompt) FROM call WHERE unit_id BETWEEN ? AND ?"
    return int(connection.execute(query, _bounds(batch_number)).fetchone()[0])


def prompts_used(connection: sqlite3.Connection, batch_number: int, most: int) -> list[UsedPrompt]:
    """The most used first, then as they were first used."""
    rows = connection.execute(
        "SELECT p.text, u.calls, u.model, u.speaker, u.speakers FROM ("
        "SELECT prompt, count(*) AS calls, min(model) AS model, min(speaker) AS speaker, "
        "count(DISTINCT speaker) AS speakers, min(id) AS first FROM call "
        "WHERE unit_id BETWEEN ? AND ? AND prompt IS NOT NULL GROUP BY prompt ORDER BY calls DESC, first LIMIT ?) u "
        "JOIN prompt p ON p.hash = u.prompt ORDER BY u.calls DESC, u.first",
        (*_bounds(batch_number), most),
    ).fetchall()
    return [UsedPrompt(*row) for row in rows]


def _bounds(batch_number: int) -> tuple[int, int]:
    return unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1
