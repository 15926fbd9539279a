"""The steps of a mutation's episode, as one reads them: the query as it was, what was made of it, what the target said to it.

A unit keeps the operators and rewards in its details, and the texts as its messages: the rewriting of step n is its message
2n − 1, the answer 2n. The file may be a stranger's, so everything is taken for what it is worth.
"""

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.storage.reading.units import StoredMessage
from tidepool.storage.unit_ids import unit_id

SPLITS = {"training": "training query", "heldout": "held-out query"}
"""the phases of a study: what an episode's query was for"""
LONGEST_EPISODE = 10_000


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    number: int
    """from 1"""
    operator: str
    query: str | None
    """as it was; None where that is not known (yet)"""
    rewritten: str | None
    """as the target was asked; the same where nothing was rewritten"""
    fell_back: bool
    reply: str | None
    model: str | None
    """the target's"""
    reward: float | None
    ended: bool
    """its episode told what came of it"""


@dataclass(frozen=True, slots=True)
class EpisodeHead:
    player: str
    status: str
    error: str | None
    split: str
    reward: float | None
    """the mean over its answered steps"""
    query: str


def episode_heads(connection: sqlite3.Connection, batch_number: int, numbers: Sequence[int]) -> dict[int, EpisodeHead]:
    rows = connection.execute(
        "SELECT sequence_number, substr(json_extract(participants, '$[0]'), 1, 200), status, substr(error, 1, 200), details "
        "FROM unit WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([unit_id(batch_number, number) for number in numbers]),),
    ).fetchall()
    return {row[0]: _head(row[1], row[2], row[3], _object(row[4])) for row in rows}


def _head(player: str | None, status: str, error: str | None, details: Mapping[str, Any]) -> EpisodeHead:
    query = _text(details.get("query")) or ""
    return EpisodeHead(player or "", status, error, split_of(details), _number(details.get("mean_reward")), query[:200])


def players(connection: sqlite3.Connection, batch_number: int) -> list[str]:
    rows = connection.execute(
        "SELECT DISTINCT json_extract(participants, '$[0]') FROM unit WHERE id > ? AND id < ? LIMIT 100",
        (unit_id(batch_number, 0), unit_id(batch_number + 1, 0)),
    ).fetchall()
    return [row[0] for row in rows if isinstance(row[0], str)]


def of_split(connection: sqlite3.Connection, batch_number: int, split: str) -> set[int]:
    """The numbers of the episodes whose query was for this."""
    rows = connection.execute(
        "SELECT sequence_number FROM unit WHERE id > ? AND id < ? AND json_extract(details, '$.phase') = ?",
        (unit_id(batch_number, 0), unit_id(batch_number + 1, 0), split),
    )
    return {row[0] for row in rows}


def split_of(details: Mapping[str, Any]) -> str:
    return str(details.get("phase") or "training")


def episode_steps(details: Mapping[str, Any], messages: Sequence[StoredMessage]) -> Iterator[EpisodeStep]:
    """Of an episode under way, what was said so far."""
    said = {message.turn: message for message in messages}
    told = _steps_told(details) or [{} for _ in range((max(said, default=0) + 1) // 2)]
    since = int(_number(details.get("since")) or 0)
    text = _text(details.get("asked" if since else "query"))
    for index, step in enumerate(told):
        rewrite, answer = said.get(2 * index + 1), said.get(2 * index + 2)
        before = text if index >= since else None
        after = rewrite.content if rewrite else before
        yield EpisodeStep(
            index + 1,
            str(step.get("operator") or (rewrite.speaker if rewrite else "step")),
            before,
            after,
            bool(step.get("fell_back")),
            answer.content if answer else None,
            answer.model if answer else None,
            _number(step.get("reward")),
            bool(step),
        )
        text = after if index >= since else text


def _steps_told(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    steps = details.get("steps")
    steps = steps[:LONGEST_EPISODE] if isinstance(steps, list) else []
    return [step if isinstance(step, dict) else {} for step in steps]


def _object(stored: str | None) -> dict[str, Any]:
    found = json.loads(stored) if stored else {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
