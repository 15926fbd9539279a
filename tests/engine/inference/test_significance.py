"""Tests by ranks and Holm's correction, held to scipy."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kruskal, mannwhitneyu, rankdata, spearmanr

from tidepool.engine.inference.significance import corrected, group_difference, holm, rank_correlation, ranks


def test_few_values_are_tested_by_every_order() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 30, 40]) == (pytest.approx(1), pytest.approx(2 / 24))
    assert group_difference([[1, 2], [3, 4]]) == pytest.approx(8 / 24)
    random = Random(1)
    xs, ys = [random.random() for _ in range(8)], [random.random() for _ in range(8)]
    found = rank_correlation(xs, ys)
    assert found is not None and found[1] == pytest.approx(float(spearmanr(xs, ys).pvalue), abs=0.02)
    exact = mannwhitneyu(xs[:3], xs[3:], method="exact").pvalue
    assert group_difference([xs[:3], xs[3:]]) == pytest.approx(float(exact))


def test_what_does_not_vary_goes_with_nothing_and_one_group_is_not_compared() -> None:
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None is rank_correlation([1, 2, 3], [5, 5, 5])
    for samples in ([[1, 2, 3]], [[1, 1], [1]], [[1, 2], []]):
        assert group_difference(samples) is None


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9)), min_size=9, max_size=60),
    st.integers(2, 4),
)
def test_many_values_are_tested_as_scipy_tests_them(pairs: list[tuple[int, int]], groups: int) -> None:
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    assert list(ranks(xs)) == list(rankdata(xs))
    if (found := rank_correlation(xs, ys)) is not None:
        expected = spearmanr(xs, ys)
        assert found == (pytest.approx(float(expected.statistic)), pytest.approx(float(expected.pvalue), abs=1e-9))
    samples = [xs[start::groups] for start in range(groups)]
    if (p_value := group_difference(samples)) is not None:
        assert p_value == pytest.approx(float(kruskal(*samples).pvalue), abs=1e-9)


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.04, 0.01, 0.03, 0.005], [0.06, 0.03, 0.06, 0.02]),
    ],
)
def test_holms_correction_leaves_out_what_was_not_tested(p_values: list[float], adjusted: list[float]) -> None:
    assert holm(p_values) == pytest.approx(adjusted)
    assert corrected([None, *p_values, None]) == [None, *holm(p_values), None]
