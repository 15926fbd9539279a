"""What a judge gave each entity of each simulation, in order, with the model that was asked and the one that answered."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from tidepool.storage.exporting.rows import unit_pages


class StoredRating(NamedTuple):
    sequence_number: int
    place: int
    entity: str
    rating: float | None
    """None: no clear one, or no answer"""
    model: str | None
    served_model: str | None
    entity_id: str | None


def ratings_of(connection: sqlite3.Connection, batch_number: int) -> Iterator[StoredRating]:
    for page in unit_pages(connection, batch_number):
        rows = connection.execute(
            "SELECT u.sequence_number, j.place, j.entity, j.rating, c.model, c.served_model, "
            "CASE WHEN json_valid(u.details) THEN "
            "json_extract(u.details, '$.entity_ids[' || (CAST(j.place AS INTEGER) - 1) || ']') END "
            "FROM judgement j JOIN unit u ON u.id = j.unit_id "
            "LEFT JOIN call c ON c.unit_id = j.unit_id AND c.step = 'judge.' || j.place "
            "WHERE j.unit_id BETWEEN ? AND ? ORDER BY j.unit_id, j.place",
            (page.first, page.last),
        ).fetchall()
        yield from (StoredRating(*row) for row in rows)
