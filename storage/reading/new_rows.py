"""What was written since one last looked: rows of a table in the order of their writing, so that nothing is read twice.

A row that is written again gets a higher number and comes again: whoever counts keeps what it was before.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from tidepool.storage.reading.units import MOST_UNITS
from tidepool.storage.unit_ids import unit_id

PAGE = 50_000
"""units taken in at once: between pages others get their turn"""


class NewRows:
    """Of one batch: first all it has, by pages of its units, then what comes."""

    def __init__(self, table: str, columns: str, where: str = "1") -> None:
        self._asked = f"SELECT {columns} FROM {table} WHERE {where} AND "
        self._table = table
        self._next_unit = 0
        self._last_row: int | None = None
        """the highest number when the pages began; rows above it are new"""
        self.more = True
        """pages are left"""

    def read(self, connection: sqlite3.Connection, batch_number: int) -> list[Sequence[Any]]:
        last = connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {self._table}").fetchone()[0]
        if self._last_row is None:
            self._last_row = last
        if self.more:
            return self._page(connection, batch_number)
        first, self._last_row = self._last_row, last
        whole = (unit_id(batch_number, 0), unit_id(batch_number, MOST_UNITS))
        return self._rows(connection, "rowid > ? AND +unit_id BETWEEN ? AND ?", (first, *whole))

    def _page(self, connection: sqlite3.Connection, batch_number: int) -> list[Sequence[Any]]:
        first = self._next_unit
        self._next_unit = first + PAGE
        bounds = (unit_id(batch_number, first), unit_id(batch_number, min(MOST_UNITS, first + PAGE - 1)))
        left = connection.execute(
            f"SELECT 1 FROM {self._table} WHERE unit_id > ? AND unit_id <= ? LIMIT 1",
            (bounds[1], unit_id(batch_number, MOST_UNITS)),
        ).fetchone()
        self.more = left is not None
        return self._rows(connection, "unit_id BETWEEN ? AND ?", bounds)

    def _rows(self, connection: sqlite3.Connection, which: str, values: tuple[int, ...]) -> list[Sequence[Any]]:
        cursor = connection.execute(self._asked + which, values)
        cursor.row_factory = None
        return cursor.fetchall()
