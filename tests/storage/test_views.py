"""The contract's views: their columns, in their order, on any copy, in any client."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.state import change, query
from tests.support.studies import game
from tidepool.engine.run import run_batch
from tidepool.storage.file import prepare

CONTRACT = {
    "batches": "id, kind, name, status, reason, seed, simulated, config, created_at, finished_at, cost_usd",
    "conversations": "id, batch_id, sequence_number, game, round, interaction_type, participants, status, error",
    "messages": "batch_id, conversation_id, turn, wave, speaker, model, content, thought, input_tokens, "
    "output_tokens, cost_usd, seconds, source",
    "outcomes": "batch_id, conversation_id, mode, game, agent, opponent, opener, revealed, obtained, detector, turn, "
    "score",
    "waves": "batch_id, wave, calls, failed, seconds, transport",
    "log": "batch_id, at, level, message",
    "genomes": "batch_id, generation, genome_id, parents, operator, prompt, fitness, accuracy, missing",
    "training": "batch_id, update_number, env_steps, mean_reward, success_rate",
}


@pytest.mark.parametrize("view", CONTRACT)
def test_a_view_has_the_contract_s_columns_first_and_in_order(database: Path, view: str) -> None:
    prepare(database)
    columns = [row[0] for row in query(database, "SELECT name FROM pragma_table_info(?)", view)]
    promised = CONTRACT[view].split(", ")
    assert columns[: len(promised)] == promised


async def test_a_copy_can_be_read_by_a_client_that_knows_nothing_of_tidepool(database: Path, tmp_path: Path) -> None:
    summary = await run_batch(game(6, 3), database)
    copy = tmp_path / "copy.db"
    copy.write_bytes(database.read_bytes())
    copy.chmod(0o400)
    batch = summary["batch_id"]
    with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro", uri=True)) as client:
        rows = {view: client.execute(f"SELECT {columns} FROM {view}").fetchall() for view, columns in CONTRACT.items()}
    assert [row[:7] for row in rows["batches"]] == [(batch, "secret_game", "secret_game", "completed", None, 42, 1)]
    assert json.loads(rows["batches"][0][7])["secret_game"]["num_interactions"] == 6
    assert rows["batches"][0][8] < rows["batches"][0][9] and rows["batches"][0][8].endswith("Z")
    assert [row[2] for row in rows["conversations"]] == [1, 2, 3, 4, 5, 6]
    assert {row[1] for row in rows["messages"]} == {row[0] for row in rows["conversations"]}
    assert len(rows["messages"]) == 18 and {row[12] for row in rows["messages"]} <= {"live", "batch", "cache"}
    assert [row[1:4] for row in rows["waves"]] == [(1, 6, 0), (2, 6, 0), (3, 6, 0)]
    assert len(rows["outcomes"]) == 12 and {row[6] for row in rows["outcomes"]} == {0, 1}
    assert rows["log"][0][3] == "Started."


async def test_the_view_itself_shows_a_dead_batch_as_interrupted(database: Path) -> None:
    """On a copy there is no lock to ask: a heartbeat that has gone stale says it."""
    await run_batch(game(2, 1), database)
    change(database, "UPDATE batch SET status = 'in_progress'")
    change(database, "UPDATE progress SET heartbeat_at = ?", time.time())
    assert query(database, "SELECT status FROM batches") == [("in_progress",)]
    change(database, "UPDATE progress SET heartbeat_at = ?", time.time() - 60)
    assert query(database, "SELECT status FROM batches") == [("interrupted",)]


async def test_views_are_read_only(database: Path) -> None:
    await run_batch(game(2, 1), database)
    with closing(sqlite3.connect(database)) as client, pytest.raises(sqlite3.OperationalError, match="view"):
        client.execute("DELETE FROM messages")
