import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.inference.intervals import share_interval


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_intervals_as_published(successes: int, trials: int, low: float, high: float):
    assert share_interval(successes, trials) == pytest.approx((low, high), abs=1e-4)


def test_of_nothing_tried_anything_is_possible():
    assert share_interval(0, 0) == (0, 1)


@given(st.integers(1, 500).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_a_share_lies_in_its_interval_and_mirrors_its_complement(case: tuple[int, int]):
    successes, trials = case
    low, high = share_interval(successes, trials)
    assert -1e-9 <= low <= successes / trials + 1e-9 and successes / trials - 1e-9 <= high <= 1 + 1e-9
    assert share_interval(trials - successes, trials) == pytest.approx((1 - high, 1 - low))


def test_numpy_loads_only_with_the_first_statistics():
    code = "import sys, tidepool.engine.studies.secret_game.shares; sys.exit(not {'scipy', 'numpy'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
