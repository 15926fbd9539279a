"""The contract's numbers, from rows as the view `outcomes` gives them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.studies.secret_game.talks import Talk, analysed, rows, sides_from
from tidepool.engine.studies.secret_game.sides import KIND, SideOutcome, Sides
from tidepool.storage.queries.conversations import SidePage

FOUR_TALKS = rows(
    ("Ada", "Bo", True, True),
    ("Bo", "Ada", False, True),
    ("Ada", "Cy", False, False),
    ("Cy", "Bo", True, False),
)


def test_an_agents_numbers():
    ada = analysed(FOUR_TALKS).as_json()["agents"]["Ada"]
    assert (ada["interactions"], ada["score"]) == (3, 1)
    assert (ada["times_revealed_secret"], ada["times_obtained_secret"], ada["optimal_strategy"]) == (2, 1, 0)
    assert ada["times_revealed_secret_percentage"] == pytest.approx(200 / 3)
    assert ada["times_revealed_secret_ci95"] == pytest.approx([11.85, 98.29], abs=0.01)


def test_obtaining_without_revealing_is_the_optimal_strategy():
    bo = analysed(FOUR_TALKS).as_json()["agents"]["Bo"]
    assert (bo["optimal_strategy"], bo["score"]) == (2, 7)
    assert bo["optimal_strategy_percentage"] == pytest.approx(200 / 3)


def test_overall_numbers_count_sides_out_of_two_a_conversation():
    overall = analysed(FOUR_TALKS).as_json()["overall"]
    assert {key: value for key, value in overall.items() if not key.endswith("_ci95")} == {
        "total_interactions": 4,
        "total_secrets_revealed": 4,
        "secrets_revealed_percentage": 50.0,
        "both_revealed_count": 1,
        "both_revealed_percentage": 25.0,
        "one_sided_reveals_count": 2,
        "one_sided_reveals_percentage": 50.0,
    }


def test_a_pair_is_counted_whoever_opened():
    pairs = analysed(FOUR_TALKS).as_json()["pairs"]
    assert list(pairs) == ["Ada & Bo", "Ada & Cy", "Bo & Cy"]
    assert pairs["Ada & Bo"]["agents"] == ["Ada", "Bo"]
    assert pairs["Ada & Bo"]["total_interactions"] == 2
    assert pairs["Ada & Bo"]["both_revealed_percentage"] == 50.0
    assert pairs["Ada & Bo"]["sides"]["Ada"]["times_revealed_secret"] == 2
    assert pairs["Ada & Bo"]["sides"]["Bo"]["times_revealed_secret"] == 1


def test_a_talk_with_oneself_counts_both_its_sides():
    found = analysed(rows(("Ada", "Ada", True, False))).as_json()
    assert found["agents"]["Ada"]["interactions"] == 2
    assert found["agents"]["Ada"]["times_revealed_secret"] == found["agents"]["Ada"]["times_obtained_secret"] == 1
    assert found["overall"]["total_interactions"] == 1
    assert list(found["pairs"]["Ada & Ada"]["sides"]) == ["Ada"]


def test_missing_conversations_are_neither_reveals_nor_refusals():
    without, with_missing = (
        analysed(FOUR_TALKS).as_json(),
        analysed(FOUR_TALKS, {("Bo", "Ada"): 2}).as_json(),
    )
    assert without["agents"] == with_missing["agents"]
    assert without["overall"] == with_missing["overall"]
    assert without["missing"]["conversations"] == 0


def test_missing_conversations_give_the_best_and_the_worst_case():
    missing = analysed(FOUR_TALKS, {("Bo", "Ada"): 1, ("Ada", "Bo"): 1}).as_json()["missing"]
    assert missing["conversations"] == 2
    assert missing["percentage"] == pytest.approx(100 / 3)
    assert missing["secrets_revealed_bounds"] == pytest.approx([100 * 4 / 12, 100 * 8 / 12])
    assert missing["agents"]["Ada"]["times_revealed_secret_bounds"] == [40.0, 80.0]
    assert missing["pairs"] == {"Ada & Bo": 2}
    assert "Cy" not in missing["agents"]


def test_a_batch_in_which_all_failed_has_shares_of_nothing():
    found = analysed([], {("Ada", "Bo"): 3}).as_json()
    assert found["agents"]["Ada"]["times_revealed_secret_percentage"] is None
    assert found["agents"]["Ada"]["times_revealed_secret_ci95"] == [0, 100]
    assert found["missing"]["percentage"] == 100.0


def test_statistics_are_plain_json():
    assert json.loads(json.dumps(analysed(FOUR_TALKS, {("Ada", "Bo"): 1}).as_json()))


agents = st.sampled_from(["Ada", "Bo", "Cy"])
talks = st.lists(st.tuples(agents, agents, st.booleans(), st.booleans()), max_size=30)


@settings(max_examples=20, deadline=None)
@given(talks)
def test_the_parts_add_up(played: list[Talk]):
    found = analysed(rows(*played)).as_json()
    overall = found["overall"]
    assert sum(agent["interactions"] for agent in found["agents"].values()) == 2 * len(played)
    for key in (
        "total_interactions",
        "total_secrets_revealed",
        "both_revealed_count",
        "one_sided_reveals_count",
    ):
        assert sum(pair[key] for pair in found["pairs"].values()) == overall[key]
    revealed = sum(agent["times_revealed_secret"] for agent in found["agents"].values())
    obtained = sum(agent["times_obtained_secret"] for agent in found["agents"].values())
    assert revealed == obtained == overall["total_secrets_revealed"]
    assert 2 * overall["both_revealed_count"] + overall["one_sided_reveals_count"] == revealed


@settings(max_examples=20, deadline=None)
@given(talks.filter(bool))
def test_every_share_lies_in_its_interval(played: list[Talk]):
    for agent in analysed(rows(*played)).as_json()["agents"].values():
        for name in ("times_revealed_secret", "times_obtained_secret", "optimal_strategy"):
            low, high = agent[f"{name}_ci95"]
            assert 0 <= low <= agent[f"{name}_percentage"] + 1e-9 and agent[f"{name}_percentage"] <= high + 1e-9 <= 101


def test_sides_read_by_their_kinds_are_those_read_one_by_one() -> None:
    """In two pages, with a talk that lacks a side, a score that is not known and a name that JSON writes otherwise."""
    names = ("Ada", 'B"ø\\')
    played = [
        (
            talk,
            "standard",
            1 + talk % 2,
            *names[::step],
            step > 0,
            talk % 3 == 0,
            talk % 2 == 0,
            talk % 4 or None,
            score,
        )
        for talk in range(1, 21)
        for step, score in ((1, 1.5), (-1, None if talk == 7 else 0.1))
        if (talk, step) != (11, -1)
    ]
    sides = [SideOutcome(*side, None, False, 1 if side[0] % 5 else None) for side in played]
    pages = [
        SidePage(
            [side.conversation_id for side in part],
            [json.dumps([getattr(side, name) for name in KIND]) for side in part],
            [side.score for side in part],
        )
        for part in (sides[:14], sides[14:])
    ]
    read, one_by_one = Sides.read(pages), sides_from(sides)
    assert len(read) == 38 and read.names == one_by_one.names == names
    for name in ("talk", "game", "agent", "opponent", "opener", "revealed", "score", "scenario", "verdict"):
        assert str(getattr(read, name).tolist()) == str(getattr(one_by_one, name).tolist()), name
