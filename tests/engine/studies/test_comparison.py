"""Batch against batch where each thing is compared with itself: entities by their ratings, held-out queries by their reward."""

import pytest
from scipy import stats

from tidepool.engine.statistics.comparisons import compare_means
from tidepool.engine.studies.mutation.comparison import compared as compared_queries
from tidepool.engine.studies.simulation.comparison import compared as compared_entities


def test_interval_and_test_of_paired_means_are_student_s() -> None:
    gaps = [0.4, -0.1, 0.7, 0.2, 0.3, 0.0]
    found = compare_means(gaps)
    assert found is not None
    oracle = stats.ttest_1samp(gaps, 0.0)
    low, high = oracle.confidence_interval(0.95)
    assert found.p_value == pytest.approx(oracle.pvalue) and found.interval == pytest.approx((low, high))


@pytest.mark.parametrize("compared", [compared_entities, compared_queries])
def test_only_what_both_have_is_compared_and_one_pair_is_too_few(compared) -> None:  # type: ignore[no-untyped-def]
    found = compared({"a": 3.0, "b": 2.0, "c": 5.0}, {"a": 1.0, "b": 1.0, "d": 9.0})
    assert found["difference"] == pytest.approx(1.5) and found["p_value"] > 0.05
    assert compared({"a": 3.0}, {"a": 1.0}) is None


def test_equal_batches_differ_in_nothing() -> None:
    found = compared_entities({"a": 3.0, "b": 2.0}, {"a": 3.0, "b": 2.0})
    assert found is not None and found["difference"] == 0 and found["p_value"] == 1
