"""What a branch is made from, and what it keeps: talks of another batch, as far as they are gone on from.

They are records of the branch itself, so that it can be resumed, exported and imported without the batch it came from.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidepool.storage.unit_ids import UNIT_BITS, unit_id

_MASK = (1 << UNIT_BITS) - 1


class TalkRow(NamedTuple):
    """A unit of the batch that is branched."""

    number: int
    status: str
    game: int | None
    round: int | None
    interaction_type: str | None
    participants: str
    details: str | None


def talk_rows(connection: sqlite3.Connection, batch_number: int) -> list[TalkRow]:
    rows = connection.execute(
        "SELECT sequence_number, status, game, round, interaction_type, participants, details FROM unit "
        "WHERE id BETWEEN ? AND ? ORDER BY id",
        (unit_id(batch_number, 1), unit_id(batch_number, _MASK)),
    )
    return [TalkRow(*row) for row in rows]


def answers_of(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> dict[str, sqlite3.Row]:
    """What a unit was answered, by step."""
    rows = connection.execute(
        "SELECT step, key, speaker, text, truth, input_tokens, output_tokens, finish_reason, served_model, thought "
        "FROM call WHERE unit_id = ? AND status = 'answered'",
        (unit_id(batch_number, sequence_number),),
    )
    return {row["step"]: row for row in rows}


def concluded_talks(
    connection: sqlite3.Connection, batch_number: int, before: Mapping[int, int]
) -> Iterator[dict[str, Any]]:
    """The talks of each of these games that came to an end in a round before this one, in order: who met, who gave a secret
    away, what was said."""
    for game, round in before.items():
        units = connection.execute(
            "SELECT id, round, participants FROM unit WHERE batch_number = ? AND game = ? AND round < ? ORDER BY id",
            (batch_number, game, round),
        ).fetchall()
        for unit in units:
            ended = connection.execute(
                "SELECT revealed FROM outcome WHERE unit_id = ? ORDER BY side", (unit["id"],)
            ).fetchall()
            if ended:
                yield {
                    "number": unit["id"] & _MASK,
                    "game": game,
                    "round": unit["round"],
                    "participants": json.loads(unit["participants"]),
                    "revealed": [bool(side["revealed"]) for side in ended],
                    "said": _said(connection, unit["id"]),
                }


def _said(connection: sqlite3.Connection, unit: int) -> list[str]:
    rows = connection.execute(
        "SELECT text FROM call WHERE unit_id = ? AND status = 'answered' AND turn IS NOT NULL ORDER BY turn", (unit,)
    )
    return [row["text"] for row in rows]


def origin_text(connection: sqlite3.Connection, batch_number: int) -> str | None:
    row = connection.execute("SELECT origin FROM batch WHERE number = ?", (batch_number,)).fetchone()
    return None if row is None else row["origin"]


def records_of_batch(connection: sqlite3.Connection, batch_number: int, name: str) -> Iterator[Any]:
    """Rows of the batch as a whole, in order."""
    rows = connection.execute(
        "SELECT content FROM record WHERE unit_id = ? AND name = ? ORDER BY position", (unit_id(batch_number, 0), name)
    )
    return (json.loads(row["content"]) for row in rows)


def records_of_units(connection: sqlite3.Connection, batch_number: int, name: str) -> dict[int, Any]:
    """One row of each completed unit that has it, by the unit's number."""
    rows = connection.execute(
        "SELECT r.unit_id, r.content FROM record r JOIN unit u ON u.id = r.unit_id "
        "WHERE r.unit_id BETWEEN ? AND ? AND r.name = ? AND u.status = 'completed'",
        (unit_id(batch_number, 1), unit_id(batch_number, _MASK), name),
    )
    return {row["unit_id"] & _MASK: json.loads(row["content"]) for row in rows}


def games_of_units(connection: sqlite3.Connection, batch_number: int) -> dict[int, int]:
    """By unit, where it belongs to a game."""
    rows = connection.execute(
        "SELECT id, game FROM unit WHERE id BETWEEN ? AND ? AND game IS NOT NULL",
        (unit_id(batch_number, 1), unit_id(batch_number, _MASK)),
    )
    return {row["id"] & _MASK: row["game"] for row in rows}


def ratings_of_units(connection: sqlite3.Connection, batch_number: int) -> dict[int, Sequence[float | None]]:
    """What a judge said of each speaker of a completed unit, in speaking order."""
    rows = connection.execute(
        "SELECT j.unit_id, j.rating FROM judgement j JOIN unit u ON u.id = j.unit_id "
        "WHERE j.unit_id BETWEEN ? AND ? AND u.status = 'completed' ORDER BY j.unit_id, j.place",
        (unit_id(batch_number, 1), unit_id(batch_number, _MASK)),
    )
    found: dict[int, list[float | None]] = {}
    for row in rows:
        found.setdefault(row["unit_id"] & _MASK, []).append(row["rating"])
    return dict(found)
