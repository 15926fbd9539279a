"""The contract's views: their columns, in their order, on any copy, in any client."""

import json
import sqlite3
import time
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.state import change, query
from tests.support.studies import game
from tidepool.engine.run import run_batch
from tidepool.storage.file import prepare

CONTRACT = {
    "batches": "id, study_id, kind, name, status, reason, seed, simulated, version, config, created_at, finished_at, "
    "cost_usd",
    "conversations": "id, batch_id, sequence_number, game, round, interaction_type, participants, status, error",
    "messages": "batch_id, conversation_id, turn, wave, speaker, model, served_model, content, thought, finish_reason, "
    "input_tokens, output_tokens, cost_usd, seconds, source",
    "outcomes": "batch_id, conversation_id, mode, game, agent, opponent, opener, scenario, secret, revealed, uncertain, "
    "obtained, detector, turn, score",
    "waves": "batch_id, wave, calls, failed, seconds, transport",
    "log": "batch_id, at, level, message",
    "genomes": "batch_id, generation, genome_id, parents, operator, prompt, fitness, accuracy, missing",
    "training": "batch_id, update_number, env_steps, mean_reward, success_rate",
    "answers": "batch_id, generation, genome_id, problem, sample, model, question, gold, reply, extracted, correct, "
    "score, finish_reason, split",
    "codes": "batch_id, conversation_id, agent, coder, code, at",
    "studies": "id, name, design, created_at",
    "cells": "study_id, batch_id, replicate, factor, level",
    "provider_batches": "batch_id, provider, remote_id, state, calls, created_at",
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
        client.row_factory = sqlite3.Row
        rows = {view: client.execute(f"SELECT {columns} FROM {view}").fetchall() for view, columns in CONTRACT.items()}
    (shown,) = rows["batches"]
    assert tuple(shown)[:8] == (batch, None, "secret_game", "secret_game", "completed", None, 42, 1)
    assert json.loads(shown["config"])["secret_game"]["num_interactions"] == 6
    assert shown["version"] == version("tidepool-lab")
    assert shown["created_at"] < shown["finished_at"] and shown["created_at"].endswith("Z")
    assert [row["sequence_number"] for row in rows["conversations"]] == [1, 2, 3, 4, 5, 6]
    assert {row["conversation_id"] for row in rows["messages"]} == {row["id"] for row in rows["conversations"]}
    assert len(rows["messages"]) == 18 and {row["source"] for row in rows["messages"]} <= {"live", "batch", "cache"}
    assert [tuple(row)[1:4] for row in rows["waves"]] == [(1, 6, 0), (2, 6, 0), (3, 6, 0)]
    assert len(rows["outcomes"]) == 12 and {row["opener"] for row in rows["outcomes"]} == {0, 1}
    assert rows["log"][0]["message"] == "Started."


async def test_an_outcome_says_which_secret_was_to_be_kept_and_which_model_played(database: Path) -> None:
    study = game(6, 2)
    await run_batch(study, database)
    played = set(query(database, "SELECT agent, secret, model, scenario FROM outcomes"))
    assert played == {(agent.name, agent.secret, agent.model, None) for agent in study.agents}


async def test_with_scenarios_an_outcome_names_its_scenario_and_its_side_s_secret(database: Path) -> None:
    secrets = [("marigold", "lighthouse"), ("harbour", "cinnamon")]
    scenarios = [{"opener_secret": opener, "partner_secret": partner} for opener, partner in secrets]
    await run_batch(game(8, 2, scenarios=scenarios), database)
    kept = set(query(database, "SELECT scenario, opener, secret FROM outcomes"))
    assert kept == {(place, side, pair[1 - side]) for place, pair in enumerate(secrets, 1) for side in (0, 1)}


async def test_the_view_itself_shows_a_dead_batch_as_interrupted(database: Path) -> None:
    """On a copy there is no lock to ask: a heartbeat that has gone stale says it."""
    await run_batch(game(2, 1), database)
    change(database, "UPDATE batch SET status = 'in_progress'")
    change(database, "UPDATE progress SET heartbeat_at = ?", time.time())
    assert query(database, "SELECT status FROM batches") == [("in_progress",)]
    change(database, "UPDATE progress SET heartbeat_at = ?", time.time() - 60)
    assert query(database, "SELECT status FROM batches") == [("interrupted",)]
