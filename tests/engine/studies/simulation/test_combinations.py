import tracemalloc
from collections import Counter
from itertools import combinations as every
from itertools import islice
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.engine.studies.simulation.casting import Combination, combinations

FROZEN_DEALT = [(288, 492, 602), (153, 764, 864), (130, 217, 548)]
FROZEN_TRADED = [(0, 3, 5), (2, 3, 4), (1, 2, 4)]


def drawn(n: int, k: int, count: int, seed: int = 1) -> list[Combination]:
    return list(combinations(n, k, count, seed))


def spread_of_appearances(sample: list[Combination], n: int) -> int:
    seen = Counter(dict.fromkeys(range(n), 0))
    seen.update(member for combination in sample for member in combination.members)
    return max(seen.values()) - min(seen.values())


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 1), (4, 2), (5, 3), (6, 6), (9, 4), (7, 6)])
def test_as_many_as_there_are_is_every_combination_once(n: int, k: int) -> None:
    sample = drawn(n, k, comb(n, k))
    assert sorted(c.members for c in sample) == list(every(range(n), k))
    assert {c.replicate for c in sample} == {1}


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_sample_is_new_balanced_and_numbered(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    k = data.draw(st.integers(1, n))
    count = data.draw(st.integers(1, min(comb(n, k), 400)))
    sample = drawn(n, k, count, data.draw(st.integers(0, 5)))
    assert [c.sequence_number for c in sample] == list(range(1, count + 1))
    assert len({c.members for c in sample}) == count
    assert all(tuple(sorted(set(c.members))) == c.members and len(c.members) == k for c in sample)
    assert all(0 <= member < n for c in sample for member in c.members)
    assert spread_of_appearances(sample, n) <= 1


@pytest.mark.parametrize(
    ("n", "k", "count"),
    [
        (1000, 3, 2000),
        (1000, 2, 777),
        (101, 2, 631),
        (450, 2, 50_512),
        (450, 2, 50_513),
        (450, 2, 101_000),
        (40, 3, 4_940),
        (17, 8, 12_000),
        (30, 15, 3_001),
        (200, 198, 19_000),
        (1000, 999, 500),
    ],
)
def test_large_samples_are_new_and_balanced_however_they_are_drawn(n: int, k: int, count: int) -> None:
    sample = drawn(n, k, count)
    assert len({c.members for c in sample}) == len(sample) == count
    assert spread_of_appearances(sample, n) <= 1


def test_beyond_every_combination_come_numbered_replicates() -> None:
    sample = drawn(5, 2, 23)
    by_replicate = {r: sorted(c.members for c in sample if c.replicate == r) for r in (1, 2, 3)}
    assert by_replicate[1] == by_replicate[2] == list(every(range(5), 2))
    assert len(set(by_replicate[3])) == 3
    assert spread_of_appearances(sample, 5) <= 1


def test_the_same_seed_gives_the_same_combinations_on_every_machine() -> None:
    assert [c.members for c in combinations(1000, 3, 3, 42)] == FROZEN_DEALT
    assert [c.members for c in combinations(6, 3, 3, 42)] == FROZEN_TRADED


@pytest.mark.parametrize("count", [1_000_000, 166_167_000])
def test_a_hundred_and_sixty_six_million_combinations_start_at_once_and_stay_small(count: int) -> None:
    assert comb(1000, 3) == 166_167_000
    tracemalloc.start()
    try:
        stream_of_them = combinations(1000, 3, count, 1)
        next(stream_of_them)
        tracemalloc.reset_peak()
        at_first, _ = tracemalloc.get_traced_memory()
        assert sum(1 for _ in islice(stream_of_them, 5_000)) == 5_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert at_first < 6_000_000
    assert peak - at_first < 1_000_000
