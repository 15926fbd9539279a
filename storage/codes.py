"""Hand coding: the codes that people give to sides of conversations, the sample to code, and the sides it is drawn from."""

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tidepool.storage import db
from tidepool.storage.batches import find_batch
from tidepool.storage.errors import FileError
from tidepool.storage.file import value_of, writing
from tidepool.storage.states import MOST_UNITS, unit_id, unit_range

Place = tuple[int, int]
"""sequence number of the conversation, side from 0"""
MOST_CODES = 100_000
"""codes of a batch, more than people give"""


class StoredCode(NamedTuple):
    place: Place
    coder: str
    agent: str
    code: str
    at: float


class GameSide(NamedTuple):
    """One side of a finished conversation of a secret game, with the results of detectors and judge."""

    number: int
    side: int
    agent: str
    revealed: bool
    verdict: bool | None

    @property
    def place(self) -> Place:
        return self.number, self.side


def anybody_coded(connection: sqlite3.Connection, batch_number: int) -> bool:
    query = "SELECT 1 FROM code WHERE unit_id BETWEEN ? AND ? LIMIT 1"
    return value_of(connection, query, unit_range(batch_number, 1)) is not None


def codes(connection: sqlite3.Connection, batch_number: int) -> list[StoredCode]:
    """Returns the first codes in the order in which they were given. An untrusted file may contain millions."""
    rows = connection.execute(
        "SELECT unit_id, side, coder, agent, code, at FROM code WHERE unit_id BETWEEN ? AND ? AND turn = 0 "
        "ORDER BY at, rowid LIMIT ?",
        (*unit_range(batch_number, 1), MOST_CODES),
    )
    return [StoredCode((row[0] & MOST_UNITS, row[1]), *tuple(row)[2:]) for row in rows]


def game_sides(connection: sqlite3.Connection, batch_number: int) -> list[GameSide]:
    rows = connection.execute(
        "SELECT unit_id, side, agent, revealed, verdict FROM outcome "
        "WHERE unit_id BETWEEN ? AND ? ORDER BY unit_id, side",
        unit_range(batch_number, 1),
    )
    return [
        GameSide(unit & MOST_UNITS, side, agent, bool(revealed), None if verdict is None else bool(verdict))
        for unit, side, agent, revealed, verdict in rows
    ]


def side_at(connection: sqlite3.Connection, batch_number: int, place: Place) -> tuple[str, str | None]:
    """Returns the agent of a side and its secret, or None without a stored secret."""
    number = unit_id(batch_number, place[0])
    row = connection.execute(
        "SELECT agent, secret FROM outcome WHERE unit_id = ? AND side = ? UNION ALL "
        "SELECT entity, NULL FROM judgement WHERE unit_id = ? AND place = ?",
        (number, place[1], number, place[1] + 1),
    ).fetchone()
    if row is None:
        raise FileError(
            "The sample contains a side that this batch does not have. The file was changed. Draw a new sample with --redraw."
        )
    return row[0], row[1]


class NewCode(NamedTuple):
    place: Place
    agent: str
    code: str
    weight: float


def put_codes(path: Path, batch_id: str, coder: str, new: Iterable[NewCode]) -> None:
    """Stores all codes or none. Replaces earlier codes of the same coder for the same side."""
    now = time.time()
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        base = ({"agent": one.agent, "code": one.code, "weight": one.weight, **_key(number, one.place)} for one in new)
        rows = [{**one, "coder": coder, "at": now} for one in base]
        db.insert_rows(connection, db.Code, rows, "REPLACE")


def _key(batch_number: int, place: Place) -> dict[str, int]:
    return {"unit_id": unit_id(batch_number, place[0]), "side": place[1], "turn": 0}


def remove_code(path: Path, batch_id: str, coder: str, place: Place) -> None:
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        db.remove(connection, db.Code, **_key(number, place), coder=coder)


def put_sample(
    path: Path, batch_id: str, name: str, sample: dict[str, Any], weights: Sequence[tuple[Place, float]]
) -> None:
    """Stores the sample and the weights of its codes. Codes outside the sample have no weight."""
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        finding = {"batch_number": number, "name": name, "content": json.dumps(sample)}
        db.insert_rows(connection, db.Finding, [finding], "REPLACE")
        own = db.col(db.Code.unit_id).between(*unit_range(number, 1))
        db.execute(connection, db.update(db.Code).where(own).values(weight=None))
        for place, weight in weights:
            db.change(connection, db.Code, _key(number, place), weight=weight)
