"""Mutations run end to end on the simulated provider, in a real file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.mutation.studies import episodes, mutation, policy_of
from tests.support.state import query
from tidepool import resume_batch, run_batch
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.errors import RunError
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES

UPDATE_KEYS = {"update", "env_steps", "mean_reward", "success_rate"}


async def test_a_study_says_what_the_contract_promises(database: Path) -> None:
    summary = await run_batch(mutation(), database)
    found = summary["statistics"]
    assert summary["status"] == "completed" and summary["simulated"]
    assert [update["env_steps"] for update in found["updates"]] == [32, 64]
    assert all(set(update) >= UPDATE_KEYS for update in found["updates"])
    assert sum(row["uses"] for row in found["operators"].values()) == 64
    assert list(found["operators"]) == list(OPERATOR_NAMES)
    for name in ("policy", "random", "best_constant", "unchanged"):
        low, high = found["heldout"][name]["ci95"]
        assert low <= found["heldout"][name]["mean_reward"] <= high
    assert found["masked_steps"] == 0 and found["fallback_rewrites"] >= 0
    assert query(database, "SELECT update_number, env_steps, mean_reward, success_rate FROM training") == [
        tuple(update[name] for name in ("update", "env_steps", "mean_reward", "success_rate"))
        for update in found["updates"]
    ]
    json.dumps(found, allow_nan=False)
    again = await run_batch(mutation(), database)
    assert again["calls"]["bought"] == 0 and again["calls"]["cached"] == summary["calls"]["total"]
    assert again["statistics"] == found


async def test_every_episode_is_a_unit_and_baselines_meet_the_same_queries_as_the_learner(database: Path) -> None:
    summary = await run_batch(mutation(), database)
    played = episodes(database)
    assert summary["units"] == {"total": len(played), "completed": len(played), "failed": 0}
    assert {episode["player"] for episode in played} == {"bandit", "random", "policy", *OPERATOR_NAMES}
    assert sum(len(episode["steps"]) for episode in played if episode["player"] == "bandit") == 64
    training = [episode for episode in played if episode["type"] == "training"]
    ours, theirs = ([one["query"] for one in training if one["player"] == name][:4] for name in ("bandit", "random"))
    assert ours == theirs


@pytest.mark.parametrize(("reward", "stages"), [("similarity", 2), ("judge", 3)])
async def test_a_wave_is_one_stage_of_one_step_of_all_environments(database: Path, reward: str, stages: int) -> None:
    summary = await run_batch(mutation(reward=reward), database)
    waves = {wave["index"]: wave["calls"] for wave in summary["waves"]}
    training = range(1, 16 * stages + 1)
    assert [waves[number] for number in training if number % stages == 2 % stages] == [8] * 16
    assert all(waves[number] <= 8 for number in training)
    assert max(waves) <= (16 + 5) * stages
    assert (
        waves[17 * stages - stages + 2]
        == query(database, "SELECT count(*) FROM conversations WHERE interaction_type = 'heldout'")[0][0]
    )


@pytest.mark.parametrize(
    "ways",
    [
        {"service": "auto"},
        {"service": "default", "max_concurrent": 1},
        {"max_concurrent": 3, "simulated": {"latency": 0.001, "jitter": 1.0, "error_rate": 0.1}},
        {"use_batching": False},
    ],
)
async def test_the_same_seed_trains_the_same_policy_however_it_is_run(tmp_path: Path, ways: dict[str, Any]) -> None:
    plain = await run_batch(mutation(), tmp_path / "plain.db")
    other = await run_batch(mutation(**ways), tmp_path / "other.db")
    assert policy_of(tmp_path / "plain.db") == policy_of(tmp_path / "other.db")
    assert other["statistics"] == plain["statistics"]
    assert episodes(tmp_path / "plain.db") == episodes(tmp_path / "other.db")


async def test_lost_calls_are_masked_and_fail_no_unit(database: Path) -> None:
    summary = await run_batch(mutation(simulated={"fatal_rate": 0.2}), database)
    found = summary["statistics"]
    assert summary["status"] == "completed" and summary["units"]["failed"] == 0
    assert summary["calls"]["failed"] > 0
    assert found["updates"][-1]["env_steps"] == 64
    lost = [episode for episode in episodes(database) if episode["ended"] == "lost"]
    assert found["masked_steps"] == len(lost) > 0
    assert all(episode["steps"][-1]["reward"] is None for episode in lost)
    fell_back = sum(step["fell_back"] for episode in episodes(database) for step in episode["steps"])
    assert found["fallback_rewrites"] == fell_back > 0


async def test_a_loss_taken_for_a_refusal_is_worth_nothing_and_masks_nothing(database: Path) -> None:
    summary = await run_batch(mutation(simulated={"fatal_rate": 0.3}, on_error="refusal"), database)
    assert summary["statistics"]["masked_steps"] == 0
    rewards = [step["reward"] for episode in episodes(database) for step in episode["steps"]]
    assert 0.0 in rewards and None not in rewards


async def test_a_target_that_is_down_stops_the_batch_and_a_resume_goes_on_when_it_is_back(tmp_path: Path) -> None:
    file = tmp_path / "down.db"
    with pytest.raises(RunError, match="got no reward"):
        await run_batch(mutation(simulated={"fatal_rate": 1.0}), file)
    assert query(file, "SELECT status FROM batches") == [("interrupted",)]
    with pytest.raises(RunError, match="got no reward"):
        await resume_batch("last", file)
    summary = await resume_batch("last", file, overrides=["providers.simulated.fatal_rate=0.0"])
    assert summary["status"] == "completed"
    assert summary["statistics"]["updates"][-1]["env_steps"] == 64
    assert summary["statistics"]["masked_steps"] >= 400


async def test_ppo_plays_beside_random_and_bandit_and_is_bit_equal_when_repeated(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3", reason="the extra rl")
    for name in ("one", "other"):
        summary = await run_batch(mutation(learner="ppo"), tmp_path / f"{name}.db")
        assert set(summary["statistics"]["baselines"]) == {"random", "bandit"}
        heldout = summary["statistics"]["heldout"]
        assert heldout["others"]["bandit"]["mean_reward"] is not None
        assert list(heldout["differences"]) == ["random", "best_constant", "unchanged", "bandit"]
    assert policy_of(tmp_path / "one.db") == policy_of(tmp_path / "other.db")


# -- encoders ---------------------------------------------------------------------------------------------


async def test_a_model_encoder_is_asked_once_a_step(database: Path) -> None:
    summary = await run_batch(mutation(encoder="simulated:encoder", reward="judge"), database)
    stages = 4
    asked = query(database, "SELECT step, wave FROM call WHERE step LIKE '%embed%' ORDER BY wave, id")
    training = [step for step, wave in asked if wave <= 16 * stages]
    assert training == ["w0/reset/embed", *(f"w{step}/embed" for step in range(1, 16))]
    assert all(wave % stages == 1 for _, wave in asked)
    assert summary["units"]["failed"] == 0 and summary["status"] == "completed"


async def test_an_encoder_that_fails_at_the_start_is_asked_anew_on_resume(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidepool.engine.simulated import provider
    from tidepool.engine.simulated.base import Responder, SimulatedReply

    with monkeypatch.context() as patch:
        broken = Responder(lambda *_: SimulatedReply("out of order"))
        patch.setattr(provider, "_responders", lambda _: [broken])
        with pytest.raises(RunError, match="encoder"):
            await run_batch(mutation(encoder="simulated:encoder"), database)
        with pytest.raises(RunError, match="encoder"):
            await resume_batch("last", database)
    summary = await resume_batch("last", database)
    assert summary["status"] == "completed"
    steps = [row[0] for row in query(database, "SELECT step FROM call WHERE step LIKE 'w0/%' ORDER BY id")]
    assert steps == ["w0/reset/embed", "w0/reset/embed/2", "w0/reset/embed/3"]


# -- config -----------------------------------------------------------------------------------------------


async def test_a_queries_file_is_taken_in_so_that_a_resume_needs_it_no_more(tmp_path: Path, database: Path) -> None:
    lines = [{"query": f"What is thing number {n}?", "reference": f"It is thing {n} of many."} for n in range(20)]
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(RunError):
        await run_batch(mutation(queries=str(file), heldout=0.2, simulated={"fatal_rate": 1.0}), database)
    file.unlink()
    summary = await resume_batch("last", database, overrides=["providers.simulated.fatal_rate=0.0"])
    assert summary["status"] == "completed"
    asked = {episode["query"] for episode in episodes(database)}
    assert asked <= {line["query"] for line in lines}


def test_a_file_is_found_beside_the_config_and_else_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    data = {"batch": {"kind": "mutation"}, "mutation": {"queries": "own.jsonl"}}
    for place, word in ((tmp_path / "here", "working"), (tmp_path, "beside")):
        lines = [json.dumps({"query": f"{word} {n}?", "reference": "yes"}) for n in range(3)]
        (place / "own.jsonl").write_text("\n".join(lines))
        taken = freeze(config_from(data, folder=tmp_path), tmp_path / "none.db").settings.model_dump()["query_list"]
        assert taken[0]["query"] == f"{word} 0?"
