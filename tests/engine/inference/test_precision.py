import pytest

from tidepool.engine.inference.intervals import Rate, values_needed, wilson


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (5, 10), (30, 100), (99, 100)])
def test_after_the_values_needed_the_interval_is_just_narrow_enough(successes: int, trials: int) -> None:
    share = successes / trials
    total = trials + values_needed(Rate(share, trials, 9, trials), 0.05)
    low, high = wilson(share, total, 1.96)
    assert high - low <= 0.1001
    if total > trials:
        low, high = wilson(share, total - 2, 1.96)
        assert high - low > 0.0999


def test_values_that_hang_together_must_be_more() -> None:
    alone, together = Rate(0.5, 100, 99, 100), Rate(0.5, 50, 49, 100)
    assert 100 + values_needed(together, 0.05) == 2 * (100 + values_needed(alone, 0.05))


def test_enough_is_enough() -> None:
    assert values_needed(Rate(0.5, 10_000, 99, 10_000), 0.05) == 0
