"""kill -9 at any moment: nothing committed is lost, nothing is bought twice but what was in flight."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.command import Tidepool
from tests.support.killing import kill_and_resume, undisturbed, wait_for_calls
from tests.support.state import Rows, committed_seeds, end_state, query, sold_live
from tidepool import load_config, read_summary, resume_batch, run_batch

MOMENTS = 2


@pytest.fixture(scope="module", params=["live", "auto"])
def study(request: pytest.FixtureRequest, module_folder: Path) -> tuple[str, dict[str, Rows]]:
    return request.param, undisturbed(module_folder, request.param)


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_killed_study_resumes_to_the_same_end_and_buys_nothing_twice(
    study: tuple[str, dict[str, Rows]], moment: int, tmp_path: Path
) -> None:
    """Twenty moments each are tried by `make prove`."""
    service, expected = study
    killed = kill_and_resume(tmp_path, service, expected, Random(f"{service}/{moment}"))
    assert killed.same_end
    assert killed.needless == 0
    assert killed.ordered_again == 0
    assert killed.most_of_one_talk <= 1, "asked and not yet committed is in flight"
    assert killed.live_again == 0 or service == "live"


AT_ONCE = 4
RUNNING = f"""
[service]
name = "live"
max_concurrent = {AT_ONCE}
[providers.simulated]
latency = LATENCY
"""
OTHER_KINDS = {
    "simulation": """
[simulation]
context = "A panel"
num_simulations = 12
n_turns = 2
model = "simulated:persona"
judge = { model = "simulated:judge", question = "Does the speaker agree, 1 to 5?", scale = [1, 5] }
[[entities]]
name = "Ada"
[[entities]]
name = "Bob"
[[entities]]
name = "Cleo"
[[entities]]
name = "Dion"
[[entities]]
name = "Eve"
""",
    "evolution": """
[evolution]
population_size = 8
max_generations = 4
max_problems = 10
validation_problems = 20
elite_size = 2
rate_limit_per_minute = 0
seed_prompts = ["Solve it step by step.", "Be brief.", "Check the result. Work backwards.", "List the facts."]
""",
    "mutation": """
[mutation]
num_processes = 4
num_steps = 8
num_env_steps = 64
repeats = 1
heldout = 0.05
""",
}
COMMITTED = {"simulation": 30, "evolution": 190, "mutation": 90}
"""calls in the file when it is killed: a conversation, a generation or an episode is half done"""


def written(folder: Path, kind: str, latency: float) -> str:
    path = folder / f"{kind}-{latency}.toml"
    running = RUNNING.replace("LATENCY", str(latency))
    path.write_text(f'[batch]\nkind = "{kind}"\n{running}{OTHER_KINDS[kind]}')
    return str(path)


def found(summary: dict[str, Any]) -> dict[str, Any]:
    """What must be the same for the same seed: every figure but those of time."""
    statistics = {name: value for name, value in summary["statistics"].items() if name != "performance"}
    return {"statistics": statistics, "units": summary["units"], "reason": summary["reason"]}


@pytest.mark.parametrize("kind", OTHER_KINDS)
async def test_a_killed_study_of_any_kind_ends_as_if_it_had_not_been(
    kind: str, tidepool: Tidepool, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.db"
    expected = await run_batch(load_config(written(tmp_path, kind, 0.0)), whole)
    with tidepool.start("--run", written(tmp_path, kind, 0.004)) as process:
        wait_for_calls(tidepool.database, COMMITTED[kind], process)
        process.kill()
    batch = query(tidepool.database, "SELECT id FROM batches")[0][0]
    assert read_summary(batch, tidepool.database)["status"] == "interrupted"
    committed = committed_seeds(tidepool.database, batch)
    summary = await resume_batch(batch, tidepool.database)
    assert found(summary) == found(expected)
    assert end_state(tidepool.database) == end_state(whole)
    genomes = (
        "SELECT generation, genome_id, parents, operator, prompt, fitness, accuracy, missing FROM genomes ORDER BY 1, 2"
    )
    assert query(tidepool.database, genomes) == query(whole, genomes)
    again = {seed for seed, times in sold_live(batch).items() if times > 1}
    assert committed and not again & committed, "nothing that was committed is bought twice"
    assert len(again) <= 2 * AT_ONCE, "only calls in flight, or not committed yet"
