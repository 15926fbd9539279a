import json

import pytest

from tests.engine.studies.secret_game.talks import rows
from tidepool.engine.studies.secret_game.findings.analysis import analysed
from tidepool.engine.studies.secret_game.findings.outcomes import SideOutcome
from tidepool.engine.studies.secret_game.findings.shares import basic_statistics

# Ada always obtains and never reveals; Bo gives in to everybody; Cy keeps his, except to Ada.
PLAYED = rows(
    *[("Ada", "Bo", False, True), ("Bo", "Ada", True, False)] * 6,
    *[("Ada", "Cy", False, True), ("Cy", "Ada", True, False)] * 6,
    *[("Bo", "Cy", True, False), ("Cy", "Bo", False, True)] * 6,
)
MODELS = {"Ada": "simulated:guarded", "Bo": "simulated:naive", "Cy": "simulated:guarded"}
FOUND = analysed(PLAYED, {("Ada", "Bo"): 1}, MODELS).as_json()


def test_the_contracts_fields_are_those_of_the_basic_statistics():
    basic = basic_statistics(PLAYED, {("Ada", "Bo"): 1}).as_json()
    assert {key: FOUND[key] for key in ("overall", "pairs", "missing")} == {
        key: basic[key] for key in ("overall", "pairs", "missing")
    }
    for name, numbers in basic["agents"].items():
        assert numbers.items() <= FOUND["agents"][name].items()


def test_agents_carry_their_mean_score_with_an_interval():
    cy = FOUND["agents"]["Cy"]
    assert cy["score_mean"] == 1.5
    assert 0.5 < cy["score_mean_ci95"][0] < 1.5 < cy["score_mean_ci95"][1] < 2.5


def test_agents_on_the_same_model_are_counted_together():
    assert FOUND["models"]["simulated:guarded"]["interactions"] == 48
    assert FOUND["models"]["simulated:naive"]["times_revealed_secret_percentage"] == 100


def test_without_models_there_is_nothing_by_model():
    assert "models" not in analysed(PLAYED).as_json()


def test_sides_are_counted_by_who_opened():
    openers = FOUND["openers"]
    assert openers["opened"]["interactions"] == openers["answered"]["interactions"] == 36
    assert openers["opened"]["times_revealed_secret"] == openers["answered"]["times_revealed_secret"] == 18


def test_modes_are_told_apart():
    mixed = analysed(PLAYED + rows(("Ada", "Bo", True, True), mode="diversity", game=2)).as_json()
    assert mixed["modes"]["standard"]["interactions"] == 72
    assert mixed["modes"]["diversity"]["times_revealed_secret_percentage"] == 100


def test_the_ranking_is_by_mean_score():
    assert [(place["agent"], place["rank"]) for place in FOUND["ranking"]] == [
        ("Ada", 1),
        ("Cy", 2),
        ("Bo", 3),
    ]
    assert FOUND["ranking"][0]["best_probability"] == 1


def test_agents_are_compared_in_common_talks_and_against_common_partners():
    by_pair = {tuple(found["agents"]): found for found in FOUND["comparisons"]}
    assert set(by_pair) == {("Ada", "Cy"), ("Ada", "Bo"), ("Cy", "Bo")}
    # twelve talks together, and Bo met by each of the two from both sides
    ada_cy = by_pair["Ada", "Cy"]
    assert ada_cy["pairs"] == 14
    assert ada_cy["score_difference"] == pytest.approx(12 * 3 / 14)
    assert ada_cy["p_value"] <= ada_cy["p_value_holm"] < 0.01


def test_more_conversations_are_needed_the_less_certain_a_share_is():
    needed = FOUND["precision"]["agents"]
    assert FOUND["precision"]["half_width_percentage"] == 5
    assert needed["Cy"]["times_revealed_secret"] > needed["Bo"]["times_revealed_secret"] > 0


def test_scores_not_yet_known_are_left_out():
    unscored = [row._replace(score=None) for row in PLAYED]
    found = analysed(unscored).as_json()
    assert found["agents"]["Ada"]["score_mean"] is None
    assert found["ranking"] == found["comparisons"] == []
    assert found["agents"]["Ada"]["times_obtained_secret"] == 24


def test_an_empty_batch_has_empty_statistics():
    empty: list[SideOutcome] = []
    found = analysed(empty, {}, {}).as_json()
    assert found["agents"] == found["pairs"] == found["models"] == {}
    assert found["overall"]["total_interactions"] == 0


def test_everything_is_plain_json_and_the_same_each_time():
    assert json.loads(json.dumps(FOUND)) == json.loads(
        json.dumps(analysed(PLAYED, {("Ada", "Bo"): 1}, MODELS).as_json())
    )
