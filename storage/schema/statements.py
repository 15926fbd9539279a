"""The schema of each version of the file as text: what a new file is made from, and what an old one should be.

The newest text is written from the tables and views (`python -m tidepool.storage.schema.written > storage/schema/v3.sql`),
and a test holds it to them. As text it can be read without SQLModel, which takes half a second to import; and once a
newer version exists it never changes again.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

NEWEST = 3

_FOLDER = Path(__file__).parent


class SchemaStatement(NamedTuple):
    kind: str
    """table, index or view"""
    name: str
    sql: str


@cache
def statements(version: int = NEWEST) -> tuple[SchemaStatement, ...]:
    """All that a file of this version is made of: each table with its indexes, then the views."""
    text = (_FOLDER / f"v{version}.sql").read_text(encoding="utf-8")
    return tuple(_statement(sql) for sql in text.split(";\n") if sql.strip())


def _statement(sql: str) -> SchemaStatement:
    kind, name = sql.replace(" UNIQUE ", " ", 1).split()[1:3]
    return SchemaStatement(kind.lower(), name, sql.strip())


def normalised(sql: str) -> str:
    """A statement without what SQLite, or a step of ours, writes otherwise for the same thing."""
    return re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", sql)).strip()
