from itertools import permutations
from math import factorial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.engine.inference.significance import group_difference, rank_correlation, ranks


def test_perfect_order_of_four_pairs_is_one_chance_in_twelve() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 30, 40]) == (pytest.approx(1), pytest.approx(2 / 24))


def test_two_groups_of_two_can_at_best_be_one_chance_in_three() -> None:
    assert group_difference([[1, 2], [3, 4]]) == pytest.approx(8 / 24)


@pytest.mark.parametrize("constant", [([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5])])
def test_what_does_not_vary_goes_with_nothing(constant: tuple[list[float], list[float]]) -> None:
    assert rank_correlation(*constant) is None


def test_one_group_and_equal_groups_are_not_compared() -> None:
    assert group_difference([[1, 2, 3]]) is None
    assert group_difference([[1, 1], [1]]) is None
    assert group_difference([[1, 2], []]) is None


def test_exact_p_values_are_those_of_scipy_where_it_has_them() -> None:
    from scipy.stats import mannwhitneyu, spearmanr

    random = Random(1)
    xs, ys = [random.random() for _ in range(8)], [random.random() for _ in range(8)]
    found = rank_correlation(xs, ys)
    assert found is not None and found[1] == pytest.approx(float(spearmanr(xs, ys).pvalue), abs=0.02)
    exact = mannwhitneyu(xs[:3], xs[3:], method="exact").pvalue
    assert group_difference([xs[:3], xs[3:]]) == pytest.approx(float(exact))


def test_exact_p_values_are_uniform_under_chance() -> None:
    orders = list(permutations(range(5)))
    values = [rank_correlation(range(5), order) for order in orders]
    small = sum(found is not None and found[1] <= 0.05 for found in values)
    assert small / factorial(5) <= 0.05


def test_many_pairs_are_told_apart() -> None:
    found = rank_correlation(range(50), [x + (x * 7) % 5 for x in range(50)])
    assert found is not None and found[0] > 0.9 and found[1] < 1e-6
    assert (group_difference([list(range(20)), list(range(30, 50))]) or 1) < 1e-6


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9)), min_size=9, max_size=60),
    st.integers(2, 4),
)
def test_many_pairs_are_tested_as_scipy_tests_them(pairs: list[tuple[int, int]], groups: int) -> None:
    from scipy.stats import kruskal, rankdata, spearmanr

    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    assert list(ranks(xs)) == list(rankdata(xs))
    if (found := rank_correlation(xs, ys)) is not None:
        expected = spearmanr(xs, ys)
        assert found == (pytest.approx(float(expected.statistic)), pytest.approx(float(expected.pvalue), abs=1e-9))
    samples = [xs[start::groups] for start in range(groups)]
    if (p_value := group_difference(samples)) is not None:
        assert p_value == pytest.approx(float(kruskal(*samples).pvalue), abs=1e-9)
