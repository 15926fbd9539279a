"""Live calls that had left when their process ended: they may have been charged."""

import sqlite3

UNDER_WAY = "under way"
KILLED = "killed"
"""it was under way when its process ended, and was asked again"""


def book_under_way(connection: sqlite3.Connection, batch_number: int) -> int:
    """Nobody runs the batch any more: calls that were under way may have been charged, and count as bought."""
    from sqlmodel import col, update

    from tidepool.storage.sql import execute
    from tidepool.storage.tables import Progress, Surplus

    under_way = "FROM surplus WHERE batch_number = ? AND reason = ?"
    calls, cost, unpriced = connection.execute(
        f"SELECT count(*), coalesce(sum(cost_usd), 0), coalesce(sum(cost_usd IS NULL), 0) {under_way}",
        (batch_number, UNDER_WAY),
    ).fetchone()
    spent = update(Progress).where(col(Progress.batch_number) == batch_number)
    execute(
        connection,
        spent.values(
            bought=col(Progress.bought) + calls,
            cost_usd=col(Progress.cost_usd) + cost,
            unpriced=col(Progress.unpriced) + unpriced,
            in_flight="[]",
            in_flight_usd=0.0,
        ),
    )
    left = update(Surplus).where(col(Surplus.batch_number) == batch_number, col(Surplus.reason) == UNDER_WAY)
    execute(connection, left.values(reason=KILLED))
    return int(calls)
