"""Reads the data of prompt evolution and query mutation: genomes, graded answers, training updates, episodes.

A list of answers is read as bare numbers, wrong answers first. Further columns are read only for the visible rows. The file
may be untrusted, so every value is checked before it is used.
"""

import json
import math
import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidepool.storage.queries import search
from tidepool.storage.queries.units import StoredMessage, whole
from tidepool.storage.states import MOST_UNITS, unit_id, unit_range


def genome_history(connection: sqlite3.Connection, batch_number: int, genome_id: str) -> dict[str, Any] | None:
    """Returns a genome with its parents and the parts of its fitness. For a genome outside the family tree, such as one of a
    random search, reads the prompt from its calls."""
    row = connection.execute(
        "SELECT genome_id, generation, parents, operator, prompt, fitness, accuracy, missing, details FROM genome "
        "WHERE batch_number = ? AND genome_id = ?",
        (batch_number, genome_id),
    ).fetchone()
    if row is not None:
        genome = dict(row)
        return genome | {"parents": json.loads(genome["parents"]), "details": json.loads(genome["details"] or "{}")}
    first_use = connection.execute(
        "SELECT u.round AS generation, u.interaction_type AS operator, p.text AS prompt FROM unit u "
        "JOIN call c ON c.unit_id = u.id AND c.step GLOB '*/p[0-9]*/s[0-9]*' AND c.step NOT LIKE '%/judge' JOIN prompt p ON p.hash = c.prompt "
        "WHERE u.id BETWEEN ? AND ? AND u.participants = ? LIMIT 1",
        (*unit_range(batch_number), json.dumps([genome_id])),
    ).fetchone()
    if first_use is None:
        return None
    unknown: dict[str, Any] = {"parents": [], "fitness": None, "accuracy": None, "missing": None, "details": {}}
    return {"genome_id": genome_id, **dict(first_use), **unknown}


def genomes_like(connection: sqlite3.Connection, batch_number: int, beginning: str, most: int = 20) -> list[str]:
    """Returns the ids with this prefix, of all genomes that were bred or evaluated."""
    first, last = unit_range(batch_number)
    rows = connection.execute(
        "SELECT genome_id FROM genome WHERE batch_number = :batch AND substr(genome_id, 1, length(:id)) = :id "
        "UNION SELECT j.value FROM unit u, json_each(u.participants) j WHERE u.id BETWEEN :first AND :last "
        "AND substr(j.value, 1, length(:id)) = :id ORDER BY 1 LIMIT :most",
        {"batch": batch_number, "id": beginning, "first": first, "last": last, "most": most},
    ).fetchall()
    return [str(row[0]) for row in rows]


def genomes_with_same_prompt(connection: sqlite3.Connection, batch_number: int, genome_id: str) -> tuple[str, ...]:
    """Returns the genomes with the same prompt and examples, this one first. Equal genomes are evaluated only once."""
    examples = "CASE WHEN json_valid({0}.details) THEN json_extract({0}.details, '$.examples') END"
    rows = connection.execute(
        "SELECT g.genome_id FROM genome o JOIN genome g ON g.batch_number = o.batch_number AND g.prompt = o.prompt "
        f"AND {examples.format('g')} IS {examples.format('o')} WHERE o.batch_number = ? AND o.genome_id = ? "
        "AND g.genome_id <> o.genome_id ORDER BY g.generation, g.genome_id",
        (batch_number, genome_id),
    ).fetchall()
    return (genome_id, *(row[0] for row in rows))


def genomes_in_order(connection: sqlite3.Connection, batch_number: int) -> list[tuple[Any, ...]]:
    """Returns every genome (id, generation, parents as JSON, operator, prompt, fitness, accuracy, missing), parents first."""
    rows = connection.execute(
        "SELECT genome_id, generation, parents, operator, prompt, fitness, accuracy, missing FROM genome "
        "WHERE batch_number = ? ORDER BY generation, rowid",
        (batch_number,),
    )
    return [tuple(row) for row in rows]


def genome_counts(connection: sqlite3.Connection, batch_number: int) -> tuple[int, int, float | None]:
    """Returns the number of genomes, the number of distinct prompts, and the share of failed calls over all genomes."""
    calls = "json_extract(details, '$.asked')"
    total, prompts, missing = connection.execute(
        f"SELECT count(*), count(DISTINCT prompt), sum(missing * {calls}) / sum({calls}) FROM genome "
        "WHERE batch_number = ?",
        (batch_number,),
    ).fetchone()
    return total, prompts, missing


