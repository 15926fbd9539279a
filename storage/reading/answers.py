"""What the prompts of an evolution answered: every reply to every problem, as it was graded. Lists are read as bare numbers,
wrong answers first, and what stands behind them for the rows that somebody looks at.

Evaluations that ended before answers were kept have none. Their replies are read from the calls, whose steps name the problem
and the sample (`g4.17/p12/s0`); how they were graded is not known. Their numbers are below zero.
"""

import json
import sqlite3
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidepool.storage.reading import search
from tidepool.storage.reading.typed_rows import whole
from tidepool.storage.schema import SEARCH_INDEX
from tidepool.storage.unit_ids import UNIT_BITS, unit_id

SPLITS = ("judge", "choose", "search")
"""parts of the problems, in the order in which they are told"""
GRADES = ("wrong", "missing", "right", "ungraded")
"""likewise: missing is an answer whose call failed, ungraded one from before answers were kept"""
MOST_WORDS, LONGEST_WORD = 50, 500
"""looked for in questions: SQLite refuses conditions without end"""
_MASK = (1 << UNIT_BITS) - 1

_GRADED = """SELECT a.rowid AS id, a.unit_id, a.step, a.generation, a.genome_id, a.split, a.problem, a.sample, a.extracted,
    a.score, a.details, CASE a.correct WHEN 1 THEN 'right' WHEN 0 THEN 'wrong' ELSE 'missing' END AS grade
    FROM answer a WHERE a.unit_id BETWEEN :first AND :last"""
_UNGRADED = """SELECT -c.id AS id, c.unit_id, c.step, u.round AS generation,
    CASE WHEN json_valid(u.participants) THEN json_extract(u.participants, '$[0]') END AS genome_id,
    CASE WHEN c.step LIKE 'validation/%' THEN 'judge' ELSE 'search' END AS split,
    CAST(substr(c.step, instr(c.step, '/p') + 2) AS INTEGER) AS problem,
    CAST(substr(c.step, instr(c.step, '/s') + 2) AS INTEGER) AS sample, NULL AS extracted, NULL AS score, NULL AS details,
    CASE c.status WHEN 'answered' THEN 'ungraded' ELSE 'missing' END AS grade
    FROM unit u JOIN call c ON c.unit_id = u.id WHERE u.id BETWEEN :first AND :last
    AND c.step GLOB '*/p[0-9]*/s[0-9]*' AND c.step NOT LIKE '%/judge' AND NOT EXISTS (SELECT 1 FROM answer x WHERE x.unit_id = u.id)"""

_IN_ORDER = (
    _GRADED.replace("a.unit_id BETWEEN", "a.rowid BETWEEN :lowest AND :highest AND +a.unit_id BETWEEN"),
    _UNGRADED.replace("JOIN", "CROSS JOIN"),
)
"""The rows of a batch lie together: reading them in their order takes a third of looking them up by the index. And few units
have no answers, if any: SQLite is to look at these first."""


@dataclass(frozen=True, slots=True)
class AnswerFilter:
    """Which answers are wanted; what is not said does not matter."""

    words: str = ""
    """in the reply or in the question"""
    grade: str | None = None
    genomes: tuple[str, ...] = ()
    problem: int | None = None
    split: str | None = None
    conversation: int | None = None
    """the unit it is a part of, by its sequence number"""


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """An answer in a list."""

    grade: str
    genome_id: str
    split: str
    problem: int
    sample: int
    extracted: str | None
    gold: str | None
    question: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    conversation: int
    generation: int | None
    genome_id: str
    split: str
    problem: int
    sample: int
    model: str | None
    question: str | None
    gold: str | None
    reply: str | None
    """None: the call failed"""
    error: str | None
    """why it did"""
    extracted: str | None
    grade: str
    score: float | None
    finish_reason: str | None
    judgement: str | None = None
    """what a judge said of it"""
    metrics: dict[str, Any] = field(default_factory=dict)
    """what else a scorer measured, and why a reply has no mark"""


def matching_answers(connection: sqlite3.Connection, batch_number: int, wanted: AnswerFilter) -> "array[int]":
    """Their numbers: the wrong ones first, of them the worst; then by split and problem. Sorting by one number takes half as
    long as by four."""
    values = _range(connection, batch_number, wanted.conversation)
    conditions = _conditions(connection, wanted, values)
    found = array("q")
    for source in _IN_ORDER:
        rows = connection.execute(
            f"SELECT a.id FROM ({source}) a WHERE {' AND '.join(conditions) or '1'} "
            f"ORDER BY ({_place('a.grade', GRADES)} << 50) + (CAST(coalesce(a.score, 0) * 1000 AS INTEGER) << 40) "
            f"+ ({_place('a.split', SPLITS)} << 36) + a.problem, abs(a.id)",
            values,
        )
        found.extend(row[0] for row in rows)
    return found


def answer_heads(connection: sqlite3.Connection, batch_number: int, numbers: Sequence[int]) -> dict[int, AnswerHead]:
    rows = _numbered(
        connection,
        batch_number,
        numbers,
        "a.id, a.grade, coalesce(a.genome_id, ''), a.split, a.problem, a.sample, substr(a.extracted, 1, 100), "
        "substr(p.gold, 1, 100), substr(p.question, 1, 300)",
    )
    return {row[0]: whole(AnswerHead(*row[1:])) for row in rows}


