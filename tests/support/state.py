"""What a study came to, read from its file as a stranger would: through the views."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from tidepool.engine.call import seed_of
from tidepool.engine.simulated.provider import PurchaseLog

Rows = list[tuple[Any, ...]]


def query(database: Path, sql: str, *values: object) -> Rows:
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        return connection.execute(sql, values).fetchall()


def change(database: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        connection.execute(sql, values)


def end_state(database: Path, batch_id: str | None = None) -> dict[str, Rows]:
    """Everything of a batch that must not depend on how it was run: who said what, and what came of it."""
    batch = batch_id or query(database, "SELECT id FROM batches ORDER BY created_at DESC")[0][0]
    return {
        "units": query(
            database,
            "SELECT sequence_number, game, round, participants, status, error FROM conversations WHERE batch_id = ? ORDER BY 1",
            batch,
        ),
        "messages": query(
            database,
            "SELECT u.sequence_number, m.turn, m.wave, m.speaker, m.model, m.content, m.input_tokens, m.output_tokens "
            "FROM messages m JOIN conversations u ON u.id = m.conversation_id WHERE m.batch_id = ? ORDER BY 1, 2",
            batch,
        ),
        "outcomes": query(
            database,
            "SELECT u.sequence_number, o.agent, o.opponent, o.opener, o.revealed, o.obtained, o.detector, o.turn, o.score "
            "FROM outcomes o JOIN conversations u ON u.id = o.conversation_id WHERE o.batch_id = ? ORDER BY 1, 2",
            batch,
        ),
        "measures": query(
            database,
            "SELECT u.sequence_number, m.measure, m.participant, m.value, m.cluster, m.block, m.missing FROM measures m "
            "JOIN conversations u ON u.id = m.unit WHERE m.batch_id = ? ORDER BY 1, 2, 3",
            batch,
        ),
        "waves": query(database, "SELECT wave, calls, failed FROM waves WHERE batch_id = ? ORDER BY 1", batch),
    }


def log_of(database: Path, batch_id: str) -> list[str]:
    return [row[0] for row in query(database, "SELECT message FROM log WHERE batch_id = ? ORDER BY at", batch_id)]


def sold_live(batch_id: str) -> Counter[int]:
    """How often each call was sold live, by the seller's own record."""
    sales = PurchaseLog(batch_id).folder / f"{batch_id}.sales"
    return Counter(int(line, 16) for line in (sales.read_text().split() if sales.exists() else ()))


def sold_by_batch(database: Path, batch_id: str, run_id: str = "") -> Counter[int]:
    """How often each call was sold in a provider batch, by the seller's own record."""
    orders = query(
        database, "SELECT p.id FROM provider_batch p JOIN batch b ON b.number = p.batch_number WHERE b.id = ?", batch_id
    )
    log = PurchaseLog(run_id or batch_id)
    sold = [path.stem for row in orders for path in log.folder.glob(f"simbatch_{row[0]}_*.sold")]
    return Counter(seed for remote_id in sold for _, seed, _ in log.requests_of(remote_id))


def committed_seeds(database: Path, batch_id: str, seed: int = 42) -> set[int]:
    """The calls the ledger holds, named as the seller names them."""
    rows = query(
        database,
        "SELECT u.sequence_number, c.step FROM call c JOIN unit u ON u.id = c.unit_id "
        "JOIN batch b ON b.number = u.batch_number WHERE b.id = ? AND c.status = 'answered'",
        batch_id,
    )
    return {seed_of(seed, number, step) for number, step in rows}
