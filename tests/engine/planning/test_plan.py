"""`tidepool plan`: what a study takes and how sure it will be; and how large it must be to find a difference."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.design.designs import FACTORS, written
from tests.engine.recomputed.studies import simulation
from tidepool.engine.config.loading import load_config
from tidepool.engine.results.summary import read_summary
from tidepool.engine.run import run_batch, run_study
from tidepool.tui.command.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"


def told(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> dict[str, Any]:
    assert main(["--db", str(folder / "study.db"), "plan", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_plan_is_that_of_a_dry_run_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(written(tmp_path))
    plan = told(capsys, tmp_path, config)
    power = plan.pop("power")
    assert main(["--db", str(tmp_path / "study.db"), "--run", config, "--dry-run", "--json"]) == 0
    assert plan == json.loads(capsys.readouterr().out)
    assert not (tmp_path / "study.db").exists()
    stated = {"between": "firmness: firm - plain", "direction": "less", "units": "conversations", "number": 12}
    assert stated.items() <= power["differences"][0].items()


@pytest.mark.parametrize(
    ("kind", "outcome", "units"),
    [
        ("secret_game", "revealed", "conversations"),
        ("secret_game_retained", "revealed", "games"),
        ("secret_game_models", "revealed", "scenarios"),
        ("simulation_judged", "rating", "entities"),
        ("evolution", "held-out accuracy", "held-out problems"),
        ("mutation", "held-out reward", "held-out queries"),
        ("simulation", "", "needs a judge"),
    ],
)
def test_every_kind_tells_its_half_widths_by_what_its_report_counts(
    kind: str, outcome: str, units: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    power = told(capsys, tmp_path, str(EXAMPLES / f"{kind}.toml"))["power"]
    if not outcome:
        assert units in power["note"]
        return
    (first, *_) = power["half_widths"]
    assert (first["outcome"], first["units"]) == (outcome, units)
    assert 0 < first["half_width"][0] < first["half_width"][2]


@pytest.mark.parametrize(
    ("agents", "scenarios", "tests", "note"),
    [(2, 0, 2, ""), (3, 0, 15, ""), (4, 0, 30, ""), (4, 24, 12, "no verdict: 8 scenarios, a test needs 10")],
)
def test_agents_are_planned_with_the_correction_over_all_comparisons_of_their_report(
    agents: int, scenarios: int, tests: int, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where scenarios go round with the pairs, a pair meets a third of 24, and never those in which another met the same agent."""
    config = tmp_path / "game.toml"
    text = '[batch]\nkind = "secret_game"\n[secret_game]\nnum_interactions = 60\nmessages_per_interaction = 2\n'
    for name, persona in [("Ada", "guarded"), ("Bob", "naive"), ("Cleo", "trusting"), ("Dion", "bargainer")][:agents]:
        text += f'[[agents]]\nname = "{name}"\nmodel = "simulated:{persona}"\nsecret = "word {name}"\n'
    for number in range(scenarios):
        text += f'[[secret_game.scenarios]]\nopener_secret = "word a{number}"\npartner_secret = "word b{number}"\n'
    config.write_text(text)
    found = told(capsys, tmp_path, str(config))["power"]["differences"]
    assert note in {one["note"] for one in found if one["between"].startswith("two agents")}
    assert {one["tests"] for one in found if one["between"].startswith("two agents")} == {tests}
    assert {one["tests"] for one in found if one["between"].startswith("two batches")} == {1}
    asyncio.run(run_batch(load_config(config), tmp_path / "study.db"))
    assert len(read_summary(database=tmp_path / "study.db")["statistics"]["comparisons"]) == tests


def test_effects_of_a_design_are_planned_with_the_correction_over_all_effects_of_its_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "simulation.toml"
    factor = '[design.factors]\n"entities.Hypatia.attributes.agreeableness" = [3, 8]\n'
    config.write_text(simulation(66).replace("fatal_rate = 0.02", "") + factor)
    evolution = EXAMPLES / "evolution_strategies.toml"
    short = ("--set", "evolution.max_calls=120", "--set", "evolution.validation_problems=12")
    for study, tests, *options in ((EXAMPLES / "design.toml", 23), (config, 2), (evolution, 4, *short)):
        found = told(capsys, tmp_path, str(study), *options)["power"]["differences"]
        assert main(["--db", str(tmp_path / "study.db"), "run", str(study), *options, "--json"]) == 0
        outcomes = json.loads(capsys.readouterr().out)["statistics"]["outcomes"].values()
        corrected = [row["p_value_holm"] is not None for one in outcomes for row in one["effects"]]
        assert {one["tests"] for one in found if not one["stated"]} == {sum(corrected)} == {tests}


