"""Tails, quantiles and tests by ranks are those of scipy, over wide ranges."""

import math

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import kruskal, rankdata, spearmanr

from tidepool.engine.inference.distributions import (
    chi_squared_tail,
    normal_quantile,
    normal_tail,
    student_quantile,
    student_tail,
)
from tidepool.engine.inference.significance import group_difference, over_the_run, rank_correlation, ranks

FREEDOMS = [1, 2, 3, 5, 9.5, 30, 100, 1_000, 10_000, 100_000, 1_000_000]
SHARES = [1e-9, 1e-6, 0.025, 0.3, 0.5, 0.5001, 0.75, 0.95, 0.975, 0.995, 0.9999, 1 - 1e-9]


def test_normal_quantiles_and_tails_are_those_of_scipy() -> None:
    assert [normal_quantile(share) for share in SHARES] == pytest.approx(special.ndtri(SHARES), abs=1e-12, rel=1e-12)
    values = [-40, -8, -1.96, -1e-9, 0, 0.1, 1, 5, 12, 35]
    assert [normal_tail(z) for z in values] == pytest.approx([special.ndtr(-z) for z in values], rel=1e-12)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_students_tail_and_quantile_are_those_of_scipy(freedom: float) -> None:
    values = [-50, -3, -1, -0.001, 0, 0.001, 0.1, 0.5, 1, 1.96, 3, 10, 40, 1_000]
    expected = [special.stdtr(freedom, -t) for t in values]
    assert [student_tail(freedom, t) for t in values] == pytest.approx(expected, rel=1e-9, abs=1e-290)
    quantiles = [student_quantile(freedom, share) for share in SHARES]
    assert quantiles == pytest.approx(special.stdtrit(freedom, SHARES), rel=1e-9, abs=1e-12)


def test_students_tail_near_the_middle_is_exact_where_scipy_is_not() -> None:
    assert student_tail(1, 1e-8) == pytest.approx(0.5 - 1e-8 / math.pi, abs=1e-16)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 10, 11, 50, 99, 100, 1_000, 1_001])
def test_the_chi_squared_tail_is_that_of_scipy(freedom: int) -> None:
    values = [0, 1e-9, 0.01, 0.5, 1, 3, 10, 50, 99, 200, 900, 1_500, 3_000]
    expected = [special.chdtrc(freedom, value) for value in values]
    assert [chi_squared_tail(freedom, value) for value in values] == pytest.approx(expected, rel=1e-9, abs=1e-290)


# -- tests by ranks -----------------------------------------------------------------------------------


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
