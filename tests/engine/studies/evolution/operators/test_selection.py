from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.variation import SELECTIONS, elites, selection_named, sus, tournament

SCORES = [0.1, 0.9, 0.5, 0.7, 0.3, 0.2, 0.8, 0.4]


@pytest.mark.parametrize("name", SELECTIONS)
@given(scores=st.lists(st.floats(-1, 1), min_size=1, max_size=30), count=st.integers(0, 40), seed=st.integers())
def test_every_way_picks_as_many_as_asked_from_the_population(
    name: str, scores: list[float], count: int, seed: int
) -> None:
    picked = SELECTIONS[name](scores, count, Random(seed))
    assert len(picked) == count
    assert all(0 <= index < len(scores) for index in picked)


@pytest.mark.parametrize("name", SELECTIONS)
def test_every_way_prefers_the_fitter(name: str) -> None:
    picked = Counter(SELECTIONS[name](SCORES, 4000, Random(1)))
    assert picked[1] > 1.5 * picked[7] >= 0
    assert picked[1] > 3 * picked[0]


@pytest.mark.parametrize("name", SELECTIONS)
def test_the_same_stream_picks_the_same_parents(name: str) -> None:
    assert SELECTIONS[name](SCORES, 20, Random(5)) == SELECTIONS[name](SCORES, 20, Random(5))


@pytest.mark.parametrize("name", ["tournament", "roulette", "rank", "sus"])
def test_among_equals_everybody_has_a_chance(name: str) -> None:
    picked = Counter(SELECTIONS[name]([0.0] * 5, 1000, Random(2)))
    assert set(picked) == set(range(5))
    assert min(picked.values()) > 130


def test_the_two_worst_of_a_population_never_win_a_tournament_of_three() -> None:
    assert not {0, 5} & set(tournament(SCORES, 2000, Random(3)))


def test_universal_sampling_gives_each_its_fair_share_rounded() -> None:
    picked = Counter(sus([1.0, 2.0, 5.0], 80, Random(4)))
    assert picked == {0: 10, 1: 20, 2: 50}


def test_elites_are_the_best_and_not_the_first() -> None:
    assert elites(SCORES, 3) == [1, 6, 3]


def test_among_equal_elites_the_earlier_one_stands_first() -> None:
    assert elites([0.5, 0.7, 0.7, 0.5], 3) == [1, 2, 0]


def test_an_unknown_way_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="tournament, roulette, rank, sus, elitist"):
        selection_named("lottery")
