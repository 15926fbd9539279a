"""Intervals of shares, rates and means: what `tests/engine/recomputed` does not reach."""

import math
import subprocess
import sys

import numpy
import pandas
import pytest

from tests.engine.recomputed.estimators import cluster_variance
from tidepool.engine.inference.grouped import Grouped
from tidepool.engine.inference.intervals import interval_over, rates_of

RANDOM = numpy.random.default_rng(4)


def drawn(size: int = 60) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Values, clusters of two to four, and a stratum each."""
    clusters = numpy.sort(RANDOM.integers(0, size // 3, size))
    values = (RANDOM.random(size) + 0.3 * RANDOM.random(size // 3)[clusters] > 0.6).astype(float)
    return values, clusters, RANDOM.integers(0, 3, size)


def test_two_ways_count_by_all_their_variances_and_never_below_one_way() -> None:
    values, first, second = drawn()
    both = Grouped(numpy.zeros(60, dtype=int), 1, [first, second]).spread(values)
    one, other, shared = (
        cluster_variance(pandas.Series(values), pandas.Series(labels))
        for labels in (first, second, 100 * first + second)
    )
    assert both.variance[0] == pytest.approx(max(one + other - shared, one, other))
    assert both.freedom[0] == 2, "three of one way"


def test_one_cluster_has_no_interval() -> None:
    spread = Grouped(numpy.zeros(9, dtype=int), 1, [numpy.zeros(9, dtype=int)]).spread(RANDOM.random(9))
    (rate,) = rates_of(spread)
    assert rate is not None and rate.interval() is None


# -- means over units that overlap -------------------------------------------------------------------------------

WHOLE = (-math.inf, math.inf)


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
