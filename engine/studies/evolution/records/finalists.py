"""Who stands at the end of an evolution, by role; of one that goes on, who leads so far."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from tidepool.engine.studies.evolution.records.finding_names import GENERATION, RESULT
from tidepool.storage.queries.summary import findings

ROLES = {"champion": "champion", "baseline": "best seed prompt", "random_search": "random search"}
"""as the statistics name them → for people"""


def finalists(connection: sqlite3.Connection, batch_number: int) -> dict[str, str]:
    """Role → genome id."""
    told = findings(connection, batch_number)
    result = told.get(RESULT)
    if result is not None:
        return finalists_in(result)
    leaders = [content["leader"] for name, content in told.items() if name.startswith(GENERATION)]
    return {"champion": leaders[-1], "baseline": leaders[0]} if leaders else {}


def finalists_in(result: Mapping[str, Any]) -> dict[str, str]:
    return {role: result[role]["genome_id"] for role in ROLES if result.get(role)}
