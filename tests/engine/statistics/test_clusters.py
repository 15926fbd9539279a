from random import Random

import pytest

from tidepool.engine.statistics.clusters import clustered_interval, clustered_mean


def test_the_mean_is_of_all_values() -> None:
    assert clustered_mean([10, 2], [4, 1]) == 2.4
    assert clustered_mean([0, 0], [0, 0]) is None


def test_one_cluster_has_no_interval() -> None:
    assert clustered_interval([10.0, 0.0], [4, 0]) is None


def test_clusters_that_agree_leave_no_doubt_and_bounds_hold() -> None:
    assert clustered_interval([4, 8], [2, 4]) == (2, 2)
    assert clustered_interval([1, 5], [1, 1], (1, 5)) == (1, 5)


def test_it_is_students_interval_where_clusters_are_single_values() -> None:
    from scipy.stats import t

    values = [1.0, 2.0, 4.0, 7.0]
    interval = clustered_interval(values, [1] * 4)
    assert interval == pytest.approx(t.interval(0.95, 3, loc=3.5, scale=(7.0 / 4) ** 0.5), rel=1e-9)


@pytest.mark.parametrize("clusters", [3, 6, 20])
def test_about_ninety_five_in_a_hundred_intervals_hold_the_truth_even_of_few_clusters(clusters: int) -> None:
    random = Random(clusters)
    held = 0
    for _ in range(1000):
        means = [random.gauss(3, 1) for _ in range(clusters)]
        sums = [sum(random.gauss(mean, 0.5) for _ in range(5)) for mean in means]
        low, high = clustered_interval(sums, [5] * clusters) or (0, 0)
        held += low <= 3 <= high
    assert 930 <= held <= 970
