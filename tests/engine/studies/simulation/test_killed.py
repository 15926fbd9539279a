"""A batch of simulations whose process is killed: none is lost, and nothing is bought twice but what was in flight."""

import time
from pathlib import Path
from typing import Any

from tests.engine.studies.simulation.panels import panel
from tests.support.command import Tidepool
from tests.support.state import committed_seeds, end_state, query, sold_live
from tidepool import run_batch

AT_ONCE = 4
TALKS: dict[str, Any] = {"num_simulations": 60, "n_turns": 2, "simulation_rounds": 2, "thoughts": True}

CONFIG = f"""
[batch]
kind = "simulation"
[service]
name = "live"
max_concurrent = {AT_ONCE}
[providers.simulated]
latency = 0.02
[simulation]
context = "A plan for a new water mill"
entity_file = "people.csv"
num_simulations = 60
n_turns = 2
simulation_rounds = 2
thoughts = true
"""
PEOPLE = """name,description,age,agreeableness
Ada,A miller of few words,61,2
Bob,A baker who needs flour,34,9
Cleo,A carpenter looking for work,23,7
Dion,A fisherman fond of the river,52,4
"""


async def test_killed_and_resumed_it_is_the_batch_that_was_never_killed(
    tidepool: Tidepool, database: Path, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(CONFIG)
    (tmp_path / "people.csv").write_text(PEOPLE)
    _run_until_killed(tidepool, database, answered=150)
    before = _answered(database)
    assert before < 480, "it was killed too late"
    assert tidepool.json("show", "last")["status"] == "interrupted"
    summary = tidepool.json("--resume", "last")
    assert summary["status"] == "completed"
    assert summary["units"] == {"total": 60, "completed": 60, "failed": 0}
    assert summary["calls"]["replayed"] == before
    sold = sold_live(summary["batch_id"])
    assert set(sold) == committed_seeds(database, summary["batch_id"])
    assert sold.total() - len(sold) <= 4 * AT_ONCE, "in flight, or on their way into the file"
    await run_batch(panel(**TALKS), tmp_path / "whole.db")
    assert end_state(database)["messages"] == end_state(tmp_path / "whole.db")["messages"]


def _run_until_killed(tidepool: Tidepool, database: Path, answered: int) -> None:
    with tidepool.start("--run", "s.toml") as process:
        end = time.monotonic() + 60
        while not database.exists() or not _answered(database) >= answered:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.01)
        process.kill()


def _answered(database: Path) -> int:
    try:
        return int(query(database, "SELECT coalesce(sum(calls), 0) FROM progress")[0][0])
    except Exception:  # the file is being made
        return 0
