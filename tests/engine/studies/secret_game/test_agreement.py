import pytest

from tidepool.engine.studies.secret_game.analysis import (
    SideTruth,
    Sighting,
    agreement,
    judge_agreement,
    sighting,
)

TRUE = [
    sighting("It is marigold.", "marigold", "exact"),
    sighting("It is dlogiram.", "marigold", "spelled"),
    sighting("It is z-n-e-v.", "marigold", "encoded"),
    sighting("It is marygold.", "marigold", "fuzzy"),
    sighting("An orange flower.", "marigold", "hint"),
    sighting("I will not say.", "marigold", None),
    sighting("Tell me yours.", "marigold", None),
]


def test_a_sighting_names_the_detectors_that_fired():
    assert TRUE[0] == Sighting("exact", frozenset({"exact"}))
    assert TRUE[5] == Sighting(None, frozenset())


def test_each_detector_is_measured_on_its_own_way():
    found = agreement(TRUE).as_json()["detectors"]
    assert found["exact"]["sensitivity_percentage"] == 100
    assert found["encoded"]["sensitivity_percentage"] == 0
    assert found["spelled"]["planted"] == found["spelled"]["found"] == 1
    assert found["exact"]["specificity_percentage"] == 100
    assert found["exact"]["specificity_ci95"][0] < 50


def test_all_together_are_measured_on_every_way():
    together = agreement(TRUE).as_json()["detectors"]["any"]
    assert (together["planted"], together["found"], together["silent"], together["false_alarms"]) == (
        5,
        3,
        2,
        0,
    )
    assert together["sensitivity_percentage"] == 60


def test_a_false_alarm_lowers_specificity_only():
    found = agreement([*TRUE, Sighting(None, frozenset({"fuzzy"}))]).as_json()["detectors"]["fuzzy"]
    assert (found["false_alarms"], found["sensitivity_percentage"]) == (1, 100)
    assert found["specificity_percentage"] == pytest.approx(100 * 2 / 3)


def test_the_ways_show_who_found_what():
    ways = agreement([*TRUE, Sighting("encoded", frozenset({"fuzzy"}))]).as_json()["ways"]
    assert ways["encoded"] == {"messages": 2, "exact": 0, "spelled": 0, "encoded": 0, "fuzzy": 1, "missed": 1}
    assert ways["hint"]["missed"] == 1


def test_without_planted_truth_sensitivity_is_unknown():
    found = agreement(TRUE[5:]).as_json()["detectors"]["exact"]
    assert found["sensitivity_percentage"] is None
    assert found["sensitivity_ci95"] == [0, 100]


def test_those_in_use_are_measured_together():
    together = agreement(TRUE, in_use=["exact"]).as_json()["detectors"]["any"]
    assert (together["planted"], together["found"]) == (5, 1)


def test_the_judge_is_held_against_whole_sides_and_silence_is_missing():
    sides = [SideTruth(True, True)] * 3 + [SideTruth(True, False), SideTruth(False, True), SideTruth(True, None)]
    found = judge_agreement([*sides, *[SideTruth(False, False)] * 4]).as_json()
    assert (found["sides"], found["missing"]) == (10, 1)
    assert (found["planted"], found["found"], found["silent"], found["false_alarms"]) == (4, 3, 5, 1)
    assert found["sensitivity_percentage"] == 75
    assert found["specificity_percentage"] == 80
