import math
from itertools import combinations

import numpy
import pytest
from scipy import stats

from tidepool.engine.inference.intervals import interval_over

WHOLE = (-math.inf, math.inf)


def test_one_unit_has_no_interval() -> None:
    assert interval_over((10.0, 4), [(10.0, 4)], WHOLE) is None


def test_a_unit_with_a_hand_in_everything_leaves_nothing_to_go_by() -> None:
    assert interval_over((10.0, 4), [(10.0, 4), (4.0, 2)], WHOLE) is None


def test_units_that_share_nothing_have_students_interval() -> None:
    values = [1.0, 2.0, 4.0, 7.0]
    found = interval_over((14.0, 4), [(value, 1) for value in values], WHOLE)
    assert found == pytest.approx(stats.t.interval(0.95, 3, loc=3.5, scale=(7.0 / 4) ** 0.5), rel=1e-9)


def test_units_that_agree_leave_no_doubt_but_on_a_scale() -> None:
    agree = [(5.0, 1)] * 4
    assert interval_over((20.0, 4), agree, WHOLE) == (5, 5)
    low, high = interval_over((20.0, 4), agree, (1.0, 5.0)) or (0, 0)
    assert (1 < low < 4, high) == (True, 5.0)


def test_shared_values_are_left_out_with_each_that_shares_them() -> None:
    """Every two of six meet once; written out."""
    random = numpy.random.default_rng(2)
    talks = [((a, b), random.random(2)) for a, b in combinations(range(6), 2)]
    values = numpy.array([v for _, pair in talks for v in pair])
    parts = [(sum(pair.sum() for who, pair in talks if unit in who), 10) for unit in range(6)]
    without = [numpy.mean([v for who, pair in talks if unit not in who for v in pair]) for unit in range(6)]
    error = math.sqrt(5 / 6 * ((numpy.array(without) - numpy.mean(without)) ** 2).sum())
    reach = stats.t.ppf(0.975, 5) * error
    found = interval_over((float(values.sum()), 30), parts, WHOLE)
    assert found == pytest.approx((values.mean() - reach, values.mean() + reach))
