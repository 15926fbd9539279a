"""The conversations of a secret game: what each side revealed, who sat out, what was planted and said."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tidepool.storage.reading.units import MOST_UNITS
from tidepool.storage.unit_ids import unit_id

PAGE = 25_000
"""conversations read at once: between pages nobody holds a snapshot of the file open"""


class SidePage(NamedTuple):
    """Both sides of conversations, the opener's first; each side's columns as one text, for few sides differ in them."""

    units: Sequence[int]
    kinds: Sequence[str]
    """as JSON: mode, game, agent, opponent, opener, revealed, obtained, turn, scenario, uncertain, the judge's verdict"""
    scores: Sequence[float | None]


def outcomes(connection: sqlite3.Connection, batch_number: int) -> Iterator[SidePage]:
    """All sides. SQLite hands over a text in the time of two columns, and a text that is known already need not be read."""
    bounds = (unit_id(batch_number, 0), unit_id(batch_number, MOST_UNITS))
    first, last = (connection.execute(_END.format(end), bounds).fetchone()[0] for end in ("min", "max"))
    while first is not None and first <= last:
        cursor = connection.execute(_PAGE, (first, min(last, first + PAGE - 1)))
        cursor.row_factory = None  # plain tuples: two million of anything else take seconds
        if rows := cursor.fetchall():
            yield SidePage(*zip(*rows, strict=True))
        first += PAGE


_END = "SELECT {}(unit_id) FROM outcome WHERE unit_id BETWEEN ? AND ?"
_PAGE = (
    "SELECT o.unit_id, json_array(o.mode, o.game, o.agent, o.opponent, o.side = 0, o.revealed, o.obtained, o.turn, "
    "o.scenario, o.uncertain, o.verdict), o.score FROM outcome o WHERE o.unit_id BETWEEN ? AND ? "
    "ORDER BY o.unit_id, o.side"
)
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


def planted_messages(connection: sqlite3.Connection, batch_number: int, every: int, last: int) -> list[tuple[Any, ...]]:
    """Messages whose truth is known, of each `every`th conversation up to the last, by side: (sequence number, game, round, side,
    agent, opponent, verdict, text, truth)."""
    return connection.execute(
        "WITH RECURSIVE sampled(id) AS (SELECT :first UNION ALL SELECT id + :every FROM sampled WHERE id + :every <= :last) "
        "SELECT u.sequence_number, u.game, u.round, o.side, o.agent, o.opponent, o.verdict, c.text, c.truth "
        "FROM sampled CROSS JOIN unit u ON u.id = sampled.id CROSS JOIN outcome o ON o.unit_id = u.id "
        "CROSS JOIN call c ON c.unit_id = u.id WHERE c.truth IS NOT NULL AND c.status = 'answered' "
        "AND (c.turn - 1) % 2 = o.side ORDER BY u.id, o.side, c.turn",
        {"first": unit_id(batch_number, every), "every": every, "last": unit_id(batch_number, last)},
    ).fetchall()
