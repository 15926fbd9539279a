from collections.abc import Mapping
from typing import Any

import pytest

from tests.engine.studies.simulation.panels import take_completed, take_unfinished
from tidepool.engine.config.entities import Entity
from tidepool.engine.studies.simulation.measures import (
    MOST_GROUPS,
    SpeechTally,
    compare_by_attribute,
    grouped,
    words_in,
)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ({"A": True, "B": False, "C": True}, {"no": ["B"], "yes": ["A", "C"]}),
        ({"A": "city", "B": "town", "C": "city"}, {"city": ["A", "C"], "town": ["B"]}),
        ({"A": 10, "B": 9, "C": 10}, {"9": ["B"], "10": ["A", "C"]}),
        ({"A": 1, "B": 2, "C": 3, "D": 4, "E": 5, "F": 6}, {"1–2": ["A", "B"], "3–4": ["C", "D"], "5–6": ["E", "F"]}),
        ({"A": 1, "B": "much"}, {"1": ["A"], "much": ["B"]}),
    ],
)
def test_entities_are_grouped_by_value(values: dict[str, bool | int | str], labels: dict[str, list[str]]) -> None:
    attributed = grouped(values)
    assert attributed is not None
    assert list(attributed.items()) == list(labels.items())


@pytest.mark.parametrize(
    "values", [{"A": "same", "B": "same"}, {"A": 3}, {}, {str(i): f"motto {i}" for i in range(MOST_GROUPS + 1)}]
)
def test_what_does_not_group_is_not_compared(values: dict[str, str | int]) -> None:
    assert grouped(values) is None


def _by_size(ratings: dict[str, list[float]], sizes: Mapping[str, str | int]) -> dict[str, Any]:
    """Each rating was given in a talk of one, in seven words."""
    tally = SpeechTally()
    for name, own in ratings.items():
        for rating in own or [None]:
            take_completed(tally, "solo", [name], [(name, "one two three four five six seven")], [(name, rating)])
    entities = [Entity(name, "", {"size": sizes[name]} if name in sizes else {}) for name in ratings]
    return compare_by_attribute(entities, tally, (1, 9))["size"]


def _groups(ratings: dict[str, list[float]], sizes: dict[str, str]) -> dict[str, Any]:
    return {group["value"]: group for group in _by_size(ratings, sizes)["groups"]}


@pytest.mark.parametrize("labels", [["small", "tall"], [1, 2]])
@pytest.mark.parametrize(("rated", "known", "tested"), [(12, 10, True), (12, 9, False), (12, 2, False), (9, 12, False)])
def test_a_test_needs_ten_entities_with_both_the_attribute_and_a_mean(
    labels: list[str | int], rated: int, known: int, tested: bool
) -> None:
    ratings = {f"P{place}": [1.0 + place % 7] * (place < rated) for place in range(12)}
    found = _by_size(ratings, {f"P{place}": labels[place % 2] for place in range(known)})
    assert (found["tests"]["rating"] is not None) == tested
    few = f"only {known // 2} entities in a group: below 24"
    assert found["note"].startswith(few if known >= 10 else f"no verdict: {known} entities, a test needs 10 (")


def test_a_group_of_one_entity_has_a_mean_but_no_interval() -> None:
    groups = _groups({"A": [1, 2, 3], "B": [4, 5]}, {"A": "small", "B": "tall"})
    assert {value: group["rating"] for value, group in groups.items()} == {
        "small": {"mean": 2.0, "ci95": None},
        "tall": {"mean": 4.5, "ci95": None},
    }


def test_an_entity_that_was_never_rated_counts_for_words_only() -> None:
    groups = _groups({"A": [1], "B": [2], "C": []}, {"A": "small", "B": "small", "C": "tall"})
    assert groups["tall"]["rating"] is None
    assert groups["tall"]["words"]["mean"] == 7


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("one", 1), ("one  two\nthree.", 3), ("私は賛成です", 6), ("我同意 plan B", 5), ("don't", 1)],
)
def test_words_are_counted_in_scripts_with_and_without_spaces(text: str, words: int) -> None:
    assert words_in(text) == words


def test_a_tally_measures_completed_simulations_and_counts_the_rest() -> None:
    tally = SpeechTally()
    take_completed(
        tally, "dyadic", ["A", "B"], [("A", "one two"), ("B", "three"), ("(scene)", "lost")], [("A", 4), ("B", None)]
    )
    take_unfinished(tally, "dyadic", "failed")
    take_unfinished(tally, "dyadic", "in_progress")
    counts = tally.types["dyadic"]
    assert counts == {"simulations": 3, "completed": 1, "failed": 1, "messages": 2, "words": 3} and tally.unsplit == 1
    assert tally.means("words") == {"A": 2, "B": 1} and tally.means("rating") == {"A": 4} and tally.unrated == {"B": 1}
