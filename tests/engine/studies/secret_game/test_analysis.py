"""The contract's numbers, intervals and comparisons, from rows as the view `outcomes` gives them."""

from random import Random
from typing import Any

import pytest

from tests.engine.studies.secret_game.talks import analysed, rows
from tests.support import reference
from tidepool.engine.studies.secret_game.analysis import GameDesign
from tidepool.engine.studies.secret_game.contrasts import HEAD, THIRD
from tidepool.engine.studies.secret_game.report import blocks
from tidepool.engine.studies.secret_game.sides import SideOutcome

FOUR_TALKS = rows(
    ("Ada", "Bo", True, True),
    ("Bo", "Ada", False, True),
    ("Ada", "Cy", False, False),
    ("Cy", "Bo", True, False),
)


def test_the_contracts_numbers():
    found = analysed(FOUR_TALKS)
    ada, bo, pairs = found["agents"]["Ada"], found["agents"]["Bo"], found["pairs"]
    assert (ada["interactions"], ada["score"]) == (3, 1)
    assert (ada["times_revealed_secret"], ada["times_obtained_secret"], ada["optimal_strategy"]) == (2, 1, 0)
    assert ada["times_revealed_secret_percentage"] == pytest.approx(200 / 3)
    assert ada["times_revealed_secret_ci95"] == pytest.approx([11.85, 98.29], abs=0.01)
    assert (bo["optimal_strategy"], bo["score"]) == (2, 7), "obtaining without revealing is optimal"
    assert bo["optimal_strategy_percentage"] == pytest.approx(200 / 3)
    assert {key: value for key, value in found["overall"].items() if not key.endswith("_ci95")} == {
        "total_interactions": 4,
        "total_secrets_revealed": 4,
        "secrets_revealed_percentage": 50.0,
        "both_revealed_count": 1,
        "both_revealed_percentage": 25.0,
        "one_sided_reveals_count": 2,
        "one_sided_reveals_percentage": 50.0,
    }
    assert list(pairs) == ["Ada & Bo", "Ada & Cy", "Bo & Cy"]
    assert (pairs["Ada & Bo"]["agents"], pairs["Ada & Bo"]["total_interactions"]) == (["Ada", "Bo"], 2)
    assert [side["times_revealed_secret"] for side in pairs["Ada & Bo"]["sides"].values()] == [2, 1]


def test_a_talk_with_oneself_counts_both_its_sides():
    found = analysed(rows(("Ada", "Ada", True, False)))
    assert found["agents"]["Ada"]["interactions"] == 2
    assert found["agents"]["Ada"]["times_revealed_secret"] == found["agents"]["Ada"]["times_obtained_secret"] == 1
    assert found["overall"]["total_interactions"] == 1
    assert list(found["pairs"]["Ada & Ada"]["sides"]) == ["Ada"]


def test_missing_conversations_change_no_share_and_give_the_best_and_the_worst_case():
    without, found = (
        analysed(FOUR_TALKS),
        analysed(FOUR_TALKS, {("Bo", "Ada"): 1, ("Ada", "Bo"): 1}),
    )
    assert (without["agents"], without["overall"]) == (found["agents"], found["overall"])
    missing = found["missing"]
    assert (without["missing"]["conversations"], missing["conversations"]) == (0, 2)
    assert missing["percentage"] == pytest.approx(100 / 3)
    assert missing["secrets_revealed_bounds"] == pytest.approx([100 * 4 / 12, 100 * 8 / 12])
    assert missing["pairs"] == {"Ada & Bo": 2}


def test_a_batch_in_which_all_failed_has_shares_of_nothing():
    found = analysed([], {("Ada", "Bo"): 3})
    assert found["agents"]["Ada"]["times_revealed_secret_percentage"] is None
    assert found["agents"]["Ada"]["times_revealed_secret_ci95"] == [0, 100]
    assert found["missing"]["percentage"] == 100.0


# -- intervals, comparisons and rankings ------------------------------------------------------------------------

# Ada always obtains and never reveals; Bo gives in to everybody; Cy keeps his, except to Ada.
PLAYED = rows(
    *[("Ada", "Bo", False, True), ("Bo", "Ada", True, False)] * 6,
    *[("Ada", "Cy", False, True), ("Cy", "Ada", True, False)] * 6,
    *[("Bo", "Cy", True, False), ("Cy", "Bo", False, True)] * 6,
)
MODELS = {"Ada": "simulated:guarded", "Bo": "simulated:naive", "Cy": "simulated:guarded"}
FOUND = analysed(PLAYED, {("Ada", "Bo"): 1}, GameDesign(MODELS))


def test_agents_on_the_same_model_are_counted_together():
    assert FOUND["models"]["simulated:guarded"]["interactions"] == 48
    assert FOUND["models"]["simulated:naive"]["times_revealed_secret_percentage"] == 100
    assert "models" not in analysed(PLAYED)


