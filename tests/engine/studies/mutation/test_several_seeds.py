"""Several seeds of one config: runs are the units, and a verdict takes eight."""

from pathlib import Path

import pytest

from tests.engine.studies.mutation.studies import mutation
from tidepool import run_batch
from tidepool.engine.reports.blocks import Figure, Words
from tidepool.engine.reports.seeds import Group, Score, seed_differences
from tidepool.engine.results.comparing import compare, comparison_blocks
from tidepool.engine.studies.mutation.results import RUNS


def group(learner: str, rewards: list[float], baseline: list[float] | None = None, **settings: object) -> Group:
    found = Group({"learner": learner, "reward": "similarity", **settings}, "a name", [f"{learner}{len(rewards)}"])
    found.values["policy"] = dict(enumerate(map(Score, rewards)))
    if baseline:
        found.values["random"] = dict(enumerate(map(Score, baseline)))
    return found


GOOD = [0.70, 0.72, 0.68, 0.71, 0.69, 0.73, 0.70, 0.71]
POOR = [0.60, 0.61, 0.60, 0.65, 0.62, 0.64, 0.59, 0.60]


def test_with_eight_seeds_one_learner_may_beat_another_and_with_seven_it_may_not() -> None:
    (found,) = seed_differences([group("ppo", GOOD), group("bandit", POOR)], RUNS)
    assert found["groups"] == ["learner ppo", "learner bandit"] and found["seeds"] == list(range(8))
    assert found["p_value"] < 0.001 and found["p_value_holm"] == found["p_value"]
    assert found["verdict"] == "better (p < 0.001)" and found["seeds_missing"] == 0
    (fewer,) = seed_differences([group("ppo", GOOD[:7]), group("bandit", POOR)], RUNS)
    assert fewer["p_value"] is None and fewer["difference_ci95"][0] > 0
    assert fewer["verdict"] == fewer["note"] == "no verdict from 7 seeds: 1 more of each is needed"
    assert (found["estimand"], found["note"]) == ("whole runs like these", "")


def test_that_the_luckiest_operator_of_every_run_is_ahead_is_no_verdict() -> None:
    ours = group("ppo", POOR)
    ours.values["best_constant"] = dict(enumerate(map(Score, GOOD)))
    (found,) = seed_differences([ours], RUNS)
    assert found["difference_ci95"][1] < 0 and found["p_value"] is None is found["p_value_holm"]
    assert found["verdict"].startswith("no verdict: it was selected on the held-out data")
    ours.values["best_constant"] = dict.fromkeys(range(8), Score(0.5))
    (found,) = seed_differences([ours], RUNS)
    assert found["verdict"] == "better (p < 0.001)"


async def test_compared_batches_of_one_config_show_curves_with_spread_and_a_dot_a_seed(database: Path) -> None:
    ids = [(await run_batch(mutation(seed=seed), database)).batch_id for seed in (1, 2, 3)]
    found = compare(database, ids)
    assert [one["groups"][1] for one in found["differences"]] == ["random", "best_constant", "unchanged"]
    blocks = comparison_blocks(found["batches"], found["differences"])
    dots, curve = [block for block in blocks if isinstance(block, Figure)]
    assert dots.labels == ("bandit", "seed 1", "seed 2", "seed 3")
    assert dots.series[0].intervals[0] is not None and dots.series[0].intervals[1:] == (None,) * 3
    runs = [batch["statistics"]["updates"][-1]["smoothed"] for batch in found["batches"]]
    assert curve.series[0].xs == (32.0, 64.0) and curve.series[0].ys[-1] == pytest.approx(sum(runs) / 3)
    assert all(curve.series[0].intervals)
    told = [block.text for block in blocks if isinstance(block, Words)]
    assert sum("no verdict from 3 seeds: 5 more of each are needed" in text for text in told) == 3
    assert any(text.startswith("bandit against random play, 3 seeds: ") and " to " in text for text in told)
    alone = compare(database, [*ids[:1], (await run_batch(mutation(seed=1, gamma=0.5), database)).batch_id])
    assert "queries" in alone["differences"][0], "single runs are compared query by query"
