"""The genomes of an evolution."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from tidepool.storage.unit_ids import unit_id

_MEMBER = "SELECT genome_id, generation, parents, operator, prompt, fitness, accuracy, missing FROM genome "


def genome(connection: sqlite3.Connection, batch_number: int, genome_id: str) -> dict[str, Any] | None:
    row = connection.execute(
        "SELECT prompt, fitness, accuracy, missing, genome_id, generation, operator FROM genome "
        "WHERE batch_number = ? AND genome_id = ?",
        (batch_number, genome_id),
    ).fetchone()
    return None if row is None else dict(row)


def genome_history(connection: sqlite3.Connection, batch_number: int, genome_id: str) -> dict[str, Any] | None:
    """A genome with its parents and the parts of its fitness. One that is in no family, as those of a random search, is
    known by what its calls were given."""
    row = connection.execute(
        "SELECT genome_id, generation, parents, operator, prompt, fitness, accuracy, missing, details FROM genome "
        "WHERE batch_number = ? AND genome_id = ?",
        (batch_number, genome_id),
    ).fetchone()
    if row is not None:
        found = dict(row)
        return found | {"parents": json.loads(found["parents"]), "details": json.loads(found["details"] or "{}")}
    asked = connection.execute(
        "SELECT u.round AS generation, u.interaction_type AS operator, p.text AS prompt FROM unit u "
        "JOIN call c ON c.unit_id = u.id AND c.step GLOB '*/p[0-9]*/s[0-9]*' AND c.step NOT LIKE '%/judge' JOIN prompt p ON p.hash = c.prompt "
        "WHERE u.id BETWEEN ? AND ? AND u.participants = ? LIMIT 1",
        (unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1, json.dumps([genome_id])),
    ).fetchone()
    if asked is None:
        return None
    unknown: dict[str, Any] = {"parents": [], "fitness": None, "accuracy": None, "missing": None, "details": {}}
    return {"genome_id": genome_id, **dict(asked), **unknown}


def genomes_like(connection: sqlite3.Connection, batch_number: int, beginning: str, most: int = 20) -> list[str]:
    """Ids that begin so, of all that were bred or asked."""
    rows = connection.execute(
        "SELECT genome_id FROM genome WHERE batch_number = :batch AND substr(genome_id, 1, length(:id)) = :id "
        "UNION SELECT j.value FROM unit u, json_each(u.participants) j WHERE u.id BETWEEN :first AND :last "
        "AND substr(j.value, 1, length(:id)) = :id ORDER BY 1 LIMIT :most",
        {
            "batch": batch_number,
            "id": beginning,
            "first": unit_id(batch_number, 0),
            "last": unit_id(batch_number + 1, 0) - 1,
            "most": most,
        },
    ).fetchall()
    return [str(row[0]) for row in rows]


def twins(connection: sqlite3.Connection, batch_number: int, genome_id: str) -> tuple[str, ...]:
    """The genomes with the same prompt and the same examples, this one first: what came about twice is asked once."""
    examples = "CASE WHEN json_valid({0}.details) THEN json_extract({0}.details, '$.examples') END"
    rows = connection.execute(
        "SELECT g.genome_id FROM genome o JOIN genome g ON g.batch_number = o.batch_number AND g.prompt = o.prompt "
        f"AND {examples.format('g')} IS {examples.format('o')} WHERE o.batch_number = ? AND o.genome_id = ? "
        "AND g.genome_id <> o.genome_id ORDER BY g.generation, g.genome_id",
        (batch_number, genome_id),
    ).fetchall()
    return (genome_id, *(row[0] for row in rows))


def genomes_in_order(connection: sqlite3.Connection, batch_number: int) -> list[tuple[Any, ...]]:
    """Every genome (id, generation, parents as JSON, operator, prompt, fitness, accuracy, missing), parents first."""
    where = "WHERE batch_number = ? ORDER BY generation, rowid"
    return [tuple(row) for row in connection.execute(_MEMBER + where, (batch_number,))]


def genomes_named(connection: sqlite3.Connection, batch_number: int, ids: Sequence[str]) -> list[tuple[Any, ...]]:
    """As `genomes_in_order`, of these alone."""
    named = "WHERE batch_number = ? AND genome_id IN (SELECT value FROM json_each(?))"
    return [tuple(row) for row in connection.execute(_MEMBER + named, (batch_number, json.dumps(list(ids))))]


def fittest_of(connection: sqlite3.Connection, batch_number: int, generation: int, most: int) -> list[tuple[Any, ...]]:
    """As `genomes_in_order`, of one generation, the fittest first."""
    where = "WHERE batch_number = ? AND generation = ? ORDER BY fitness DESC NULLS LAST, genome_id LIMIT ?"
    return [tuple(row) for row in connection.execute(_MEMBER + where, (batch_number, generation, most))]


def generation_sizes(connection: sqlite3.Connection, batch_number: int) -> list[tuple[int, int, float | None]]:
    """(generation, genomes, the best fitness), the youngest first."""
    rows = connection.execute(
        "SELECT generation, count(*), max(fitness) FROM genome WHERE batch_number = ? GROUP BY generation ORDER BY generation DESC",
        (batch_number,),
    )
    return [tuple(row) for row in rows]


def judged_since(connection: sqlite3.Connection, batch_number: int, last_row: int) -> list[tuple[int, str | None]]:
    """(number of the row, details as JSON) of the genomes that were written since one."""
    rows = connection.execute(
        "SELECT rowid, details FROM genome WHERE batch_number = ? AND rowid > ? ORDER BY rowid",
        (batch_number, last_row),
    )
    return [(row[0], row[1]) for row in rows]


def genome_counts(connection: sqlite3.Connection, batch_number: int) -> tuple[int, int, float | None]:
    """Genomes, distinct prompts, and the share of their calls that failed, so one that was asked more counts more."""
    asked = "json_extract(details, '$.asked')"
    total, prompts, missing = connection.execute(
        f"SELECT count(*), count(DISTINCT prompt), sum(missing * {asked}) / sum({asked}) FROM genome "
        "WHERE batch_number = ?",
        (batch_number,),
    ).fetchone()
    return total, prompts, missing


def problem_counts(connection: sqlite3.Connection, batch_number: int) -> dict[str, int]:
    """How many problems each split has."""
    rows = connection.execute(
        "SELECT split, count(*) FROM problem WHERE batch_number = ? GROUP BY split ORDER BY split DESC", (batch_number,)
    )
    return {row[0]: row[1] for row in rows}