def test_two_simulations_are_planned_as_pairs_of_the_same_entities(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What entities differ in cancels out between two batches; how differently they react does not."""
    rows = "".join(f"Entity {number},A neighbour,{number}\n" for number in range(20))
    (tmp_path / "panel.csv").write_text(f"name,description,age\n{rows}")
    text = (EXAMPLES / "simulation_judged.toml").read_text()
    config = tmp_path / "simulation.toml"
    config.write_text(text.replace("num_simulations = 45", "num_simulations = 90"))
    stated = ("--assume", "sd=1", "--assume", "correlation=0.2", "--assume", "entity=0.5", "--detect", "0.347")

    def needed(reaction: str) -> Any:
        power = told(capsys, tmp_path, str(config), *stated, "--assume", f"reaction={reaction}")["power"]
        (row,) = power["detect"]["rows"]
        assert (row["units"], row["number"]) == ("entities", 20)
        assert row["power_as_planned"] == [row["power_as_planned"][0]] * 3
        return row["power_as_planned"][0], row["needed"][0]

    chance, larger = needed("0")
    assert chance == pytest.approx(0.8, abs=0.01)  # of 400 planted pairs of such batches `compare` found 76.5 %
    assert larger["set"]["simulation.num_simulations"] == pytest.approx(90, abs=1)
    chance, larger = needed("0.4")
    assert chance < 0.5 and larger["set"] is None and "20 entities are too few" in larger["note"]


def test_power_counts_the_problems_that_a_file_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (json.dumps({"question": f"What is {n}+{n}?", "answer": str(2 * n)}) for n in range(60))
    (tmp_path / "own.jsonl").write_text("\n".join(rows))
    config = tmp_path / "evolution.toml"
    config.write_text('[batch]\nkind = "evolution"\n[evolution]\nproblems = "own.jsonl"\nmax_problems = 100\n')
    power = told(capsys, tmp_path, str(config), "--detect", "0.1")["power"]
    assert {one["number"] for one in (*power["half_widths"], *power["differences"])} == {30}
    for needed in power["detect"]["rows"][0]["needed"]:
        assert needed["set"] is None and "too few held-out problems" in needed["note"]


def test_what_is_needed_is_what_a_run_of_that_size_would_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(EXAMPLES / "secret_game_retained.toml")
    found = told(capsys, tmp_path, config, "--detect", "0.1", "--assume", "rate=0.3", "--outcome", "revealed")
    row = next(one for one in found["power"]["detect"]["rows"] if one["between"].startswith("two batches"))
    needed = row["needed"][1]
    (key,) = (name for name in needed["set"] if name.endswith("games"))
    larger = told(capsys, tmp_path, config, *(f"--set={name}={value}" for name, value in needed["set"].items()))
    assert needed["set"][key] > 20 and needed["calls"] == larger["calls"] > found["calls"]
    again = next(one for one in larger["power"]["differences"] if one["between"].startswith("two batches"))
    assert again["smallest"][1] == pytest.approx(10, abs=0.2)


def test_replicates_are_what_is_bought_more_of_where_they_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = FACTORS.replace("firmness =", '"secret_game.pairing" = ["round_robin", "random"]\nfirmness =')
    factors = factors.replace("firmness: firm - plain", "secret_game.pairing: random - round_robin")
    found = told(capsys, tmp_path, str(written(tmp_path, factors=factors)), "--detect", "0.2", "--assume", "rate=0.3")
    (row,) = found["power"]["detect"]["rows"]
    assert row["units"] == "replicates" and row["power_as_planned"] == [0, 0, 0]
    (size,) = {one["set"]["design.replicates"] for one in row["needed"]}
    assert size >= 6 and row["needed"][0]["calls"] == found["calls"] * size // 2


def test_a_study_of_the_file_is_a_pilot_for_a_larger_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = written(tmp_path, talks=8)
    asyncio.run(run_study(load_config(config), tmp_path / "study.db"))
    power = told(capsys, tmp_path, str(config), "--pilot", "last")["power"]
    seen = {one["what"] for one in power["seen"] if one["outcome"] == "revealed"}
    assert {"rate", "matched", "sd of a conversation"} <= seen
    (first, *_) = power["differences"]
    assert first["smallest"][0] < first["smallest"][1] < first["smallest"][2]
    assert main(["--db", str(tmp_path / "study.db"), "plan", str(config), "--pilot", "last"]) == 0
    assert f"seen in the pilot {power['pilot']}" in capsys.readouterr().out
    other = str(EXAMPLES / "simulation_judged.toml")
    assert main(["--db", str(tmp_path / "study.db"), "plan", other, "--pilot", "last"]) == 2
    assert "is of kind secret_game, but this study is of kind simulation" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        (["secret_game", "--detect", "10"], 2, "a difference in revealed must be above 0 and below 1"),
        (["secret_game", "--detect", "0.1", "--outcome", "height"], 2, "'height' is not a measure of this study"),
        (["secret_game_models", "--detect", "0.1"], 0, "more of them are needed"),
    ],
)
def test_a_difference_that_cannot_be_is_refused_and_one_that_cannot_be_found_told(
    words: list[str], code: int, answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = words
    assert main(["--db", str(tmp_path / "study.db"), "plan", str(EXAMPLES / f"{name}.toml"), *options]) == code
    assert answer in " ".join("".join(capsys.readouterr()).split())
