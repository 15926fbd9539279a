"""A whole evolution through the engine and into the file: what it asks, what it says, and what it does without."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.running import _stopping_after, run, study
from tests.support.solver_truth import true_accuracy
from tests.support.state import query
from tidepool.engine.config.freezing import freeze, load_frozen
from tidepool.engine.config.loading import config_from
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import run_batch
from tidepool.engine.studies.evolution.inputs import problems_of
from tidepool.engine.studies.study import study_from

GSM8K = [
    {
        "question": f"Ann has {n} apples and gets 2 more. How many?",
        "answer": f"{n} + 2 = <<{n}+2={n + 2}>>{n + 2}\n#### {n + 2}",
    }
    for n in range(1, 31)
]


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# -- config --------------------------------------------------------------------------------------------------


def test_a_gsm8k_file_is_read_as_it_is_and_frozen_into_the_batch(tmp_path: Path) -> None:
    path = written(tmp_path, GSM8K)
    settings = {"problems": path.name, "max_problems": 20, "validation_problems": 10}
    written_down = config_from({"batch": {"kind": "evolution"}, "evolution": settings}, folder=tmp_path)
    config = freeze(written_down, tmp_path / "none.db")
    path.unlink()
    again = load_frozen(config.to_json())
    kept = again.settings.frozen  # type: ignore[attr-defined]
    assert len(kept.training) == 20 and len(kept.validation) == 10
    answers = {int(entry.answer) for entry in (*kept.training, *kept.validation)}
    assert answers == set(range(3, 33))
    assert not {one.question for one in kept.training} & {one.question for one in kept.validation}


# -- what is asked -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "limits", "peak"),
    [
        ({"preset": "conservative"}, {}, 15),
        ({"preset": "aggressive", "genome_batch_size": 2, "async_batch_size": 4}, {}, 8),
        ({"dynamic": True}, {"max_concurrent": 40}, 40),
        ({"preset": "aggressive"}, {"max_concurrent": 6}, 6),
        ({"enable_async_evaluation": False, "max_generations": 1}, {}, 1),
    ],
    ids=str,
)
async def test_no_more_calls_are_in_flight_than_the_sizes_allow(
    settings: dict[str, Any], limits: dict[str, Any], peak: int, database: Path
) -> None:
    config = study(
        service="live",
        limits=limits,
        simulated={"latency": 0.001},
        **{"population_size": 10, "max_generations": 2, "racing": False, "seed_final": False, **settings},
    )
    assert (await run(config, database))["performance"]["peak_concurrency"] == peak


async def test_a_generation_is_one_wave_of_one_provider_batch(database: Path) -> None:
    config = study(racing=False, max_generations=3, population_size=9, seed_final=False, strategy="random")
    summary = await run(config, database)
    waves = [(wave["calls"], wave["transport"]) for wave in summary["waves"]]
    assert waves == [(9 * 12, "batch"), (9 * 12, "batch"), (9 * 12, "batch"), (2 * 20, "batch")]
    assert query(database, "SELECT count(*) FROM provider_batch") == [(4,)]


async def test_racing_asks_rung_by_rung_and_counts_what_it_saves(database: Path) -> None:
    found = (await run(study(max_generations=1, max_problems=20, population_size=10), database))["statistics"]
    assert found["search_calls"] == 10 * 5 + 5 * 5 + 3 * 10 + 2 * 20
    assert found["calls_saved_by_racing"] == 10 * 20 - found["search_calls"]


# -- what is said --------------------------------------------------------------------------------------------


async def test_several_models_have_fitness_each_and_overall(database: Path) -> None:
    models = ["simulated:solver-small", "simulated:solver-large"]
    summary = await run(study(models=models, max_generations=2), database)
    champion = summary["statistics"]["champion"]
    small, large = (champion["models"][model] for model in models)
    assert small["validation_accuracy"] < large["validation_accuracy"]
    assert champion["fitness"] == pytest.approx((small["fitness"] + large["fitness"]) / 2)
    by_problem = "SELECT avg(correct) AS share FROM answers WHERE split = 'judge' AND genome_id = ? GROUP BY problem"
    mean = query(database, f"SELECT avg(share) FROM ({by_problem})", champion["genome_id"])
    assert [(pytest.approx(champion["validation_accuracy"]),)] == mean
    asked = dict(query(database, "SELECT model, count(*) FROM call WHERE model LIKE '%solver%' GROUP BY model"))
    assert set(asked) == set(models) and len(set(asked.values())) == 1


async def test_the_end_is_told_as_the_contract_says(database: Path) -> None:
    summary = await run(study(), database)
    found = summary["statistics"]
    assert summary["reason"] == found["stopped_by"] == "max_generations"
    assert found["strategy"] == "genetic"
    assert [set(told) >= {"generation", "best", "mean", "diversity", "calls"} for told in found["generations"]] == [
        True
    ] * 4
    assert sum(told["calls"] for told in found["generations"]) == found["search_calls"]
    for role in ("champion", "baseline"):
        low, high = found[role]["validation_ci95"]
        assert low <= found[role]["validation_accuracy"] <= high
        assert found[role]["validation_problems"] == round(20 * (1 - found[role]["unclear"]))
        assert found[role]["validation_missing"] == found[role]["missing"] == 0
    assert 0 <= found["p_value"] <= 1


async def test_a_search_ends_at_its_most_calls_and_says_so(database: Path) -> None:
    summary = await run(study(max_calls=150, max_generations=30), database)
    assert summary["reason"] == "max_calls" and summary["statistics"]["search_calls"] <= 150


async def test_an_unfinished_run_has_a_leader_but_no_honest_word_on_it_yet(database: Path) -> None:
    control, listener = _stopping_after(250)
    await run_batch(study(service="live"), database, control=control, on_event=listener)
    summary = summarise(database, "last")
    assert summary["units"]["total"] == study_from(freeze(study(), Path())).plan().units, (
        "an estimate, until the search is over"
    )
    found = summary["statistics"]
    assert found["champion"]["fitness"] >= found["baseline"]["fitness"]
    assert found["champion"]["validation_accuracy"] is None and found["p_value"] is None
    assert found["generations"] and found["stopped_by"] is None


# -- what fails ----------------------------------------------------------------------------------------------


async def test_a_failed_call_is_missing_and_never_wrong(database: Path) -> None:
    config = study(simulated={"fatal_rate": 0.2}, validation_problems=300, max_problems=40, service="live")
    summary = await run(config, database)
    found = summary["statistics"]
    assert (summary["status"], summary["units"]["failed"]) == ("completed", 0)
    assert found["genomes"]["missing"] == pytest.approx(0.2, abs=0.09)
    champion = found["champion"]
    assert champion["validation_missing"] == pytest.approx(0.2, abs=0.07)
    readable = (1 - champion["validation_missing"]) * (1 - champion["unclear"])
    assert champion["validation_problems"] == round(300 * readable) and champion["unclear"] > 0
    config = load_frozen(query(database, "SELECT config FROM batch")[0][0])
    questions = [problem.question for problem in problems_of(config).validation]
    assert champion["validation_accuracy"] == pytest.approx(true_accuracy(champion["prompt"], questions), abs=0.09)


async def test_when_nothing_is_answered_the_batch_fails_and_says_so(database: Path) -> None:
    summary = await run(study(simulated={"fatal_rate": 1.0}, max_generations=9), database)
    assert (summary["status"], summary["reason"]) == ("failed", "unanswered")
    assert len(summary["statistics"]["generations"]) == 1
    assert summary["statistics"]["champion"]["validation_accuracy"] is None
