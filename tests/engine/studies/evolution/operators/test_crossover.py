from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.variation import CROSSOVERS, crossover_named

MOTHER = ("M1.", "M2.", "M3.", "M4.")
FATHER = ("F1.", "F2.", "F3.", "F4.", "F5.")
segments = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8)


@pytest.mark.parametrize("name", CROSSOVERS)
@given(mother=segments, father=segments, seed=st.integers())
def test_a_child_is_made_of_its_parents_segments_and_says_nothing_twice(
    name: str, mother: list[str], father: list[str], seed: int
) -> None:
    child = CROSSOVERS[name](mother, father, Random(seed))
    assert child
    assert set(child) <= {*mother, *father}
    assert len(child) == len(set(child)) or child == tuple(mother)


@pytest.mark.parametrize("name", CROSSOVERS)
def test_parents_mix_and_keep_their_order(name: str) -> None:
    children = [CROSSOVERS[name](MOTHER, FATHER, Random(seed)) for seed in range(60)]
    mixed = [child for child in children if {"M", "F"} <= {segment[0] for segment in child}]
    assert len(mixed) > 20
    for child in children:
        for parent in ("M", "F"):
            own = [segment for segment in child if segment[0] == parent]
            assert own == sorted(own)


def test_single_point_is_a_head_of_one_and_a_tail_of_the_other() -> None:
    for seed in range(60):
        parents = "".join(segment[0] for segment in CROSSOVERS["single_point"](MOTHER, FATHER, Random(seed)))
        assert "FM" not in parents


def test_an_unknown_crossover_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="single_point, two_point, uniform, blend"):
        crossover_named("splice")