SPLITS = ("judge", "search")
"""splits of the problems, in display order"""
GRADES = ("wrong", "unclear", "missing", "right")
"""grades in display order; `unclear` is a reply without a readable answer, `missing` means that the call or the grading failed"""

_GRADED = """SELECT a.rowid AS id, a.unit_id, a.step, a.generation, a.genome_id, a.split, a.problem, a.sample, a.extracted,
    a.score, a.details, CASE a.correct WHEN 1 THEN 'right' WHEN 0 THEN 'wrong'
    ELSE iif(a.details LIKE '{"unclear"%', 'unclear', 'missing') END AS grade
    FROM answer a WHERE a.unit_id BETWEEN :first AND :last"""
_IN_ORDER = _GRADED.replace("a.unit_id BETWEEN", "a.rowid BETWEEN :lowest AND :highest AND +a.unit_id BETWEEN")
"""The rows of a batch are adjacent. Reading them in order takes a third of the time of index lookups."""


@dataclass(frozen=True, slots=True)
class AnswerFilter:
    """Selects answers. Fields that are not set do not filter."""

    words: str = ""
    """words in the reply or in the question"""
    grade: str | None = None
    genomes: tuple[str, ...] = ()
    problem: int | None = None
    split: str | None = None
    conversation: int | None = None
    """the sequence number of its unit"""


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
    """why the call failed"""
    extracted: str | None
    grade: str
    score: float | None
    finish_reason: str | None
    judgement: str | None = None
    """a judge's reply"""
    metrics: dict[str, Any] = field(default_factory=dict)
    """further metrics of a scorer, and why a reply has no grade"""


def matching_answers(connection: sqlite3.Connection, batch_number: int, filter_by: AnswerFilter) -> "array[int]":
    """Returns the row ids of the matching answers: wrong ones first, worst first, then by split and problem. Sorts by one
    combined number, which takes half the time of sorting by four."""
    values = _range(connection, batch_number, filter_by.conversation)
    conditions = _conditions(filter_by, values)
    rows = connection.execute(
        f"SELECT a.id FROM ({_IN_ORDER}) a WHERE {' AND '.join(conditions) or '1'} "
        f"ORDER BY ({_place('a.grade', GRADES)} << 50) + (CAST(coalesce(a.score, 0) * 1000 AS INTEGER) << 40) "
        f"+ ({_place('a.split', SPLITS)} << 36) + a.problem, a.id",
        values,
    )
    return array("q", (row[0] for row in rows))


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
    """Returns the answers in the order of `numbers`."""
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
    answers = {row[0]: whole(Answer(row[1] & MOST_UNITS, *(*row[2:17], _object(row[17])))) for row in rows}
    return [answers[number] for number in numbers if number in answers]


def _numbered(
    connection: sqlite3.Connection, batch_number: int, numbers: Sequence[int], columns: str, joined: str = ""
) -> list[sqlite3.Row]:
    first, last = unit_range(batch_number)
    return connection.execute(
        f"SELECT {columns} FROM ({_GRADED} AND a.rowid IN (SELECT value FROM json_each(:ids))) a "
        f"LEFT JOIN problem p ON p.batch_number = :batch AND p.split = a.split AND p.number = a.problem {joined}",
        {"batch": batch_number, "first": first, "last": last, "ids": json.dumps(list(numbers))},
    ).fetchall()


def _range(connection: sqlite3.Connection, batch_number: int, conversation: int | None) -> dict[str, Any]:
    first, last = unit_range(batch_number)
    if conversation is not None:
        first = last = unit_id(batch_number, conversation)
    query = "SELECT min(rowid), max(rowid) FROM answer WHERE unit_id BETWEEN ? AND ?"
    lowest, highest = connection.execute(query, (first, last)).fetchone()
    return {"batch": batch_number, "first": first, "last": last, "lowest": lowest, "highest": highest}


def _conditions(filter_by: AnswerFilter, values: dict[str, Any]) -> list[str]:
    conditions = []
    for column in ("grade", "problem", "split"):
        if (value := getattr(filter_by, column)) is not None:
            conditions.append(f"a.{column} = :{column}")
            values[column] = value
    if filter_by.genomes:
        conditions.append("a.genome_id IN (SELECT value FROM json_each(:genomes))")
        values["genomes"] = json.dumps(filter_by.genomes)
    if words := search.search_words(filter_by.words):
        question, patterns = search.containing("question", words)
        reply, _ = search.containing("c.text", words)
        values |= patterns
        conditions.append(
            f"((a.split, a.problem) IN (SELECT split, number FROM problem WHERE batch_number = :batch AND {question}) OR "
            f"EXISTS (SELECT 1 FROM call c WHERE c.unit_id = a.unit_id AND c.step = a.step AND {reply}))"
        )
    return conditions


