"""Sensitivity, specificity and corrected rates against figures by hand and against scipy; their coverage is proved apart."""

import math

import pytest
from scipy.stats import norm

from tidepool.engine.coding.estimates import (
    Cell,
    TwoGroups,
    cell_of,
    corrected,
    pool,
    sensitivity,
    specificity,
    two_groups,
)
from tidepool.engine.coding.statistics import majority
from tidepool.engine.inference.intervals import wilson


def groups(positives: int, negatives: int, yes: int, coded: int, missed: int, quiet: int) -> TwoGroups:
    found = two_groups([Cell(positives, yes / coded, coded)], [Cell(negatives, missed / quiet, quiet)])
    assert found is not None
    return found


def test_equal_weights_are_worth_their_number_and_unequal_ones_less() -> None:
    assert cell_of(100, [(2.0, True), (2.0, False), (2.0, False), (2.0, False)]) == Cell(100, 0.25, 4)
    assert cell_of(9, [(8.0, True), (1.0, False)]) == pytest.approx(Cell(9, 8 / 9, 81 / 65))
    assert cell_of(9, [], 0.3) == Cell(9, 0.3, 0)


def test_one_cell_has_wilsons_limits_and_several_are_joined_by_their_sizes() -> None:
    alone = pool([Cell(40, 0.2, 30)])
    assert alone is not None and (alone.low, alone.high) == pytest.approx(wilson(0.2, 30))
    both = pool([Cell(30, 0.5, 10), Cell(90, 0.1, 40)])
    low = 0.2 - math.hypot(0.25 * (0.5 - wilson(0.5, 10)[0]), 0.75 * (0.1 - wilson(0.1, 40)[0]))
    assert both is not None and (both.value, both.low) == pytest.approx((0.2, low))
    assert pool([Cell(30, 0.5, 0)]) is None and pool([]) is None


def test_sensitivity_and_specificity_are_weighted_back_to_the_batch() -> None:
    """200 of 1,000 are called positive, of which 40 of 50 are; of the 800 others 2 of 50 are."""
    found = groups(200, 800, 40, 50, 2, 50)
    assert found.value == pytest.approx((160 + 32) / 1000)
    sens, spec = sensitivity(found), specificity(found)
    assert sens and sens.value == pytest.approx(160 / 192) and 0.5 < sens.low < 160 / 192 < sens.high < 1
    assert spec and spec.value == pytest.approx(768 / 808) and 0.9 < spec.low < 768 / 808 < spec.high < 1


def test_the_interval_of_sensitivity_is_near_the_delta_method_s_where_much_is_coded() -> None:
    found = groups(4000, 6000, 3200, 4000, 600, 6000)
    sens = sensitivity(found)
    value, q = 0.8 * 0.4 / (0.8 * 0.4 + 0.1 * 0.6), 0.4
    error = math.sqrt(0.2 / 0.8 / 4000 + 0.9 / 0.1 / 6000 + 1 / (q * (1 - q) * 10_000))  # of the log odds
    ends = [
        1 / (1 + math.exp(-(math.log(value / (1 - value)) + z * error))) for z in (-norm.ppf(0.975), norm.ppf(0.975))
    ]
    assert sens and (sens.low, sens.high) == pytest.approx(ends, abs=0.001)


def test_nothing_missed_leaves_sensitivity_open_below_and_nothing_there_has_none() -> None:
    sens = sensitivity(groups(100, 900, 30, 30, 0, 30))
    assert sens and sens.value == 1 == sens.high and sens.low < 0.6
    assert sensitivity(groups(100, 900, 0, 30, 0, 30)) is None
    silent = two_groups([], [Cell(500, 0.1, 50)])
    assert silent is not None
    sens, spec = sensitivity(silent), specificity(silent)
    assert sens and sens.value == 0 and sens.high == pytest.approx(wilson(0.0, 50)[1])
    assert spec and spec.value == 1
    assert two_groups([Cell(5, 0.5, 0)], [Cell(5, 0.5, 4)]) is None


def test_a_corrected_rate_joins_both_predictive_values_and_the_interval_of_the_verdicts() -> None:
    found = groups(240, 760, 33, 50, 3, 50)
    alone = wilson(0.24, 1000)
    rate = corrected(found, alone)
    value = 0.24 * 0.66 + 0.76 * 0.06
    parts = (0.24 * (0.66 - wilson(0.66, 50)[0]), 0.76 * (0.06 - wilson(0.06, 50)[0]), 0.6 * (0.24 - alone[0]))
    assert (rate.value, rate.low) == pytest.approx((value, value - math.hypot(*parts)))
    parts = (0.24 * (wilson(0.66, 50)[1] - 0.66), 0.76 * (wilson(0.06, 50)[1] - 0.06), 0.6 * (alone[1] - 0.24))
    assert rate.high == pytest.approx(value + math.hypot(*parts))


def test_what_talks_have_in_common_widens_a_corrected_rate_by_what_the_instrument_does_not_see() -> None:
    found = groups(240, 760, 33, 50, 3, 50)
    alone, clustered = corrected(found, wilson(0.24, 1000)), corrected(found, (0.18, 0.31))
    seen = 0.24 * 0.66 / found.value + 0.76 * 0.94 / (1 - found.value) - 1
    added = ((0.31 - 0.24) ** 2 - (wilson(0.24, 1000)[1] - 0.24) ** 2) / seen**2
    assert (clustered.high - found.value) ** 2 == pytest.approx((alone.high - found.value) ** 2 + added)
    assert corrected(found, (0.0, 1.0)).limits == (0.0, 1.0)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [(["yes"], "yes"), (["yes", "no"], "unclear"), (["yes", "no", "yes"], "yes"), (["unclear", "no", "no"], "no")],
)
def test_the_majority_decides_and_even_coders_leave_it_unclear(codes: list[str], expected: str) -> None:
    assert majority(codes) == expected
