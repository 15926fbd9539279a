"""The cells of a study, and what each talk of a batch came to: all that effects are worked out from."""

import sqlite3
from typing import Any

from tidepool.storage.reading.units import MOST_UNITS
from tidepool.storage.unit_ids import unit_id

LONGEST_LEVEL = 1_000_000
"""characters of a level, which may be a whole context; exports repeat it in every row"""


def cells_of(connection: sqlite3.Connection, study_id: str) -> list[tuple[sqlite3.Row, dict[str, str]]]:
    """The batches of a study in the order they were made, each with the level of every factor."""
    levels: dict[int, dict[str, str]] = {}
    for number, factor, level in connection.execute(
        f"SELECT c.batch_number, c.factor, substr(c.level, 1, {LONGEST_LEVEL}) FROM batch b JOIN study_cell c ON c.batch_number = b.number "
        "WHERE b.study_id = ?",
        (study_id,),
    ):
        levels.setdefault(number, {})[str(factor)] = str(level)
    rows = connection.execute("SELECT * FROM batch WHERE study_id = ? ORDER BY number", (study_id,)).fetchall()
    return [(row, levels.get(row["number"], {})) for row in rows]


def sides_by_talk(connection: sqlite3.Connection, batch_number: int) -> list[tuple[Any, ...]]:
    """Both sides of every finished conversation, the opener's first: (sequence number, game, scenario, agent, revealed,
    obtained, score)."""
    rows = connection.execute(
        "SELECT unit_id & ?, game, scenario, agent, revealed, obtained, score FROM outcome "
        "WHERE unit_id BETWEEN ? AND ? ORDER BY unit_id, side",
        (MOST_UNITS, *_all_units(batch_number)),
    )
    return [tuple(row) for row in rows]


def ratings_by_talk(connection: sqlite3.Connection, batch_number: int) -> list[tuple[Any, ...]]:
    """What a judge gave each entity of every finished simulation: (sequence number, participants, entity, rating)."""
    rows = connection.execute(
        "SELECT j.unit_id & ?, u.participants, j.entity, j.rating FROM judgement j JOIN unit u ON u.id = j.unit_id "
        "WHERE j.unit_id BETWEEN ? AND ? AND u.status = 'completed' ORDER BY j.unit_id, j.place",
        (MOST_UNITS, *_all_units(batch_number)),
    )
    return [tuple(row) for row in rows]


def _all_units(batch_number: int) -> tuple[int, int]:
    return unit_id(batch_number, 1), unit_id(batch_number, MOST_UNITS)
