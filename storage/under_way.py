"""Live calls that had left when their process ended: they may have been charged."""

import sqlite3

UNDER_WAY = "under way"
KILLED = "killed"
"""it was under way when its process ended, and was asked again"""


def book_under_way(connection: sqlite3.Connection, batch_number: int) -> int:
    """Nobody runs the batch any more: calls that were under way may have been charged, and count as bought."""
    under_way = "FROM surplus WHERE batch_number = ? AND reason = ?"
    calls, cost, unpriced = connection.execute(
        f"SELECT count(*), coalesce(sum(cost_usd), 0), coalesce(sum(cost_usd IS NULL), 0) {under_way}",
        (batch_number, UNDER_WAY),
    ).fetchone()
    connection.execute(
        "UPDATE progress SET bought = bought + ?, cost_usd = cost_usd + ?, unpriced = unpriced + ?, in_flight = '[]', "
        "in_flight_usd = 0 WHERE batch_number = ?",
        (calls, cost, unpriced, batch_number),
    )
    connection.execute(
        "UPDATE surplus SET reason = ? WHERE batch_number = ? AND reason = ?", (KILLED, batch_number, UNDER_WAY)
    )
    return int(calls)
