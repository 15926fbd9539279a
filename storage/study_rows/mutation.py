"""The training of a mutation's policy."""

import sqlite3


def training_updates(connection: sqlite3.Connection, batch_number: int) -> list[sqlite3.Row]:
    return connection.execute(
        "SELECT update_number, env_steps, mean_reward, success_rate, details FROM training_update "
        "WHERE batch_number = ? ORDER BY update_number",
        (batch_number,),
    ).fetchall()
