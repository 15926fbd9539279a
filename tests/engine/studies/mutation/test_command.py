"""A mutation from the command line: its policy taken out and tested elsewhere."""

import json
from pathlib import Path

import pytest

from tests.engine.studies.mutation.studies import episodes, mutation, written
from tests.support.command import Tidepool
from tests.support.state import query
from tidepool import load_config, run_batch
from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.studies.mutation.policy import load_policy

AT_ONCE = "[providers.simulated]\nfatal_rate = 0.02\n"


async def test_a_policy_is_taken_out_and_tested_on_queries_it_never_saw(tidepool: Tidepool, tmp_path: Path) -> None:
    trained = await run_batch(load_config(written(tmp_path)), tidepool.database)
    done = tidepool("export", "last", "--format", "policy", "-o", str(tmp_path / "best"))
    assert done.stdout.split() == [str(tmp_path / "best.safetensors")]
    saved = load_policy(tmp_path / "best.safetensors")
    assert (saved.card.learner, saved.card.env_steps) == ("bandit", 64) and saved.policy.normaliser.count > 0

    tested = tidepool.json("--run", str(written(tmp_path, policy="best.safetensors")))
    assert tested["statistics"]["updates"] == [] and tested["statistics"]["baselines"] == {}
    assert tested["statistics"]["learner"] == "policy"
    assert tested["statistics"]["heldout"]["queries"] == trained["statistics"]["heldout"]["queries"]
    trained_on = {e["query"] for e in episodes(tidepool.database) if e["type"] == "training"}
    heldout = {e["query"] for e in episodes(tidepool.database) if e["type"] == "heldout"}
    assert not trained_on & heldout
    assert sum(row["uses"] for row in tested["statistics"]["operators"].values()) > 0


async def test_a_policy_that_does_not_fit_the_study_is_refused(database: Path, tmp_path: Path) -> None:
    await run_batch(mutation(), database)
    (arrays,) = export_batch(database, "last", "policy", tmp_path / "best")
    learnt = {e["query"]: e["reference"] for e in episodes(database) if e["type"] == "training"}
    lines = [json.dumps({"query": text, "reference": reference}) for text, reference in learnt.items()]
    (tmp_path / "known.jsonl").write_text("\n".join(lines))
    for settings, told in (
        ({"encoder": "simulated:encoder"}, 'encoder = "hashing"'),
        ({"queries": str(tmp_path / "known.jsonl")}, "trained on all of these queries"),
    ):
        with pytest.raises(UsageError, match=told):
            await run_batch(mutation(policy=str(arrays), **settings), database)
    assert len(query(database, "SELECT id FROM batches")) == 1


async def test_a_batch_without_a_policy_says_so(database: Path) -> None:
    await run_batch(mutation(learner="random"), database)
    with pytest.raises(NotFound, match="no trained policy"):
        export_batch(database, "last", "policy", None)


def test_without_the_extra_one_line_says_what_to_install_and_nothing_is_written(
    tidepool: Tidepool, tmp_path: Path
) -> None:
    """A module that cannot be found, as where the extra is not installed."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfound = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'torch' else found(name, package)\n"
    )
    config = str(written(tmp_path, learner="ppo"))
    path = f"{tmp_path}:{Path(__file__).parents[4]}"
    refused = tidepool.cold("--run", config, PYTHONPATH=path)
    assert refused.returncode == 2
    assert refused.stderr.strip().count("\n") == 0 and '"tidepool-lab[rl]"' in refused.stderr
    assert not tidepool.database.exists()


async def test_an_episode_is_read_as_a_transcript(tidepool: Tidepool, tmp_path: Path) -> None:
    await run_batch(load_config(written(tmp_path, AT_ONCE)), tidepool.database)
    played = episodes(tidepool.database)
    lost = next(e for e in played if e["ended"] == "lost")
    shown = tidepool("show", "last", "--conversation", str(lost["number"])).stdout
    assert lost["query"] in shown and "failed, not counted" in shown
    won = next(e for e in played if e["ended"] == "success")
    shown = tidepool("show", "last", "--conversation", str(won["number"])).stdout
    assert f"reward {won['steps'][-1]['reward']:.3f}" in shown and "success; mean reward" in shown
