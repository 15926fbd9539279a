"""Reads the results of conversations: sides of secret games, ratings of simulations, and the data that branches start from."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidepool.storage.file import value_of
from tidepool.storage.states import MOST_UNITS, unit_id, unit_range


def measured_by_unit(connection: sqlite3.Connection, batch_id: str) -> list[tuple[Any, ...]]:
    """Returns each value of the batch: (sequence number, participants, participant, measure, value, cluster, block)."""
    rows = connection.execute(
        "SELECT m.unit & ?, u.participants, m.participant, m.measure, m.value, m.cluster, m.block "
        "FROM measures m JOIN unit u ON u.id = m.unit WHERE m.batch_id = ? ORDER BY m.unit",
        (MOST_UNITS, batch_id),
    )
    return [tuple(row) for row in rows]


def measured_of(
    connection: sqlite3.Connection, batch_number: int, unit: int, measure: str
) -> list[tuple[str | None, float | None]]:
    """The values of one measure of one unit, with their participants."""
    query = "SELECT participant, value FROM measure WHERE unit_id = ? AND measure = ?"
    return [(row[0], row[1]) for row in connection.execute(query, (unit_id(batch_number, unit), measure))]


def failed_with(connection: sqlite3.Connection, batch_number: int, unit: int, participant: str | None) -> bool:
    """Whether a unit failed, and this participant took part; None: the unit as a whole."""
    query = "SELECT participants FROM unit WHERE id = ? AND status = 'failed'"
    row = connection.execute(query, (unit_id(batch_number, unit),)).fetchone()
    return row is not None and (participant is None or participant in json.loads(row[0]))


def rated_sides(connection: sqlite3.Connection, batch_number: int) -> list[tuple[int, int, str, float | None]]:
    """Returns a judge's ratings of completed simulations: (sequence number, side from 0, persona, rating). A rating may be
    unclear or missing."""
    return connection.execute(
        "SELECT j.unit_id & ?, j.place - 1, j.entity, j.rating FROM judgement j JOIN unit u ON u.id = j.unit_id "
        "WHERE j.unit_id BETWEEN ? AND ? AND u.status = 'completed' ORDER BY j.unit_id, j.place",
        (MOST_UNITS, *unit_range(batch_number, 1)),
    ).fetchall()


PAGE = 25_000
"""conversations that are read at once; no snapshot of the file is held between pages"""


class SidePage(NamedTuple):
    """Both sides of conversations, the opener first. The columns of a side are one text, because few distinct texts occur."""

    units: Sequence[int]
    kinds: Sequence[str]
    """as JSON: game, agent, opponent, opener, revealed, obtained, scenario, uncertain, the judge's verdict, score"""
    scores: Sequence[float | None] | None = None
    """scores of all sides, if the kinds do not contain all of them"""


def outcomes(connection: sqlite3.Connection, batch_number: int) -> Iterator[SidePage]:
    """Yields all sides. SQLite returns a page as one row, because a row for each side would double the time."""
    for bounds in _pages(connection, batch_number):
        units, kinds = connection.execute(_PAGE, bounds).fetchone()
        if units is not None:
            split = kinds.split(_BETWEEN)
            scores = _scores(connection, bounds) if _NO_SCORE + _BETWEEN in kinds + _BETWEEN else None
            yield SidePage(json.loads(f"[{units}]"), split, scores)


def _pages(connection: sqlite3.Connection, batch_number: int) -> Iterator[tuple[int, int]]:
    """Yields the first and last conversation of each page."""
    bounds = unit_range(batch_number)
    first, last = (value_of(connection, _END.format(end), bounds) for end in ("min", "max"))
    while first is not None and first <= last:
        yield first, min(last, first + PAGE - 1)
        first += PAGE


def _scores(connection: sqlite3.Connection, bounds: tuple[int, int]) -> list[float | None]:
    """Returns the scores as numbers, because SQLite's text of a fraction may drop the last digit."""
    cursor = connection.execute(f"SELECT o.score {_SIDES} ORDER BY o.unit_id, o.side", bounds)
    cursor.row_factory = None
    return [score for (score,) in cursor.fetchall()]


