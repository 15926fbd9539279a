"""A study file holds tables, indexes and views, and nothing that acts by itself.

A trigger would run with our own writes: it could change a batch after its end, and what the next resume does.
"""

import sqlite3
from pathlib import Path

from tidepool.storage.errors import FileError

_ODD = """
    SELECT name, type FROM sqlite_schema WHERE NOT coalesce(
        CASE type
            WHEN 'table' THEN sql GLOB 'CREATE TABLE *' OR sql GLOB 'CREATE VIRTUAL TABLE *'
            WHEN 'index' THEN sql IS NULL OR sql GLOB 'CREATE INDEX *' OR sql GLOB 'CREATE UNIQUE INDEX *'
            WHEN 'view' THEN sql GLOB 'CREATE VIEW *'
        END, 0) LIMIT 1
"""
"""SQLite goes by the statement, not by the type beside it, and writes each statement with this beginning itself"""


def refuse_triggers(path: Path, connection: sqlite3.Connection) -> None:
    """Raises where the file holds a trigger, under whatever name: before it is migrated, written or resumed."""
    if odd := connection.execute(_ODD).fetchone():
        name, kind = (str(part)[:80] for part in odd)
        what = f"a trigger, {name!r}" if kind == "trigger" else f"{name!r}, which is neither table, index nor view"
        raise FileError(
            f"{path} holds {what}, as no file of Tidepool's does: it would act on its own when the file is written. The "
            "file was changed by somebody and was left as it is; `tidepool --db NEW.db import` takes its batches into "
            "another file, without it."
        )
