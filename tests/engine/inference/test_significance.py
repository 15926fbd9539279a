"""Tests by ranks and Holm's correction, held to scipy."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kruskal, pearsonr, rankdata, spearmanr

from tidepool.engine.inference.significance import (
    corrected,
    group_difference,
    holm,
    over_the_run,
    rank_correlation,
    ranks,
)


def test_drift_over_the_run_is_tested_by_the_correlation_with_the_place() -> None:
    random = numpy.random.default_rng(3)
    steady, drifting = random.random(200), random.random(200) + numpy.linspace(0, 0.5, 200)
    found = [over_the_run(values, (0.0, 2.0)) for values in (steady, drifting)]
    for values, one in zip((steady, drifting), found, strict=True):
        expected = pearsonr(numpy.arange(200), values)
        assert one is not None and one["p_value"] == pytest.approx(float(expected.pvalue))
        assert one["quarters"][3]["mean"] == pytest.approx(values[150:].mean())
    assert found[0]["p_value"] > 0.05 and found[1]["p_value"] < 1e-6  # type: ignore[index]
    assert over_the_run(steady[:39], (0.0, 1.0)) is None
    flat = over_the_run(numpy.zeros(40), (0.0, 1.0))
    assert flat is not None and flat["p_value"] == pytest.approx(1)


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