_END = "SELECT {}(unit_id) FROM outcome WHERE unit_id BETWEEN ? AND ?"
_BETWEEN = "\x1e"
"""a separator that JSON never contains unescaped"""
_NO_SCORE = ",null]"
_WHOLE = "CASE WHEN o.score = CAST(o.score AS INTEGER) THEN CAST(o.score AS INTEGER) END"
_SIDES = "FROM outcome o WHERE o.unit_id BETWEEN ? AND ?"
_PAGE = (
    "SELECT group_concat(unit), group_concat(kind, char(30)) FROM (SELECT o.unit_id AS unit, json_array(o.game, "
    "o.agent, o.opponent, o.side = 0, o.revealed, o.obtained, o.scenario, o.uncertain, o.verdict, "
    f"{_WHOLE}) AS kind {_SIDES} ORDER BY o.unit_id, o.side)"
)


def outcomes_between(connection: sqlite3.Connection, batch_number: int, first: int, last: int) -> list[tuple[Any, ...]]:
    """Returns the sides of completed conversations from `first` to `last`, with the sequence number instead of the id."""
    return connection.execute(
        f"SELECT o.unit_id & {MOST_UNITS}, o.game, o.agent, o.opponent, o.side = 0, o.revealed, o.obtained, o.scenario, "
        "o.uncertain, o.verdict, o.score FROM outcome o JOIN unit u ON u.id = o.unit_id "
        "WHERE o.unit_id BETWEEN ? AND ? AND u.status = 'completed' ORDER BY o.unit_id, o.side",
        (unit_id(batch_number, first), unit_id(batch_number, last)),
    ).fetchall()


def failures_by_pair(connection: sqlite3.Connection, batch_id: str) -> list[tuple[str, int]]:
    """Returns the number of failed conversations by their participants, as JSON."""
    return connection.execute(
        "SELECT participants, count(*) FROM conversations WHERE batch_id = ? AND status = 'failed' GROUP BY 1",
        (batch_id,),
    ).fetchall()


def sit_outs(connection: sqlite3.Connection, batch_id: str) -> dict[str, int]:
    """Returns the number of rounds in which each agent had no conversation."""
    rows = connection.execute(
        "SELECT agent, count(*) FROM sit_outs WHERE batch_id = ? GROUP BY agent ORDER BY agent", (batch_id,)
    )
    return dict(rows.fetchall())


class TalkRow(NamedTuple):
    """A unit of the batch that a branch starts from."""

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
        unit_range(batch_number, 1),
    )
    return [TalkRow(*row) for row in rows]


def answers_by_step(connection: sqlite3.Connection, batch_number: int, sequence_number: int) -> dict[str, sqlite3.Row]:
    """Returns the replies of a unit by step."""
    rows = connection.execute(
        "SELECT step, key, speaker, text, truth, input_tokens, output_tokens, finish_reason, served_model, thought "
        "FROM call WHERE unit_id = ? AND status = 'answered'",
        (unit_id(batch_number, sequence_number),),
    )
    return {row["step"]: row for row in rows}


def concluded_talks(
    connection: sqlite3.Connection, batch_number: int, before: Mapping[int, int]
) -> Iterator[dict[str, Any]]:
    """Yields the concluded conversations of each game before the given round, in order: the participants, whether each revealed,
    and the messages."""
    for game, round in before.items():
        units = connection.execute(
            "SELECT id, round, participants FROM unit WHERE batch_number = ? AND game = ? AND round < ? ORDER BY id",
            (batch_number, game, round),
        ).fetchall()
        for unit in units:
            sides = connection.execute(
                "SELECT revealed FROM outcome WHERE unit_id = ? ORDER BY side", (unit["id"],)
            ).fetchall()
            messages = connection.execute(
                "SELECT text FROM call WHERE unit_id = ? AND status = 'answered' AND turn IS NOT NULL ORDER BY turn",
                (unit["id"],),
            ).fetchall()
            if sides:
                yield {
                    "number": unit["id"] & MOST_UNITS,
                    "game": game,
                    "round": unit["round"],
                    "participants": json.loads(unit["participants"]),
                    "revealed": [bool(side["revealed"]) for side in sides],
                    "said": [message["text"] for message in messages],
                }


def records_of_batch(connection: sqlite3.Connection, batch_number: int, name: str) -> Iterator[Any]:
    """Yields the records of the whole batch in order."""
    rows = connection.execute(
        "SELECT content FROM record WHERE unit_id = ? AND name = ? ORDER BY position", (unit_id(batch_number, 0), name)
    )
    return (json.loads(row["content"]) for row in rows)