def compared(found: dict[str, Any], measure: str, estimand: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = [row for row in found["comparisons"] if (row["measure"], row["estimand"]) == (measure, estimand)]
    return {tuple(row["agents"]): row for row in rows}


def test_in_their_own_talks_and_against_third_agents_are_two_figures():
    head, third = (compared(FOUND, "score", estimand) for estimand in (HEAD, THIRD))
    assert set(head) == set(third) == {("Ada", "Cy"), ("Ada", "Bo"), ("Cy", "Bo")}
    assert head["Ada", "Cy"]["difference"] == 3
    assert third["Ada", "Cy"]["difference"] == 0
    assert head["Ada", "Cy"]["sides"] == [12, 12]
    assert head["Ada", "Cy"]["p_value"] <= head["Ada", "Cy"]["p_value_holm"] < 0.01


def test_the_ranking_is_by_mean_score_within_what_the_comparisons_allow():
    """Ada beats both for sure; nobody can say whether Cy is better than Bo if they met once."""
    told = [(place["agent"], place["rank"], place["rank_ci95"]) for place in FOUND["ranking"]]
    assert told == [("Ada", 1, [1, 1]), ("Cy", 2, [2, 2]), ("Bo", 3, [3, 3])]
    few = analysed(rows(("Bo", "Cy", True, False), ("Cy", "Bo", False, True)))
    assert [(place["agent"], place["rank_ci95"]) for place in few["ranking"]] == [("Cy", [1, 2]), ("Bo", [1, 2])]


def random_rows(talks: int, games: int = 1, scenarios: int = 0, seed: int = 3) -> list[SideOutcome]:
    random = Random(seed)
    played = []
    for number in range(talks):
        opener, partner = random.sample(["Ada", "Bo", "Cy", "Di"], 2)
        mood = random.random()
        talk = (opener, partner, random.random() < mood, random.random() < 0.8 * mood)
        scenario = number % scenarios + 1 if scenarios else None
        for side in rows(talk, game=number % games + 1):
            played.append(side._replace(conversation_id=number, scenario=scenario))
    return played


def test_the_division_into_games_changes_nothing_where_nothing_links_them():
    one, fifty = (analysed(random_rows(300, games), None, GameDesign(MODELS)) for games in (1, 50))
    assert (one["inference"].pop("games"), fifty["inference"].pop("games")) == (1, 50)
    assert one == fifty


def test_interval_and_test_say_the_same():
    for found in (random_rows(300), random_rows(40), random_rows(300, games=20)):
        for linked in (False, True):
            for row in analysed(found, None, GameDesign(linked=linked))["comparisons"]:
                if row["p_value"] is not None and (ends := row["difference_ci95"]):
                    assert (row["p_value"] < 0.05) == (not ends[0] <= 0 <= ends[1])


def test_one_linked_game_has_no_interval_and_says_so():
    found = analysed(random_rows(60), None, GameDesign(linked=True))
    assert found["overall"]["secrets_revealed_ci95"] is None
    assert found["agents"]["Ada"]["times_revealed_secret_ci95"] is None
    assert {row["p_value"] for row in found["comparisons"]} == {None}
    assert "one game: no inference beyond it" in found["inference"]["note"]
    told = " ".join(getattr(block, "text", "") or getattr(block, "note", "") for block in blocks(found))
    assert "one game" in told and "more than one independent observation" in told
    assert "Intervals are" not in told


def test_scenarios_that_repeat_are_what_counts():
    found = analysed(random_rows(240, scenarios=6))
    assert found["inference"]["clusters"] == "scenarios"
    assert found["inference"]["speaks_of"] == "these agents in scenarios like these"
    assert list(found["scenarios"]) == ["1", "2", "3", "4", "5", "6"]
    once = analysed(random_rows(240, scenarios=240))
    assert once["inference"]["clusters"] == "talks"


@pytest.mark.parametrize(("games", "scenarios", "linked"), [(1, 0, False), (12, 0, True), (1, 8, False), (12, 7, True)])
def test_every_interval_is_the_one_of_other_means(games: int, scenarios: int, linked: bool):
    sides = random_rows(120, games, scenarios)
    found = analysed(sides, None, GameDesign(linked=linked))
    told = [{**side._asdict(), "opener": bool(side.opener)} for side in sides]
    ways = [lambda row: row["game"]] if linked else []
    ways += [lambda row: row["scenario"]] if scenarios else []
    ways = ways or [reference.TALK]
    alike = reference.likeness(told)

    def value(row: reference.Row) -> Any:
        return row["revealed"]

    whole = reference.interval(told, value, ways, alike)
    assert found["overall"]["secrets_revealed_ci95"] == pytest.approx(whole)
    for name, numbers in found["agents"].items():
        mine = [row for row in told if row["agent"] == name]
        expected = reference.interval(mine, value, ways, alike)
        assert numbers["times_revealed_secret_ci95"] == pytest.approx(expected)
    for name, pair in found["pairs"].items():
        own = [row for row in told if " & ".join(sorted((row["agent"], row["opponent"]))) == name]
        expected = reference.interval(own, value, ways, alike)
        assert pair["secrets_revealed_ci95"] == pytest.approx(expected), name


def test_uncertain_sides_are_bounds():
    doubtful = [row._replace(uncertain=not row.revealed and row.agent == "Cy") for row in PLAYED]
    found = analysed(doubtful)
    assert found["uncertain"]["sides"] == 12
    assert found["uncertain"]["secrets_revealed_bounds"] == pytest.approx([100 * 36 / 72, 100 * 48 / 72])
    assert found["overall"] == FOUND["overall"]
    assert any("uncertain" in getattr(block, "text", "") for block in blocks(found))


def test_scores_not_yet_known_are_left_out():
    unscored = [row._replace(score=None) for row in PLAYED]
    found = analysed(unscored)
    assert found["agents"]["Ada"]["score_mean"] is None
    assert found["comparisons"] == []
    assert found["agents"]["Ada"]["times_obtained_secret"] == 24
