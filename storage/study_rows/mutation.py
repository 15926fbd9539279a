"""The training of a mutation's policy."""

import sqlite3


def training_updates(connection: sqlite3.Connection, batch_number: int, after: int | None = None) -> list[sqlite3.Row]:
    """All, or those after one."""
    return connection.execute(
        "SELECT update_number, env_steps, mean_reward, success_rate, details FROM training_update "
        "WHERE batch_number = ? AND update_number > ? ORDER BY update_number",
        (batch_number, -1 if after is None else after),
    ).fetchall()