def _place(column: str, words: Sequence[str]) -> str:
    whens = " ".join(f"WHEN '{word}' THEN {place}" for place, word in enumerate(words))
    return f"CASE {column} {whens} ELSE {len(words)} END"


def training_updates(connection: sqlite3.Connection, batch_number: int) -> list[sqlite3.Row]:
    return connection.execute(
        "SELECT update_number, env_steps, mean_reward, success_rate, details FROM training_update "
        "WHERE batch_number = ? ORDER BY update_number",
        (batch_number,),
    ).fetchall()


QUERY_SPLITS = {"training": "training query", "heldout": "held-out query"}
"""the split of an episode's query → its description"""
LONGEST_EPISODE = 10_000


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    number: int
    """from 1"""
    operator: str
    query: str | None
    """the query before the step; None if it is not known (yet)"""
    rewritten: str | None
    """the query that was sent to the target; the same if nothing was rewritten"""
    fell_back: bool
    reply: str | None
    model: str | None
    """the target model"""
    reward: float | None
    ended: bool
    """the episode has recorded its result"""


@dataclass(frozen=True, slots=True)
class EpisodeHead:
    player: str
    status: str
    error: str | None
    split: str
    reward: float | None
    """mean reward of its answered steps"""
    query: str


def episode_heads(connection: sqlite3.Connection, batch_number: int, numbers: Sequence[int]) -> dict[int, EpisodeHead]:
    rows = connection.execute(
        "SELECT sequence_number, substr(json_extract(participants, '$[0]'), 1, 200), status, substr(error, 1, 200), details "
        "FROM unit WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([unit_id(batch_number, number) for number in numbers]),),
    ).fetchall()
    return {row[0]: _head(row[1], row[2], row[3], _object(row[4])) for row in rows}


def _head(player: str | None, status: str, error: str | None, details: Mapping[str, Any]) -> EpisodeHead:
    query = _text(details.get("query")) or ""
    return EpisodeHead(player or "", status, error, split_of(details), _number(details.get("mean_reward")), query[:200])


def players(connection: sqlite3.Connection, batch_number: int) -> list[str]:
    rows = connection.execute(
        "SELECT DISTINCT json_extract(participants, '$[0]') FROM unit WHERE id BETWEEN ? AND ? LIMIT 100",
        unit_range(batch_number, 1),
    ).fetchall()
    return [row[0] for row in rows if isinstance(row[0], str)]


def of_split(connection: sqlite3.Connection, batch_number: int, split: str) -> set[int]:
    """Returns the numbers of the episodes of this split."""
    rows = connection.execute(
        "SELECT sequence_number FROM unit WHERE id BETWEEN ? AND ? AND json_extract(details, '$.phase') = ?",
        (*unit_range(batch_number, 1), split),
    )
    return {row[0] for row in rows}


def split_of(details: Mapping[str, Any]) -> str:
    return str(details.get("phase") or "training")


def episode_steps(details: Mapping[str, Any], messages: Sequence[StoredMessage]) -> Iterator[EpisodeStep]:
    """Yields the steps of an episode. For a running episode, yields the steps so far."""
    messages_by_turn = {message.turn: message for message in messages}
    recorded = _recorded_steps(details) or [{} for _ in range((max(messages_by_turn, default=0) + 1) // 2)]
    since = int(_number(details.get("since")) or 0)
    text = _text(details.get("asked" if since else "query"))
    for index, step in enumerate(recorded):
        rewrite, answer = messages_by_turn.get(2 * index + 1), messages_by_turn.get(2 * index + 2)
        before = text if index >= since else None
        after = rewrite.content if rewrite else before
        yield EpisodeStep(
            index + 1,
            str(step.get("operator") or (rewrite.speaker if rewrite else "step")),
            before,
            after,
            bool(step.get("fell_back")),
            answer.content if answer else None,
            answer.model if answer else None,
            _number(step.get("reward")),
            bool(step),
        )
        text = after if index >= since else text


def _recorded_steps(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    steps = details.get("steps")
    steps = steps[:LONGEST_EPISODE] if isinstance(steps, list) else []
    return [step if isinstance(step, dict) else {} for step in steps]


def _object(stored: str | None) -> dict[str, Any]:
    found = json.loads(stored) if stored else {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
