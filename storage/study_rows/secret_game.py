"""The conversations of a secret game: what each side revealed, who sat out, what was planted and said."""

import sqlite3
from collections.abc import Iterator
from typing import Any

from tidepool.storage.reading.units import MOST_UNITS
from tidepool.storage.unit_ids import unit_id

PAGE = 50_000
"""rows read at once: between pages nobody holds a snapshot of the file open"""


def outcomes(connection: sqlite3.Connection, batch_number: int) -> Iterator[tuple[Any, ...]]:
    """Both sides of every conversation, the opener's first: (conversation id, mode, game, agent, opponent, opener,
    revealed, obtained, turn, score, scenario, uncertain, the judge's verdict)."""
    last = unit_id(batch_number, MOST_UNITS)
    unit, side = unit_id(batch_number, 0), 0
    while True:
        cursor = connection.execute(
            f"SELECT {_SIDE}, o.side FROM outcome o WHERE (o.unit_id, o.side) > (?, ?) AND o.unit_id <= ? "
            "ORDER BY o.unit_id, o.side LIMIT ?",
            (unit, side, last, PAGE),
        )
        cursor.row_factory = None  # plain tuples: two million of anything else take seconds
        page = cursor.fetchall()
        yield from page
        if len(page) < PAGE:
            return
        unit, side = page[-1][0], page[-1][-1]


_SIDE = (
    "o.unit_id, o.mode, o.game, o.agent, o.opponent, o.side = 0, o.revealed, o.obtained, o.turn, o.score, o.scenario, "
    "o.uncertain, o.verdict"
)


def outcomes_between(connection: sqlite3.Connection, batch_number: int, first: int, last: int) -> list[tuple[Any, ...]]:
    """The same of the conversations from one to another that came to their end, by sequence number instead of id."""
    rows = connection.execute(
        f"SELECT o.unit_id & {MOST_UNITS}, {_SIDE} FROM outcome o JOIN unit u ON u.id = o.unit_id "
        "WHERE o.unit_id BETWEEN ? AND ? AND u.status = 'completed' ORDER BY o.unit_id, o.side",
        (unit_id(batch_number, first), unit_id(batch_number, last)),
    )
    return [(number, *rest) for number, _, *rest in rows]


def reveals_by_meeting(
    connection: sqlite3.Connection, batch_id: str
) -> list[tuple[int, str, str, int, int | None, int]]:
    """(sequence number, opener, partner, game, scenario, secrets revealed) of each conversation."""
    return connection.execute(
        "SELECT c.sequence_number, o.agent, o.opponent, o.game, o.scenario, o.revealed + o.obtained FROM outcomes o "
        "JOIN conversations c ON c.id = o.conversation_id WHERE o.batch_id = ? AND o.opener",
        (batch_id,),
    ).fetchall()


def failures_by_pair(connection: sqlite3.Connection, batch_id: str) -> list[tuple[str, int]]:
    """How many conversations failed, by their participants as JSON."""
    return connection.execute(
        "SELECT participants, count(*) FROM conversations WHERE batch_id = ? AND status = 'failed' GROUP BY 1",
        (batch_id,),
    ).fetchall()


def sit_outs(connection: sqlite3.Connection, batch_id: str) -> dict[str, int]:
    """How many rounds each agent had no conversation in."""
    rows = connection.execute(
        "SELECT agent, count(*) FROM sit_outs WHERE batch_id = ? GROUP BY agent ORDER BY agent", (batch_id,)
    )
    return dict(rows.fetchall())


def planted_messages(connection: sqlite3.Connection, batch_number: int, every: int) -> list[tuple[Any, ...]]:
    """Messages whose truth is known, of each `every`th conversation, by side: (sequence number, game, round, side,
    agent, opponent, verdict, text, truth)."""
    return connection.execute(
        "SELECT u.sequence_number, u.game, u.round, o.side, o.agent, o.opponent, o.verdict, c.text, c.truth "
        "FROM unit u JOIN outcome o ON o.unit_id = u.id JOIN call c ON c.unit_id = u.id "
        "WHERE u.batch_number = ? AND u.sequence_number % ? = 0 AND c.truth IS NOT NULL AND c.status = 'answered' "
        "AND (c.turn - 1) % 2 = o.side ORDER BY u.id, o.side, c.turn",
        (batch_number, every),
    ).fetchall()
