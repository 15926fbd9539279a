"""Permutation tests are those of scipy, draw by draw."""

import numpy
import pytest
from scipy.stats import permutation_test

from tidepool.engine.statistics.significance import RESAMPLES, mean_difference_p_value, sign_flip_p_value

DIFFERENCES = [0.5, 0.25, -0.25, 1.0, 0.75, -0.5, 0.125, 1.0, -0.25, 0.5, 0.5, 0.25, 0.75, -0.125, 0.375, 0.25]


@pytest.mark.parametrize("size", [2, 5, 13, 14, 16])
def test_signs_are_flipped_as_scipy_flips_them(size: int) -> None:
    expected = permutation_test(
        (numpy.array(DIFFERENCES[:size]),),
        lambda values, axis: values.mean(axis=axis),
        permutation_type="samples",
        n_resamples=RESAMPLES,
        vectorized=True,
        rng=numpy.random.default_rng(3),
    ).pvalue
    assert sign_flip_p_value(DIFFERENCES[:size], seed=3) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("size", "other"), [(2, 2), (3, 5), (6, 7), (9, 7), (4, 12)])
def test_values_change_samples_as_scipy_changes_them(size: int, other: int) -> None:
    first, second = DIFFERENCES[:size], DIFFERENCES[-other:]
    expected = permutation_test(
        (numpy.array(first), numpy.array(second)),
        lambda one, another, axis: one.mean(axis=axis) - another.mean(axis=axis),
        n_resamples=RESAMPLES,
        vectorized=True,
        rng=numpy.random.default_rng(5),
    ).pvalue
    assert mean_difference_p_value(first, second, seed=5) == pytest.approx(expected, abs=1e-9)


def test_samples_of_the_same_mean_say_nothing() -> None:
    """Sums that differ in their last digits only are equal."""
    assert mean_difference_p_value([0.1, 0.2, 0.3, 0.3], [0.3, 0.3, 0.2, 0.1]) == 1.0
