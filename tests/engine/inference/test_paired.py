"""Differences pair by pair, against scipy, and the rule that a verdict on learners takes eight seeds."""

import numpy as np
import pytest
from scipy import stats

from tidepool.engine.inference.contrasts import compared_in_words, matched, paired_by_seed

GAPS = [0.4, -0.1, 0.7, 0.2, 0.3, 0.05, 0.1, 0.25]


def test_pairs_have_students_interval_and_test() -> None:
    found, oracle = matched(np.array(GAPS)), stats.ttest_1samp(GAPS, 0.0)
    assert found is not None and found.clusters == 8
    assert found.interval == pytest.approx(tuple(oracle.confidence_interval(0.95)))
    assert found.p_value == pytest.approx(oracle.pvalue)


def test_equal_differences_can_be_told_from_none() -> None:
    found, none = matched(np.array([0.5] * 8)), matched(np.zeros(8))
    assert found is not None and found.p_value is not None and found.p_value < 0.05
    assert found.interval is not None and 0 < found.interval[0] < 0.5 < found.interval[1]
    assert none is not None and none.p_value == 1.0


@pytest.mark.parametrize(("seeds", "missing"), [(1, 7), (5, 3), (7, 1), (8, 0)])
def test_runs_are_paired_by_seed_and_judged_from_eight_seeds_on(seeds: int, missing: int) -> None:
    first = {seed: 0.5 + GAPS[seed] for seed in range(seeds)} | {101: 9.0}
    second = dict.fromkeys(range(seeds), 0.5) | {102: 9.0}
    found = paired_by_seed(first, second)
    assert found is not None and found.seeds == tuple(range(seeds)) and found.missing == missing
    assert found.difference == pytest.approx(np.mean(GAPS[:seeds]))
    assert (found.interval is None) == (seeds == 1)
    if missing:
        assert found.p_value is None
    else:
        assert found.p_value == pytest.approx(stats.ttest_1samp(GAPS, 0.0).pvalue)
    assert paired_by_seed({1: 0.5}, {2: 0.5}) is None


@pytest.mark.parametrize(
    ("p_value", "difference", "told"),
    [
        (0.057, 0.2, "not distinguishable (p = 0.057)"),
        (0.05, 0.2, "not distinguishable (p = 0.050)"),
        (0.004, -0.2, "worse (p = 0.004)"),
        (0.0001, 0.2, "better (p < 0.001)"),
        (None, 0.2, "no test"),
    ],
)
def test_what_may_not_be_called_a_difference_is_not(p_value: float | None, difference: float, told: str) -> None:
    assert compared_in_words(p_value, difference) == told
