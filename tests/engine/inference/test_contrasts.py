"""Differences under equal conditions: what `tests/engine/recomputed` does not reach."""

import math

import numpy
import pytest
from scipy import linalg, stats

from tidepool.engine.inference.contrasts import Arms, compared_in_words, matched, of_runs

RANDOM = numpy.random.default_rng(8)
SIZE = 120
ARM = RANDOM.random(SIZE) < 0.4
STRATA = RANDOM.integers(0, 5, SIZE)
VALUES = (RANDOM.random(SIZE) < 0.3 + 0.2 * ARM + 0.05 * STRATA).astype(float)


def design(arm: numpy.ndarray, strata: numpy.ndarray) -> numpy.ndarray:
    return numpy.column_stack([arm, *(strata == s for s in numpy.unique(strata))]).astype(float)


def cr2(x: numpy.ndarray, y: numpy.ndarray, clusters: numpy.ndarray) -> tuple[float, float, float]:
    """Coefficient, CR2 variance and Satterthwaite's degrees of freedom of the first column, by whole matrices."""
    inverse = numpy.linalg.pinv(x.T @ x)
    hat = x @ inverse @ x.T
    residual = y - hat @ y
    rest = numpy.eye(len(y)) - hat
    variance, pulls = 0.0, []
    for cluster in numpy.unique(clusters):
        rows = clusters == cluster
        values, vectors = linalg.eigh(rest[numpy.ix_(rows, rows)])
        root = vectors @ numpy.diag([1 / math.sqrt(v) if v > 1e-9 else 0.0 for v in values]) @ vectors.T
        pull = (inverse @ x[rows].T @ root)[0]
        variance += (pull @ residual[rows]) ** 2
        pulls.append(rest[:, rows] @ pull)
    together = numpy.array(pulls) @ numpy.array(pulls).T
    return float((inverse @ x.T @ y)[0]), variance, numpy.trace(together) ** 2 / (together**2).sum()


def test_clusters_that_hold_whole_strata_have_cr2_errors() -> None:
    """As scenarios do, whose strata are their own."""
    clusters = STRATA // 2 + 3 * RANDOM.integers(0, 4, SIZE)
    strata = clusters * 10 + STRATA
    found = Arms(ARM, strata, [clusters]).contrast(VALUES)
    shared = numpy.array([len({*ARM[strata == s]}) == 2 for s in strata])
    difference, variance, freedom = cr2(design(ARM[shared], strata[shared]), VALUES[shared], clusters[shared])
    assert found is not None and found.interval is not None
    assert found.difference == pytest.approx(difference)
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    assert found.interval == pytest.approx((difference - reach, difference + reach))


@pytest.mark.parametrize(("games", "tested"), [(1, False), (5, False), (9, False), (10, True)])
def test_two_batches_are_tested_from_ten_games_of_each_on(games: int, tested: bool) -> None:
    labels = numpy.where(ARM, numpy.cumsum(ARM) % games, 100 + numpy.cumsum(~ARM) % 12)
    found = Arms(ARM, numpy.zeros(SIZE, dtype=int), [labels]).contrast(VALUES)
    assert found and (found.method, found.clusters, found.p_value is not None) == ("clusters", games, tested)
    assert (found.interval is None) == (games == 1)


def test_without_a_common_stratum_there_is_nothing_to_compare() -> None:
    assert Arms(ARM, ARM.astype(int)).contrast(VALUES) is None


# -- pairs and seeds ---------------------------------------------------------------------------------------------

GAPS = [0.4, -0.1, 0.7, 0.2, 0.3, 0.05, 0.1, 0.25]


def test_equal_differences_can_be_told_from_none() -> None:
    many, few, none = (matched(values) for values in (numpy.full(40, 0.5), numpy.full(3, 0.5), numpy.zeros(8)))
    assert many and many.interval and many.interval[0] < 0.5 < many.interval[1] and (many.p_value or 1) < 0.001
    assert few and (few.p_value or 0) > 0.05
    assert none and none.p_value == 1.0


@pytest.mark.parametrize("seeds", [1, 5, 7, 8])
def test_runs_are_paired_by_seed_and_judged_from_eight_seeds_on(seeds: int) -> None:
    found = of_runs(GAPS[:seeds])
    assert found is not None and found.clusters == seeds
    assert found.difference == pytest.approx(numpy.mean(GAPS[:seeds]))
    assert (found.interval is None) == (seeds == 1) and (found.p_value is None) == (seeds < 8)
    assert of_runs([]) is None


@pytest.mark.parametrize(
    ("p_value", "difference", "told"),
    [
        (0.05, 0.2, "not distinguishable (p = 0.050)"),
        (0.004, -0.2, "worse (p = 0.004)"),
        (0.0001, 0.2, "better (p < 0.001)"),
        (None, 0.2, "no test"),
    ],
)
def test_what_may_not_be_called_a_difference_is_not(p_value: float | None, difference: float, told: str) -> None:
    assert compared_in_words(p_value, difference) == told