def read_answers(connection: sqlite3.Connection, batch_number: int, numbers: Sequence[int]) -> list[Answer]:
    """In the order of their numbers."""
    rows = _numbered(
        connection,
        batch_number,
        numbers,
        "a.id, a.unit_id, a.generation, coalesce(a.genome_id, ''), a.split, a.problem, a.sample, c.model, p.question, "
        "p.gold, CASE WHEN c.status = 'answered' THEN c.text END, c.error, a.extracted, a.grade, a.score, "
        "c.finish_reason, CASE WHEN j.status = 'answered' THEN j.text END, a.details",
        "LEFT JOIN call c ON c.unit_id = a.unit_id AND c.step = a.step "
        "LEFT JOIN call j ON j.unit_id = a.unit_id AND j.step = a.step || '/judge'",
    )
    found = {row[0]: whole(Answer(row[1] & _MASK, *row[2:17], *_metrics(row[17]))) for row in rows}
    return [found[number] for number in numbers if number in found]


def _numbered(
    connection: sqlite3.Connection, batch_number: int, numbers: Sequence[int], columns: str, joined: str = ""
) -> list[sqlite3.Row]:
    first, last = _bounds(batch_number)
    rows: list[sqlite3.Row] = []
    for source, column, ids in (
        (_GRADED, "a.rowid", [number for number in numbers if number > 0]),
        (_UNGRADED, "c.id", [-number for number in numbers if number < 0]),
    ):
        if ids:
            rows += connection.execute(
                f"SELECT {columns} FROM ({source} AND {column} IN (SELECT value FROM json_each(:ids))) a "
                "LEFT JOIN problem p ON p.batch_number = :batch AND p.split = a.split AND p.number = a.problem "
                f"{joined}",
                {"batch": batch_number, "first": first, "last": last, "ids": json.dumps(ids)},
            ).fetchall()
    return rows


def shares_right(
    connection: sqlite3.Connection, batch_number: int, split: str, genomes: Sequence[str]
) -> dict[str, dict[int, float]]:
    """Of each genome, by problem of a split, the share of its answers that are right, or their mean score; what is missing
    does not count."""
    rows = connection.execute(
        "SELECT genome_id, problem, avg(coalesce(score, correct)) FROM answer WHERE unit_id BETWEEN ? AND ? AND split = ? "
        "AND correct IS NOT NULL AND genome_id IN (SELECT value FROM json_each(?)) GROUP BY genome_id, problem",
        (*_bounds(batch_number), split, json.dumps(list(genomes))),
    )
    found: dict[str, dict[int, float]] = {}
    for genome, problem, share in rows:
        found.setdefault(genome, {})[problem] = share
    return found


def problem_texts(
    connection: sqlite3.Connection, batch_number: int, split: str, problems: Sequence[int]
) -> dict[int, tuple[str, str]]:
    """Question and right answer by number."""
    rows = connection.execute(
        "SELECT number, question, gold FROM problem WHERE batch_number = ? AND split = ? "
        "AND number IN (SELECT value FROM json_each(?))",
        (batch_number, split, json.dumps(list(problems))),
    )
    return {number: (question, gold) for number, question, gold in rows}


def _metrics(details: str | None) -> list[dict[str, Any]]:
    found = json.loads(details) if details else {}
    return [found if isinstance(found, dict) else {}]


def _bounds(batch_number: int) -> tuple[int, int]:
    return unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1


def _range(connection: sqlite3.Connection, batch_number: int, conversation: int | None) -> dict[str, Any]:
    first, last = _bounds(batch_number)
    if conversation is not None:
        first = last = unit_id(batch_number, conversation)
    query = "SELECT min(rowid), max(rowid) FROM answer WHERE unit_id BETWEEN ? AND ?"
    lowest, highest = connection.execute(query, (first, last)).fetchone()
    return {"batch": batch_number, "first": first, "last": last, "lowest": lowest, "highest": highest}


def _conditions(connection: sqlite3.Connection, wanted: AnswerFilter, values: dict[str, Any]) -> list[str]:
    conditions = []
    for column in ("grade", "problem", "split"):
        if (value := getattr(wanted, column)) is not None:
            conditions.append(f"a.{column} = :{column}")
            values[column] = value
    if wanted.genomes:
        conditions.append("a.genome_id IN (SELECT value FROM json_each(:genomes))")
        values["genomes"] = json.dumps(wanted.genomes)
    if search.match_of(wanted.words):
        conditions.append(_worded(connection, wanted.words, values))
    return conditions


def _worded(connection: sqlite3.Connection, words: str, values: dict[str, Any]) -> str:
    """Replies by the index, as far as it is filled; questions are few and are looked through."""
    looked_for = search.search_words(words)[:MOST_WORDS]
    values |= {f"word{place}": f"%{word[:LONGEST_WORD]}%" for place, word in enumerate(looked_for)}
    like = " AND ".join(f"question LIKE :word{place}" for place in range(len(looked_for)))
    found = f"(a.split, a.problem) IN (SELECT split, number FROM problem WHERE batch_number = :batch AND {like})"
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (SEARCH_INDEX,)).fetchone() is None:
        return found
    values["match"] = search.match_of(words)
    return (
        f"({found} OR (a.unit_id, a.step) IN (SELECT c.unit_id, c.step FROM {SEARCH_INDEX} s JOIN call c ON c.id = s.rowid "
        f"WHERE {SEARCH_INDEX} MATCH :match))"
    )


def _place(column: str, words: Sequence[str]) -> str:
    whens = " ".join(f"WHEN '{word}' THEN {place}" for place, word in enumerate(words))
    return f"CASE {column} {whens} ELSE {len(words)} END"
