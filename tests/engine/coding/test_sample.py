"""The sample that people code: stratified, one side a talk, reproducible, and weighted back to the batch."""

from collections import Counter, defaultdict
from itertools import pairwise
from random import Random

import pytest

from tidepool.engine.coding.sample import (
    NEGATIVE,
    POSITIVE,
    UNCERTAIN,
    Candidate,
    Sample,
    allocation,
    draw_sample,
    rating_strata,
)


def frame(talks: int, positive: float = 0.2, uncertain: float = 0.1, seed: int = 1) -> list[Candidate]:
    random = Random(seed)
    strata = {POSITIVE: positive, UNCERTAIN: uncertain, NEGATIVE: 1 - positive - uncertain}
    names, shares = list(strata), list(strata.values())
    return [
        Candidate((talk, side, 0), random.choices(names, shares)[0]) for talk in range(1, talks + 1) for side in (0, 1)
    ]


def sample(candidates: list[Candidate], size: int, seed: int = 7) -> Sample:
    return draw_sample(candidates, size, Random(seed), "sides", "detectors")


def test_half_is_positive_half_negative_and_no_talk_is_asked_twice() -> None:
    found = sample(frame(400), 100)
    counts = Counter(one.stratum for one in found.chosen)
    assert counts[POSITIVE] == 50 and counts[UNCERTAIN] + counts[NEGATIVE] == 50 and counts[UNCERTAIN] == 12
    assert len({one.place[0] for one in found.chosen}) == len(found.chosen) == 100


def test_the_weights_of_a_stratum_are_its_sides_of_the_batch() -> None:
    candidates = frame(300)
    found = sample(candidates, 90)
    weights: defaultdict[str, float] = defaultdict(float)
    for one in found.chosen:
        weights[one.stratum] += one.weight
    assert weights == pytest.approx(Counter(one.stratum for one in candidates)) and found.population == 600


def test_the_same_lots_draw_the_same_and_a_larger_sample_holds_a_smaller() -> None:
    candidates = frame(300)
    sizes = [20, 21, 50, 100, 180, 300]
    found = [[one.place for one in sample(candidates, size).chosen] for size in sizes]
    assert found[2] == [one.place for one in sample(candidates, 50).chosen]
    for smaller, larger in pairwise(found):
        assert set(smaller) <= set(larger)
        assert [place for place in larger if place in set(smaller)] == smaller, "in the same order"
    assert found[2] != [one.place for one in sample(candidates, 50, seed=8).chosen]


def test_whoever_stops_early_has_coded_all_strata() -> None:
    first = sample(frame(400), 100).chosen[:30]
    assert Counter(one.stratum for one in first)[POSITIVE] in range(7, 24)


@pytest.mark.parametrize(
    ("there", "size", "expected"),
    [
        ({POSITIVE: 200, NEGATIVE: 300}, 100, {POSITIVE: 50, NEGATIVE: 50}),
        ({POSITIVE: 10, NEGATIVE: 300}, 100, {POSITIVE: 10, NEGATIVE: 90}),
        ({POSITIVE: 300, NEGATIVE: 4}, 100, {POSITIVE: 96, NEGATIVE: 4}),
        ({NEGATIVE: 300}, 100, {NEGATIVE: 100}),
        ({POSITIVE: 30, UNCERTAIN: 2, NEGATIVE: 30}, 40, {POSITIVE: 20, UNCERTAIN: 2, NEGATIVE: 18}),
        ({POSITIVE: 30, UNCERTAIN: 30, NEGATIVE: 3}, 40, {POSITIVE: 20, UNCERTAIN: 18, NEGATIVE: 2}),
        ({POSITIVE: 30, UNCERTAIN: 25, NEGATIVE: 3}, 54, {POSITIVE: 27, UNCERTAIN: 24, NEGATIVE: 3}),
        ({POSITIVE: 3, NEGATIVE: 3}, 100, {POSITIVE: 3, NEGATIVE: 3}),
        ({"1": 30, "2": 4, "5": 30}, 30, {"1": 13, "2": 4, "5": 13}),
        ({}, 10, {}),
    ],
)
def test_what_one_stratum_lacks_the_others_give(there: dict[str, int], size: int, expected: dict[str, int]) -> None:
    assert allocation(there, there, size) == expected


def test_ratings_are_strata_of_their_own_or_share_one_with_their_neighbours() -> None:
    assert rating_strata([1, 2, 2, 5]) == {1: "1", 2: "2", 5: "5"}
    many = [number / 10 for number in range(100)]
    strata = rating_strata(many)
    assert len(set(strata.values())) == 9 and max(Counter(strata.values()).values()) <= 12
    assert strata[0.0] == "0 to under 1.1" and strata[9.9] == "8.8 or more"


def test_a_sample_comes_back_from_its_json() -> None:
    found = sample(frame(50), 20)
    assert Sample.from_json(found.as_json()) == found
