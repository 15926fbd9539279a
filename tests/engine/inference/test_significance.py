"""Tests by ranks and Holm's correction, held to scipy."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kruskal, rankdata, spearmanr

from tidepool.engine.inference.significance import group_difference, over_the_run, rank_correlation, ranks


def test_fewer_than_forty_units_show_no_drift_and_equal_values_are_none() -> None:
    assert over_the_run(numpy.random.default_rng(3).random(39), (0.0, 1.0)) is None
    flat = over_the_run(numpy.zeros(40), (0.0, 1.0))
    assert flat is not None and flat["p_value"] == pytest.approx(1)


def test_two_pairs_and_what_does_not_vary_go_with_nothing_and_one_group_is_not_compared() -> None:
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None is rank_correlation([1, 2, 3], [5, 5, 5])
    assert rank_correlation([1, 2], [3, 5]) is None
    for samples in ([[1, 2, 3]], [[1, 1], [1]], [[1, 2], []]):
        assert group_difference(samples) is None


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9)), min_size=9, max_size=60), st.integers(2, 4))
def test_many_values_are_tested_as_scipy_tests_them(pairs: list[tuple[int, int]], groups: int) -> None:
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    assert list(ranks(xs)) == list(rankdata(xs))
    if (found := rank_correlation(xs, ys)) is not None:
        expected = spearmanr(xs, ys)
        assert found == (pytest.approx(float(expected.statistic)), pytest.approx(float(expected.pvalue), abs=1e-9))
    samples = [xs[start::groups] for start in range(groups)]
    if (p_value := group_difference(samples)) is not None:
        assert p_value == pytest.approx(float(kruskal(*samples).pvalue), abs=1e-9)
