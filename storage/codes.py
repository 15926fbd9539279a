"""What people said of sides and messages, coding by hand; the sample that they code; and what it is drawn from.

A place is (sequence number of the conversation, side from 0, turn of the message; turn 0 is the side as a whole).
"""

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

Place = tuple[int, int, int]
MOST_CODES = 100_000
"""of a batch: people do not give so many"""


class StoredCode(NamedTuple):
    place: Place
    coder: str
    agent: str
    code: str
    at: float


class GameSide(NamedTuple):
    """One side of a finished conversation of a secret game, as its instruments see it."""

    number: int
    side: int
    agent: str
    revealed: bool
    uncertain: bool
    detector: str | None
    turn: int | None
    verdict: bool | None
    details: str | None
    secret: str | None

    @property
    def place(self) -> Place:
        return self.number, self.side, 0


class GradedAnswer(NamedTuple):
    """A reply to a problem of an evolution, as it was marked."""

    number: int
    side: int
    """which answer of its unit: by problem, sample and model"""
    model: str
    correct: bool | None


class ShownAnswer(NamedTuple):
    model: str
    question: str
    gold: str
    reply: str


_ANSWER_SIDE = (
    "a.problem * 1000000 + a.sample * 1000 + (SELECT count(*) FROM answer b WHERE b.unit_id = a.unit_id "
    "AND b.problem = a.problem AND b.sample = a.sample AND b.step < a.step)"
)


def anybody_coded(connection: sqlite3.Connection, batch_number: int) -> bool:
    query = "SELECT 1 FROM code WHERE unit_id BETWEEN ? AND ? LIMIT 1"
    return value_of(connection, query, unit_range(batch_number, 1)) is not None


def codes(connection: sqlite3.Connection, batch_number: int) -> list[StoredCode]:
    """In the order in which they were given; only the first, since an untrusted file may have millions."""
    rows = connection.execute(
        "SELECT unit_id, side, turn, coder, agent, code, at FROM code WHERE unit_id BETWEEN ? AND ? ORDER BY at, rowid LIMIT ?",
        (*unit_range(batch_number, 1), MOST_CODES),
    )
    return [StoredCode((row[0] & MOST_UNITS, row[1], row[2]), *tuple(row)[3:]) for row in rows]


def game_sides(connection: sqlite3.Connection, batch_number: int) -> list[GameSide]:
    rows = connection.execute(
        "SELECT unit_id, side, agent, revealed, uncertain, detector, turn, verdict, details, secret FROM outcome "
        "WHERE unit_id BETWEEN ? AND ? ORDER BY unit_id, side",
        unit_range(batch_number, 1),
    )
    return [
        side._replace(
            number=side.number & MOST_UNITS,
            revealed=bool(side.revealed),
            uncertain=bool(side.uncertain),
            verdict=None if side.verdict is None else bool(side.verdict),
        )
        for side in (GameSide(*row) for row in rows)
    ]


def graded_answers(connection: sqlite3.Connection, batch_number: int) -> list[GradedAnswer]:
    """Every one that was replied to."""
    rows = connection.execute(
        f"SELECT a.unit_id, {_ANSWER_SIDE}, c.model, a.correct FROM answer a JOIN call c ON c.unit_id = a.unit_id "
        "AND c.step = a.step AND c.status = 'answered' WHERE a.unit_id BETWEEN ? AND ? ORDER BY 1, 2",
        unit_range(batch_number, 1),
    )
    return [GradedAnswer(row[0] & MOST_UNITS, row[1], row[2], None if row[3] is None else bool(row[3])) for row in rows]


def answer_at(connection: sqlite3.Connection, batch_number: int, place: Place) -> ShownAnswer | None:
    problem, sample = place[1] // 1_000_000, place[1] // 1000 % 1000
    row = connection.execute(
        "SELECT c.model, p.question, p.gold, c.text FROM answer a JOIN call c ON c.unit_id = a.unit_id AND c.step = a.step "
        "JOIN problem p ON p.batch_number = ? AND p.split = a.split AND p.number = a.problem "
        f"WHERE a.unit_id = ? AND a.problem = ? AND a.sample = ? AND {_ANSWER_SIDE} = ?",
        (batch_number, unit_id(batch_number, place[0]), problem, sample, place[1]),
    ).fetchone()
    return None if row is None else ShownAnswer(*row)


def side_at(connection: sqlite3.Connection, batch_number: int, place: Place) -> tuple[str, str | None]:
    """(whose side it is, the secret it was to keep; None: it has none, or it was not kept)"""
    number = unit_id(batch_number, place[0])
    row = connection.execute(
        "SELECT agent, secret FROM outcome WHERE unit_id = ? AND side = ? UNION ALL "
        "SELECT entity, NULL FROM judgement WHERE unit_id = ? AND place = ?",
        (number, place[1], number, place[1] + 1),
    ).fetchone()
    if row is None and (answer := answer_at(connection, batch_number, place)):
        return answer.model, None
    if row is None:
        raise FileError(
            "The sample names a side that the batch does not have. The file was changed; draw it with --redraw."
        )
    return row[0], row[1]


def message_turns(connection: sqlite3.Connection, batch_number: int) -> list[tuple[int, int]]:
    """(sequence number, turn) of every message of a conversation in which each call says one."""
    rows = connection.execute(
        "SELECT unit_id, turn FROM call WHERE unit_id BETWEEN ? AND ? AND status = 'answered' AND turn IS NOT NULL "
        "ORDER BY unit_id, turn",
        unit_range(batch_number, 1),
    )
    return [(row[0] & MOST_UNITS, row[1]) for row in rows]


class NewCode(NamedTuple):
    place: Place
    agent: str
    code: str
    weight: float


def put_codes(path: Path, batch_id: str, coder: str, new: Iterable[NewCode]) -> None:
    """All of them or none; what the same coder said of the same place before is replaced."""
    now = time.time()
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        base = ({"agent": one.agent, "code": one.code, "weight": one.weight, **_key(number, one.place)} for one in new)
        rows = [{**one, "coder": coder, "at": now} for one in base]
        db.insert_rows(connection, db.Code, rows, "REPLACE")


def _key(batch_number: int, place: Place) -> dict[str, int]:
    return {"unit_id": unit_id(batch_number, place[0]), "side": place[1], "turn": place[2]}


def remove_code(path: Path, batch_id: str, coder: str, place: Place) -> None:
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        db.remove(connection, db.Code, **_key(number, place), coder=coder)


def put_sample(
    path: Path, batch_id: str, name: str, sample: dict[str, Any], weights: Sequence[tuple[Place, float]], *, turns: bool
) -> None:
    """The sample, and the weights that codes have by it: of sides, or of messages where `turns` are coded. What lies
    outside the sample stands for nothing."""
    with writing(path) as connection:
        number = find_batch(connection, batch_id)["number"]
        finding = {"batch_number": number, "name": name, "content": json.dumps(sample)}
        db.insert_rows(connection, db.Finding, [finding], "REPLACE")
        coded = db.col(db.Code.turn) != 0 if turns else db.col(db.Code.turn) == 0
        db.execute(
            connection,
            db.update(db.Code)
            .where(db.col(db.Code.unit_id).between(*unit_range(number, 1)), coded)
            .values(weight=None),
        )
        for place, weight in weights:
            db.change(connection, db.Code, _key(number, place), weight=weight)
