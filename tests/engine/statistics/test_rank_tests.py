"""Tests by ranks are those of scipy, exact and approximate, with and without ties."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from tidepool.engine.statistics.significance import mean_ranks, rank_sum_p_value

few_values = st.integers(-4, 4).map(float)
any_values = st.floats(-5, 5, allow_nan=False, allow_subnormal=False).map(lambda value: round(value, 3) + 0.0)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert mean_ranks({2.0: 2, 1.0: 1, 5.0: 3}) == {1.0: 1, 2.0: 2.5, 5.0: 5}


samples = st.lists(few_values, min_size=1, max_size=30) | st.lists(any_values, min_size=1, max_size=30)


@given(samples, samples)
def test_two_samples_are_tested_as_scipy_tests_them(first: list[float], second: list[float]) -> None:
    assume(len({*first, *second}) > 1)
    expected = mannwhitneyu(first, second).pvalue
    assert rank_sum_p_value(Counter(first), Counter(second)) == pytest.approx(expected, abs=1e-9)


@given(st.lists(any_values, min_size=2, max_size=25, unique=True), st.integers(1, 8))
def test_small_samples_without_ties_are_tested_exactly(values: list[float], size: int) -> None:
    first, second = values[: min(size, len(values) - 1)], values[min(size, len(values) - 1) :]
    expected = mannwhitneyu(first, second, method="exact").pvalue
    assert rank_sum_p_value(Counter(first), Counter(second)) == pytest.approx(expected, abs=1e-9)


def test_values_that_are_all_equal_say_nothing() -> None:
    assert rank_sum_p_value({1.0: 4}, {1.0: 9}) == 1.0
