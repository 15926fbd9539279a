"""Kappa and alpha against the libraries that are known for them."""

import random

import krippendorff
import numpy
import pytest

from tidepool.engine.coding.estimates import Paired, alpha, kappa, squared_distance

CODES = ["yes", "no", "unclear"]


def pairs_of(count: int, seed: int, agree: float = 0.7) -> list[Paired]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        first = chance.choices(CODES, (5, 4, 1))[0]
        second = first if chance.random() < agree else chance.choice(CODES)
        found.append(Paired("all", 1.0, (first, second)))
    return found


def table_of(pairs: list[Paired], values: list[object]) -> numpy.ndarray:
    found = numpy.zeros((len(values), len(values)))
    for pair in pairs:
        found[values.index(pair.codes[0]), values.index(pair.codes[1])] += pair.weight
    return found


def test_kappa_and_its_error_are_statsmodels() -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    pairs = pairs_of(4_000, seed=3)
    found, expected = kappa(pairs), cohens_kappa(table_of(pairs, list(CODES)))
    assert found is not None and found.value == pytest.approx(expected.kappa)
    low, high = (found.value + sign * 1.96 * expected.std_kappa for sign in (-1, 1))
    assert found.interval == pytest.approx((low, high), abs=0.004), "with many codes the delta method's"


def test_kappa_of_ratings_counts_squares_and_is_statsmodels_too() -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    chance = random.Random(5)
    values = [float(chance.randint(1, 5)) for _ in range(500)]
    pairs = [Paired("all", 1.0, (one, min(5.0, max(1.0, one + chance.choice((-1, 0, 0, 1)))))) for one in values]
    expected = cohens_kappa(table_of(pairs, [1.0, 2.0, 3.0, 4.0, 5.0]), weights=numpy.arange(5), wt="fc")
    found = kappa(pairs, squared_distance)
    assert found is not None and found.value == pytest.approx(expected.kappa)


def test_kappa_is_weighted_back_to_the_batch() -> None:
    """A side that stands for three counts as three do."""
    pairs = pairs_of(60, seed=1)
    heavy = [pair._replace(weight=3.0 if place < 20 else 1.0) for place, pair in enumerate(pairs)]
    repeated = pairs + pairs[:20] + pairs[:20]
    weighted, plain = kappa(heavy), kappa(repeated)
    assert weighted and plain and weighted.value == pytest.approx(plain.value)
    assert weighted.interval[0] < plain.interval[0], "but it says no more than one"


def test_perfect_agreement_has_an_interval_and_one_code_for_all_has_no_kappa() -> None:
    found = kappa([Paired("a", 1.0, (code, code)) for code in ["yes", "no"] * 10])
    assert found is not None and found.value == 1 == found.interval[1] and 0.5 < found.interval[0] < 0.8
    assert kappa([Paired("a", 1.0, ("no", "no"))] * 9) is None


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_alpha_of_several_coders_with_gaps_is_the_library_s(level: str) -> None:
    chance = random.Random(2)
    rows = [[float(chance.randint(1, 4)) if chance.random() < 0.8 else None for _ in range(3)] for _ in range(80)]
    rows = [[one if one is None or chance.random() < 0.5 else rows[i][0] for one in row] for i, row in enumerate(rows)]
    table = numpy.array([[numpy.nan if one is None else one for one in row] for row in rows]).T
    expected = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
    units = [(2.5, [one for one in row if one is not None]) for row in rows]
    found = alpha(units, squared_distance) if level == "interval" else alpha(units)
    assert found == pytest.approx(expected), "whatever the weight that all have"


def test_alpha_is_weighted_back_to_the_batch() -> None:
    """Nearly as if a heavy side had been coded so often; the number of codes seen stays what it is."""
    pairs = pairs_of(2_000, seed=4)
    repeated = pairs + [pair for pair in pairs if pair.codes[0] == "yes"]
    table = numpy.array([[CODES.index(str(code)) for code in pair.codes] for pair in repeated], dtype=float).T
    expected = krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
    found = alpha((2.0 if pair.codes[0] == "yes" else 1.0, pair.codes) for pair in pairs)
    assert found == pytest.approx(expected, abs=1e-3)


def test_alpha_needs_two_codes_of_a_side_and_two_kinds_of_them() -> None:
    assert alpha([(1.0, ["yes"]), (1.0, ["no"])]) is None and alpha([(1.0, ["no", "no"])] * 5) is None
