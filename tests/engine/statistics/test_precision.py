import pytest

from tidepool.engine.statistics.intervals import share_interval
from tidepool.engine.statistics.precision import trials_needed, values_needed


@pytest.mark.parametrize(("successes", "trials"), [(50, 100), (3, 100), (0, 20), (0, 0), (20, 20)])
def test_after_the_trials_needed_the_interval_is_just_narrow_enough(successes: int, trials: int):
    total = trials + trials_needed(successes, trials, 0.05)
    share = successes / trials if trials else 0.5
    low, high = share_interval(round(total * share), total)
    assert high - low <= 0.1
    assert total < 400


def test_nothing_more_is_needed_once_precise():
    assert trials_needed(5000, 10000, 0.05) == 0


def test_more_precision_needs_more_trials():
    assert trials_needed(5, 10, 0.05) < trials_needed(5, 10, 0.02) < trials_needed(5, 10, 0.01)


def test_values_needed_for_the_precision_of_a_mean():
    assert values_needed({0.0: 50, 3.0: 50}, 0.1) == 774
    assert values_needed({1.0: 50}, 0.1) == 0
    assert values_needed({1.0: 1}, 0.1) is None
