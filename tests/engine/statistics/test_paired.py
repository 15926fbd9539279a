"""Differences pair by pair, against scipy, and the rule that a verdict on learners takes eight seeds."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from tidepool.engine.statistics.contrasts import compared_in_words, paired, paired_by_seed, seeds_needed

GAPS = [0.4, -0.1, 0.7, 0.2, 0.3, 0.05, 0.1, 0.25]


def flips(gaps: list[float]) -> float:
    """Written out: twice the share of sign patterns whose mean is at least as far out."""
    means = [
        sum(sign * gap for sign, gap in zip(signs, gaps, strict=True)) for signs in product((1, -1), repeat=len(gaps))
    ]
    return min(1.0, 2 * sum(mean >= sum(gaps) - 1e-9 for mean in means) / len(means))


def test_the_interval_is_students_and_the_test_flips_every_sign() -> None:
    found = paired(GAPS)
    assert found is not None and found.pairs == 8
    assert found.interval == pytest.approx(tuple(stats.ttest_1samp(GAPS, 0.0).confidence_interval(0.95)))
    assert found.p_value == pytest.approx(flips(GAPS))
    assert found.effect_size == pytest.approx(np.mean(GAPS) / np.std(GAPS, ddof=1))
    assert paired([0.3]) is None


def test_equal_differences_have_no_interval_but_can_be_told_from_none() -> None:
    found = paired([0.5] * 8)
    assert found is not None and found.interval is None and found.p_value == pytest.approx(2 / 2**8)
    none = paired([0.0] * 8)
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
        assert found.p_value == pytest.approx(flips(GAPS))
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


@pytest.mark.parametrize(("comparisons", "seeds"), [(1, 8), (6, 8), (7, 9), (12, 9), (13, 10)])
def test_more_questions_take_more_seeds(comparisons: int, seeds: int) -> None:
    assert seeds_needed(comparisons) == seeds
    assert comparisons * 2 / 2**seeds < 0.05
