"""The conversations of a secret game: what each side revealed, who sat out, what was planted and said."""

import sqlite3
from typing import Any


def outcomes(connection: sqlite3.Connection, batch_id: str) -> list[tuple[Any, ...]]:
    """Both sides of every conversation, the opener's first: (conversation id, mode, game, agent, opponent, opener,
    revealed, obtained, detector, turn, score)."""
    rows = connection.execute(
        "SELECT conversation_id, mode, game, agent, opponent, opener, revealed, obtained, detector, turn, score "
        "FROM outcomes WHERE batch_id = ? ORDER BY conversation_id, opener DESC",
        (batch_id,),
    )
    return [tuple(row) for row in rows]


def reveals_by_meeting(connection: sqlite3.Connection, batch_id: str) -> list[tuple[int, str, str, int]]:
    """(sequence number, opener, partner, secrets revealed) of each conversation."""
    rows = connection.execute(
        "SELECT c.sequence_number, o.agent, o.opponent, o.revealed + o.obtained FROM outcomes o "
        "JOIN conversations c ON c.id = o.conversation_id WHERE o.batch_id = ? AND o.opener",
        (batch_id,),
    )
    return [(number, opener, partner, revealed) for number, opener, partner, revealed in rows]


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


def verdict_counts(connection: sqlite3.Connection, batch_id: str) -> list[tuple[str, int, int | None, int]]:
    """(agent, revealed by wording, the judge's verdict, how often)."""
    return connection.execute(
        "SELECT agent, revealed, verdict, count(*) FROM verdicts WHERE batch_id = ? GROUP BY 1, 2, 3", (batch_id,)
    ).fetchall()


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
