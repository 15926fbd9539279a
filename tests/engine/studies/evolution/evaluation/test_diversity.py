from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.fitness import (
    HIGH,
    LOW,
    Rates,
    adapted,
    distance_to_rest,
    mean_distance,
)

BASE = Rates(crossover=0.8, mutation=0.2)


@pytest.mark.parametrize(
    ("prompts", "distance"),
    [
        ([], 0.0),
        (["abc"], 0.0),
        (["abc", "abc"], 0.0),
        (["abcd", "abcx"], 0.25),
        (["aaaa", "bbbb"], 1.0),
        (["ab", "ab", "cd"], 2 / 3),
    ],
)
def test_distance_is_the_mean_over_pairs(prompts: list[str], distance: float) -> None:
    assert mean_distance(prompts, Random(1)) == pytest.approx(distance)


def test_a_sample_of_pairs_comes_close_to_all_of_them() -> None:
    rng = Random(1)
    prompts = ["".join(rng.choices("abcd", k=30)) for _ in range(80)]
    everything = mean_distance(prompts, Random(2), most_pairs=10**6)
    assert mean_distance(prompts, Random(2), most_pairs=400) == pytest.approx(everything, abs=0.02)


def test_the_odd_one_out_is_furthest_from_the_rest() -> None:
    prompts = ["think hard", "think harder", "think hardest", "go"]
    distances = [distance_to_rest(index, prompts, Random(1)) for index in range(4)]
    assert max(distances) == distances[3]
    assert distance_to_rest(0, ["alone"], Random(1)) == 0.0


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_rates_stay_within_their_bounds(crossover: float, mutation: float, diversity: float) -> None:
    rates = adapted(Rates(crossover, mutation), diversity)
    assert 0.5 * mutation <= rates.mutation <= max(mutation, min(0.9, 3 * mutation)) + 1e-12
    assert 0.7 * crossover - 1e-12 <= rates.crossover <= min(1.0, 1.1 * crossover) + 1e-12


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_more_alike_the_prompts_the_more_is_mutated(one: float, other: float) -> None:
    alike, different = sorted((one, other))
    assert adapted(BASE, alike).mutation >= adapted(BASE, different).mutation
    assert adapted(BASE, alike).crossover <= adapted(BASE, different).crossover


def test_halfway_the_rates_are_as_set() -> None:
    rates = adapted(BASE, (LOW + HIGH) / 2)
    assert (rates.crossover, rates.mutation) == pytest.approx((0.8, 0.2))
