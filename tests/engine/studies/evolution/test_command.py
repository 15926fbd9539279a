"""An evolution from the command line: killed in the middle of a generation, resumed."""

import sqlite3
import time
from pathlib import Path

from tests.engine.studies.evolution.running import evolved
from tests.support.command import Tidepool
from tests.support.state import committed_seeds, query, sold_live
from tidepool import load_config, resume_batch, run_batch
from tidepool.engine.results.summary import summarise

STUDY = """
[batch]
kind = "evolution"
seed = 3
[service]
name = "live"
max_concurrent = 4
[providers.simulated]
latency = {latency}
fatal_rate = 0.05
[evolution]
population_size = 8
max_generations = 4
max_problems = 10
validation_problems = 20
elite_size = 2
rate_limit_per_minute = 0
seed_prompts = ["Solve it step by step.", "Be brief.", "Check the result. Work backwards.", "List the facts."]
"""


def written(folder: Path, latency: float) -> str:
    path = folder / "study.toml"
    path.write_text(STUDY.format(latency=latency))
    return str(path)


def _wait_for_calls(database: Path, calls: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if query(database, "SELECT count(*) FROM call")[0][0] >= calls:
                return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.005)
    raise AssertionError("the study did not get that far")


async def test_an_evolution_killed_in_the_middle_of_a_generation_ends_as_if_it_had_not_been(
    tidepool: Tidepool, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.db"
    expected = evolved(await run_batch(load_config(written(tmp_path, 0.0)), whole), whole)
    with tidepool.start("--run", written(tmp_path, 0.004)) as process:
        _wait_for_calls(tidepool.database, 190)
        process.kill()
    assert summarise(tidepool.database, "last")["status"] == "interrupted"
    batch = query(tidepool.database, "SELECT id FROM batches")[0][0]
    committed = committed_seeds(tidepool.database, batch)
    summary = await resume_batch("last", tidepool.database)
    assert evolved(summary, tidepool.database) == expected
    again = {seed for seed, times in sold_live(batch).items() if times > 1}
    assert not again & committed and len(again) <= 8, "only calls in flight, or not committed yet"
