"""Corrected rates and agreement against figures by hand and against statsmodels; their coverage is proved apart."""

import random

import numpy
import pytest

from tidepool.engine.coding.statistics import majority
from tidepool.engine.inference.corrected import Share, TwoGroups, coded_share, kappa, two_groups
from tidepool.engine.inference.intervals import wilson


def groups(positives: int, negatives: int, yes: int, coded: int, missed: int, quiet: int) -> TwoGroups:
    rows = [(1.0, True, place < yes) for place in range(coded)] + [
        (1.0, False, place < missed) for place in range(quiet)
    ]
    found = two_groups(positives, negatives, rows)
    assert found is not None
    return found


def test_equal_weights_are_worth_their_number_and_unequal_ones_less() -> None:
    assert coded_share([(2.0, True), *[(2.0, False)] * 3]) == Share(0.25, *wilson(0.25, 4))
    assert coded_share([(8.0, True), (1.0, False)]) == Share(8 / 9, *wilson(8 / 9, 81 / 65))
    assert coded_share([]) is None


def test_sensitivity_and_specificity_are_weighted_back_to_the_batch() -> None:
    """200 of 1,000 are called positive, of which 40 of 50 are; of the 800 others 2 of 50 are."""
    found = groups(200, 800, 40, 50, 2, 50)
    assert found.rate == pytest.approx((160 + 32) / 1000)
    assert (found.sensitivity, found.specificity) == pytest.approx((160 / 192, 768 / 808))
    assert groups(100, 900, 0, 30, 0, 30).sensitivity is None
    silent = groups(0, 500, 0, 0, 5, 50)
    assert (silent.rate, silent.sensitivity, silent.specificity) == (0.1, 0, 1)
    assert two_groups(5, 5, [(1.0, True, True)]) is None


@pytest.mark.parametrize(
    ("codes", "expected"),
    [(["yes"], "yes"), (["yes", "no"], "unclear"), (["yes", "no", "yes"], "yes"), (["unclear", "no", "no"], "no")],
)
def test_the_majority_decides_and_even_coders_leave_it_unclear(codes: list[str], expected: str) -> None:
    assert majority(codes) == expected


def test_kappa_is_statsmodels_for_codes_and_with_squared_weights_for_ratings() -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    chance = random.Random(3)
    codes: list[str | float] = ["yes", "no", "unclear"]
    ratings: list[str | float] = [1.0, 2.0, 3.0, 4.0, 5.0]
    for values, options in ((codes, {}), (ratings, {"weights": numpy.arange(5), "wt": "fc"})):
        first = chance.choices(values, k=400)
        pairs = [(one, one if chance.random() < 0.7 else chance.choice(values)) for one in first]
        table = numpy.zeros((len(values), len(values)))
        for a, b in pairs:
            table[values.index(a), values.index(b)] += 1
        assert kappa(pairs) == pytest.approx(cohens_kappa(table, **options).kappa)
    assert kappa([("no", "no")] * 9) is None and kappa([("no", "no"), ("yes", "yes")]) == 1
