"""The conversations of a secret game: what each side revealed, who sat out, what was planted and said."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tidepool.storage.reading.queries import LONGEST_MESSAGE
from tidepool.storage.reading.units import MOST_UNITS
from tidepool.storage.unit_ids import unit_id

PAGE = 25_000
"""conversations read at once: between pages nobody holds a snapshot of the file open"""


class SidePage(NamedTuple):
    """Both sides of conversations, the opener's first; each side's columns as one text, for few sides differ in them."""

    units: Sequence[int]
    kinds: Sequence[str]
    """as JSON: mode, game, agent, opponent, opener, revealed, obtained, turn, scenario, uncertain, the judge's verdict, score"""
    scores: Sequence[float | None] | None = None
    """where the kinds do not tell those of all"""


def outcomes(connection: sqlite3.Connection, batch_number: int) -> Iterator[SidePage]:
    """All sides. SQLite hands over a page as one row: a row for each side takes as long as all the rest."""
    for bounds in _pages(connection, batch_number):
        units, kinds = connection.execute(_PAGE, bounds).fetchone()
        if units is not None:
            told = kinds.split(_BETWEEN)
            scores = _scores(connection, bounds) if _NO_SCORE + _BETWEEN in kinds + _BETWEEN else None
            yield SidePage(json.loads(f"[{units}]"), told, scores)


def score_counts(connection: sqlite3.Connection, batch_number: int) -> list[tuple[float, int]]:
    """How many sides of conversations came to each score, lowest first; SQLite would sort them all to count them."""
    counts: Counter[float] = Counter()
    for bounds in _pages(connection, batch_number):
        whole, sides = connection.execute(f"SELECT group_concat({_WHOLE}), count(*) {_SIDES}", bounds).fetchone()
        found = Counter(whole.split(",") if whole else ())
        if found.total() == sides:
            counts.update({float(score): times for score, times in found.items()})
        else:
            counts.update(score for score in _scores(connection, bounds) if score is not None)
    return sorted(counts.items())


def _pages(connection: sqlite3.Connection, batch_number: int) -> Iterator[tuple[int, int]]:
    """First and last conversation of each."""
    bounds = (unit_id(batch_number, 0), unit_id(batch_number, MOST_UNITS))
    first, last = (connection.execute(_END.format(end), bounds).fetchone()[0] for end in ("min", "max"))
    while first is not None and first <= last:
        yield first, min(last, first + PAGE - 1)
        first += PAGE


def _scores(connection: sqlite3.Connection, bounds: tuple[int, int]) -> list[float | None]:
    """As numbers: SQLite's text of one that is not whole may be short of its last digit."""
    cursor = connection.execute(f"SELECT o.score {_SIDES} ORDER BY o.unit_id, o.side", bounds)
    cursor.row_factory = None
    return [score for (score,) in cursor.fetchall()]


_END = "SELECT {}(unit_id) FROM outcome WHERE unit_id BETWEEN ? AND ?"
_BETWEEN = "\x1e"
"""what JSON never holds as it is"""
_NO_SCORE = ",null]"
_WHOLE = "CASE WHEN o.score = CAST(o.score AS INTEGER) THEN CAST(o.score AS INTEGER) END"
_SIDES = "FROM outcome o WHERE o.unit_id BETWEEN ? AND ?"
_PAGE = (
    "SELECT group_concat(unit), group_concat(kind, char(30)) FROM (SELECT o.unit_id AS unit, json_array(o.mode, o.game, "
    "o.agent, o.opponent, o.side = 0, o.revealed, o.obtained, o.turn, o.scenario, o.uncertain, o.verdict, "
    f"{_WHOLE}) AS kind {_SIDES} ORDER BY o.unit_id, o.side)"
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
        "SELECT u.sequence_number, u.game, u.round, o.side, o.agent, o.opponent, o.verdict, substr(c.text, 1, :most), c.truth "
        "FROM sampled CROSS JOIN unit u ON u.id = sampled.id CROSS JOIN outcome o ON o.unit_id = u.id "
        "CROSS JOIN call c ON c.unit_id = u.id WHERE c.truth IS NOT NULL AND c.status = 'answered' "
        "AND (c.turn - 1) % 2 = o.side ORDER BY u.id, o.side, c.turn",
        {
            "first": unit_id(batch_number, every),
            "every": every,
            "last": unit_id(batch_number, last),
            "most": LONGEST_MESSAGE,
        },
    ).fetchall()
