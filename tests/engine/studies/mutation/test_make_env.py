"""`tidepool.make_env`: a study led by a program outside, through the ledger of its batch."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra rl")

from gymnasium.vector import AutoresetMode, VectorEnv

from tests.engine.studies.mutation.studies import episodes, mutation, written
from tests.support.state import committed_seeds, query, sold_live
from tidepool import (
    Agent,
    Mutation,
    RunError,
    SecretGame,
    UsageError,
    load_config,
    make_env,
    read_summary,
    resume_batch,
)

ROOT = Path(__file__).parents[4]
LEARNER = ROOT / "examples" / "foreign_learner.py"


def played(study: Mutation, database: Path, steps: int, seed: int = 1, *, end: bool = False) -> list[np.ndarray]:
    """What a learner that chooses at random by its own seed got to see, and its rewards."""
    random = np.random.default_rng(seed)
    with make_env(study, database) as env:
        seen = [env.reset(seed=5)[0]]
        for _ in range(steps):
            seen += env.step(random.integers(0, 9, env.num_envs))[:2]
        if end:
            env.compare(lambda observations: np.zeros(len(observations), dtype=int))
    return seen


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(left, right) for left, right in zip(one, other, strict=False))


def test_any_learner_finds_a_vector_environment_and_leaves_a_batch_like_any_other(database: Path) -> None:
    env = make_env(mutation(), database)
    assert isinstance(env, VectorEnv) and env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, _ = env.reset()
    env.action_space.seed(1)
    for _ in range(16):
        assert env.observation_space.contains(observations)
        observations, rewards, terminated, truncated, infos = env.step(env.action_space.sample())
        assert rewards.shape == terminated.shape == truncated.shape == infos["masked"].shape == (4,)
        assert (infos["credited"] >= rewards).all() and all(infos["answer"])
        assert (infos["credited"] == rewards)[~terminated].all()
    env.compare(lambda seen: np.full(len(seen), env.operators.index("shorten")))
    with pytest.raises(UsageError, match="no more steps"):
        env.step([0] * 4)
    env.close()
    assert [path.name for path in database.parent.glob(f"{database.name}*")] == [database.name], "a plain file"
    summary = read_summary("last", database)
    found = summary["statistics"]
    assert summary.status == "completed" and summary.units.completed == summary.units.total
    assert found["learner"] == "foreign" and [update["env_steps"] for update in found["updates"]] == [32, 64]
    assert list(found["heldout"]["differences"]) == ["random", "best_constant", "unchanged"]
    trained = {episode["query"] for episode in episodes(database) if episode["type"] == "training"}
    assert not trained & {episode["query"] for episode in episodes(database) if episode["type"] == "heldout"}


def test_who_repeats_itself_is_answered_from_the_file_and_who_does_not_is_asked_anew(database: Path) -> None:
    study = mutation(encoder="simulated:encoder")
    first = played(study, database, 6)
    bought = read_summary("last", database).calls.bought
    assert same(played(study, database, 6), first)
    assert read_summary("last", database).calls.bought == bought
    other = played(study, database, 6, seed=2)
    assert not same(other, first)
    more = read_summary("last", database).calls.bought
    assert more > bought
    assert same(played(study, database, 16, seed=2, end=True), other)
    summary = read_summary("last", database)
    assert summary.status == "completed" and summary.calls.replayed >= more - bought
    assert summary.calls.bought == summary.calls.total, "both ways are kept, and neither was bought twice"
    assert len(query(database, "SELECT id FROM batches")) == 1
    assert summary.units.completed == summary.units.total


async def test_a_batch_that_is_closed_early_waits_for_its_own_program(database: Path) -> None:
    played(mutation(), database, 3)
    summary = read_summary("last", database)
    assert (summary.status, summary.reason) == (
        "interrupted",
        "closed by its program after 12 of 64 answered steps",
    )
    with pytest.raises(RunError, match="led from outside"):
        await resume_batch("last", database)


def test_a_target_that_is_down_is_told_to_the_learner(database: Path) -> None:
    with make_env(mutation(simulated={"fatal_rate": 1.0}), database) as env, pytest.raises(RunError, match="none was"):
        while True:
            env.step([0] * 4)
    with pytest.raises(RunError, match="none was"):
        env.step([0] * 4)
    assert read_summary("last", database).status == "interrupted"


def test_what_cannot_be_led_is_refused_before_anything_is_written(database: Path) -> None:
    agents = [Agent(name=name, model="simulated:guarded", secret=f"{name} marigold") for name in ("Ada", "Bob")]
    for study, told in (
        (SecretGame(agents=agents), "of the kind mutation"),
        (mutation(learner="foreign"), "no config names it"),
    ):
        with pytest.raises(UsageError, match=told):
            make_env(study, database)
    assert not database.exists()
    with make_env(mutation(), database) as env, pytest.raises(UsageError, match="4 numbers from 0 to 8"):
        env.step([0, 0, 0, 9])


# -- the learner of the examples, killed -----------------------------------------------------------------------


def learner() -> Any:
    spec = importlib.util.spec_from_file_location("foreign_learner", LEARNER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trained(config: Path, database: Path) -> tuple[bytes, bytes, list[float]]:
    study = load_config(config)
    with make_env(study, database) as env:
        found, curve = learner().train(env, study.batch.seed, 128)
    return found.actor.tobytes(), found.critic.tobytes(), curve


def test_a2c_killed_twice_ends_byte_by_byte_as_if_nothing_had_been(
    tmp_path: Path, database: Path, seller_folder: Path
) -> None:
    whole = trained(written(tmp_path, num_env_steps=128), tmp_path / "whole.db")
    config = written(tmp_path, "[providers.simulated]\nlatency = 0.01\n", num_env_steps=128)
    kept: list[set[int]] = []
    for calls in (30, 120):
        command = [sys.executable, str(LEARNER), str(config), "--db", str(database)]
        with subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL
        ) as process:
            while not _answered(database) >= calls:
                assert process.poll() is None
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        kept.append(committed_seeds(database, query(database, "SELECT id FROM batch")[0][0]))
    assert trained(config, database) == whole
    summary = read_summary("last", database)
    assert summary.status == "completed" and summary.calls.replayed >= 120
    sold = sold_live(summary.batch_id)
    again = {seed for seed, times in sold.items() if times > 1}
    assert not again & kept[0] and len(again) <= 2 * 4, "only what was in flight is bought again"


def _answered(database: Path) -> int:
    if not database.exists() or not query(database, "SELECT 1 FROM sqlite_master WHERE name = 'call'"):
        return 0
    return int(query(database, "SELECT count(*) FROM call")[0][0])
