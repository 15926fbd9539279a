"""What a study found and keeps under a name: any JSON, of whichever kind."""

import json
import sqlite3
from typing import Any

ASKED_MODELS, LOST_CALLS = "asked models", "lost calls"
"""no findings of the study: counts over the calls of a large batch, see `counts_to_keep`"""


def finding(connection: sqlite3.Connection, batch_number: int, name: str) -> Any | None:
    """None where the study has not found it yet."""
    row = connection.execute(
        "SELECT content FROM finding WHERE batch_number = ? AND name = ?", (batch_number, name)
    ).fetchone()
    return None if row is None else json.loads(row[0])


def findings(connection: sqlite3.Connection, batch_number: int) -> dict[str, Any]:
    """All of them by name, in the order of their names."""
    rows = connection.execute(
        "SELECT name, content FROM finding WHERE batch_number = ? AND name NOT IN (?, ?) ORDER BY name",
        (batch_number, ASKED_MODELS, LOST_CALLS),
    ).fetchall()
    return {name: json.loads(content) for name, content in rows}


def findings_after(
    connection: sqlite3.Connection, batch_number: int, beginning: str, last: str
) -> list[tuple[str, Any]]:
    """Those whose names begin so and come after the last one that is known."""
    rows = connection.execute(
        "SELECT name, content FROM finding WHERE batch_number = ? AND name > ? AND substr(name, 1, ?) = ? ORDER BY name",
        (batch_number, last, len(beginning), beginning),
    ).fetchall()
    return [(name, json.loads(content)) for name, content in rows]
