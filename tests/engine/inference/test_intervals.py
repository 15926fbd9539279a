"""Intervals of shares, rates and means, held to scipy, statsmodels and to formulas written out in full."""

import math
import subprocess
import sys
from itertools import combinations

import numpy
import pytest
import statsmodels.api as sm
from scipy import stats

from tidepool.engine.inference.grouped import Grouped
from tidepool.engine.inference.intervals import (
    Rate,
    gap_interval,
    interval_over,
    p_value_of,
    rates_of,
)

RANDOM = numpy.random.default_rng(4)


def drawn(size: int = 60) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Values, clusters of two to four, and a stratum each."""
    clusters = numpy.sort(RANDOM.integers(0, size // 3, size))
    values = (RANDOM.random(size) + 0.3 * RANDOM.random(size // 3)[clusters] > 0.6).astype(float)
    return values, clusters, RANDOM.integers(0, 3, size)


def test_the_variance_is_statsmodels_cluster_robust_one() -> None:
    values, clusters, _ = drawn()
    spread = Grouped(numpy.zeros(60, dtype=int), 1, [clusters]).spread(values)
    model = sm.OLS(values, numpy.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert spread.mean[0] == pytest.approx(model.params[0])
    assert math.sqrt(spread.variance[0]) == pytest.approx(model.bse[0])
    assert spread.freedom[0] == len(set(clusters)) - 1


def test_many_groups_are_the_same_as_each_alone() -> None:
    values, clusters, _ = drawn(90)
    groups = RANDOM.integers(0, 3, 90)
    together = Grouped(groups, 3, [clusters]).spread(values)
    for group in range(3):
        rows = groups == group
        alone = Grouped(numpy.zeros(rows.sum(), dtype=int), 1, [clusters[rows]]).spread(values[rows])
        for name in ("mean", "variance", "freedom", "clusters", "count"):
            assert getattr(together, name)[group] == pytest.approx(getattr(alone, name)[0])


def test_two_ways_are_never_surer_than_either() -> None:
    values, first, second = drawn()
    both, one, other = (
        Grouped(numpy.zeros(60, dtype=int), 1, ways).spread(values) for ways in ([first, second], [first], [second])
    )
    assert both.variance[0] >= max(one.variance[0], other.variance[0]) - 1e-15
    assert both.freedom[0] == 2, "three of one way"


def test_one_cluster_has_no_interval() -> None:
    spread = Grouped(numpy.zeros(9, dtype=int), 1, [numpy.zeros(9, dtype=int)]).spread(RANDOM.random(9))
    (rate,) = rates_of(spread)
    assert rate is not None and rate.interval() is None


def test_a_bounded_mean_is_a_rate_between_its_bounds() -> None:
    rate = Rate(0.5, 30, 12, 40)
    scaled = Rate(3.0, 30, 12, 40, (1.0, 5.0))
    low, high = rate.interval() or (0, 0)
    assert scaled.interval() == pytest.approx((1 + 4 * low, 1 + 4 * high))


def test_the_p_value_is_where_the_interval_touches() -> None:
    first, second = Rate(0.5, 40, 30, 40), Rate(0.3, 35, 25, 40)
    p_value = p_value_of(lambda level: gap_interval(first, second, level))
    low, _ = gap_interval(first, second, 1 - p_value) or (1, 1)
    assert low == pytest.approx(0, abs=1e-9)
    low, high = gap_interval(first, second) or (1, 1)
    assert (p_value < 0.05) == (not low <= 0 <= high)


# -- means over units that overlap -------------------------------------------------------------------------------

WHOLE = (-math.inf, math.inf)


def test_means_over_units_have_the_jackknife_s_interval() -> None:
    """Every two of six meet once; written out."""
    talks = [((a, b), RANDOM.random(2)) for a, b in combinations(range(6), 2)]
    values = numpy.array([v for _, pair in talks for v in pair])
    parts = [(sum(pair.sum() for who, pair in talks if unit in who), 10) for unit in range(6)]
    without = [numpy.mean([v for who, pair in talks if unit not in who for v in pair]) for unit in range(6)]
    error = math.sqrt(5 / 6 * ((numpy.array(without) - numpy.mean(without)) ** 2).sum())
    reach = stats.t.ppf(0.975, 5) * error
    found = interval_over((float(values.sum()), 30), parts, WHOLE)
    assert found == pytest.approx((values.mean() - reach, values.mean() + reach))


def test_units_that_tell_nothing_have_no_interval_and_those_that_agree_no_doubt_but_on_a_scale() -> None:
    assert interval_over((10.0, 4), [(10.0, 4)], WHOLE) is None
    assert interval_over((10.0, 4), [(10.0, 4), (4.0, 2)], WHOLE) is None, "one has a hand in everything"
    agree = [(5.0, 1)] * 4
    assert interval_over((20.0, 4), agree, WHOLE) == (5, 5)
    low, high = interval_over((20.0, 4), agree, (1.0, 5.0)) or (0, 0)
    assert (1 < low < 4, high) == (True, 5.0)


def test_numpy_loads_only_with_the_first_statistics() -> None:
    code = "import sys, tidepool.engine.studies.secret_game.analysis; sys.exit(not {'scipy', 'numpy'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
