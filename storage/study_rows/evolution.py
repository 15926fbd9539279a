"""The genomes of an evolution."""

import sqlite3
from typing import Any


def genome(connection: sqlite3.Connection, batch_number: int, genome_id: str) -> dict[str, Any] | None:
    row = connection.execute(
        "SELECT prompt, fitness, accuracy, missing, genome_id, generation, operator FROM genome "
        "WHERE batch_number = ? AND genome_id = ?",
        (batch_number, genome_id),
    ).fetchone()
    return None if row is None else dict(row)


def genomes_in_order(connection: sqlite3.Connection, batch_number: int) -> list[tuple[Any, ...]]:
    """Every genome (id, generation, parents as JSON, operator, prompt, fitness, accuracy, missing), parents first."""
    rows = connection.execute(
        "SELECT genome_id, generation, parents, operator, prompt, fitness, accuracy, missing FROM genome "
        "WHERE batch_number = ? ORDER BY generation, rowid",
        (batch_number,),
    )
    return [tuple(row) for row in rows]


def genome_counts(connection: sqlite3.Connection, batch_number: int) -> tuple[int, int, float | None]:
    """Genomes, distinct prompts, and the share of their calls that failed, so one that was asked more counts more."""
    asked = "json_extract(details, '$.asked')"
    total, prompts, missing = connection.execute(
        f"SELECT count(*), count(DISTINCT prompt), sum(missing * {asked}) / sum({asked}) FROM genome "
        "WHERE batch_number = ?",
        (batch_number,),
    ).fetchone()
    return total, prompts, missing
