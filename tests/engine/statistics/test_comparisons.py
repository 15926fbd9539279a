import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from tidepool.engine.statistics.comparisons import compare_outcomes, compare_paired, holm


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.04, 0.01, 0.03, 0.005], [0.06, 0.03, 0.06, 0.02]),
    ],
)
def test_holms_correction(p_values: list[float], adjusted: list[float]):
    assert holm(p_values) == pytest.approx(adjusted)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_makes_a_result_surer_nor_changes_their_order(p_values: list[float]):
    adjusted = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[index] for index in order] == sorted(adjusted)


def test_a_clear_difference_is_found():
    found = compare_paired([3, 3, 1, 3, 3, 0, 3, 3, 1, 3], [0, 0, 1, 0, 0, 3, 0, 0, 1, 0])
    assert (found.pairs, found.difference) == (10, 1.8)
    assert found.p_value < 0.1
    assert found.interval[0] > 0
    assert found.effect_size == pytest.approx(1.8 / 4.4**0.5)


def test_swapping_the_two_turns_the_difference_and_keeps_the_p_value():
    first, second = [3, 0, 3, 1, 3, 0, 3], [0, 0, 1, 1, 3, 3, 0]
    one, other = compare_paired(first, second), compare_paired(second, first)
    assert one.difference == -other.difference
    assert one.p_value == pytest.approx(other.p_value)
    assert one.effect_size == pytest.approx(-other.effect_size)


def test_equal_values_differ_by_nothing():
    found = compare_paired([1, 2, 3], [1, 2, 3])
    assert (found.difference, found.p_value, found.effect_size, found.interval) == (0, 1, None, (0, 0))


def test_one_pair_proves_nothing_and_none_is_no_comparison():
    assert compare_paired([3], [0]).p_value == 1
    assert compare_paired([], []) is None


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"), [(0, 0, 1), (5, 5, 1), (8, 1, 0.0391), (0, 6, 0.03125)]
)
def test_mcnemars_exact_test(only_first: int, only_second: int, p_value: float):
    assert compare_outcomes(only_first, only_second) == pytest.approx(p_value, abs=1e-4)


@given(st.lists(st.sampled_from([-3.0, -1.0, 0.0, 1.0, 2.0, 3.0]), min_size=2, max_size=7).filter(any))
@settings(deadline=None, max_examples=20)
def test_few_pairs_are_tested_exactly_as_scipy_does(differences: list[float]):
    found = compare_paired(differences, [0.0] * len(differences))
    assert found is not None
    assert found.p_value == pytest.approx(float(wilcoxon(differences, zero_method="pratt").pvalue))
