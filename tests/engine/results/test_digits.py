"""How estimates are written: the width of the interval decides the digits of all three numbers."""

import pytest

from tidepool.engine.reports.blocks import (
    Estimate,
    Figure,
    Headline,
    Heat,
    Named,
    Series,
    Table,
    Words,
    interval,
    text_of,
)
from tidepool.engine.reports.figures import assign_places, value_of

CASES = [
    (Estimate(3.0143, (2.155, 3.873)), "3.0 (2.2–3.9)"),
    (Estimate(57.53, (51.2, 63.4), unit=" %"), "58 % (51–63)"),
    (Estimate(0.9312, (0.9287, 0.9341)), "0.9312 (0.9287–0.9341)"),
    (Estimate(-0.41, (-0.488, -0.327), signed=True), "-0.41 (-0.49 to -0.33)"),
    (Estimate(-25.6, (-29.3, -21.9), 3, " points", signed=True), "-25.6 points (-29.3 to -21.9)"),
    (Estimate(2.3, (-0.12, 4.8)), "2.3 (-0.1 to 4.8)"),
    (Estimate(1234.4, (1000.0, 1470.0)), "1,234 (1,000–1,470)"),
    (Estimate(0.5, (0.45, 0.5496)), "0.50 (0.45–0.55)"),  # a width of 0.0996 is 0.10 in two digits, not 0.0996 in three
    (Estimate(50.0, (45.1, 55.05)), "50.0 (45.1–55.0)"),
    (Estimate(50.0, (45.0, 54.96)), "50 (45–55)"),
    (Estimate(0.45, (0.45, 0.45), 3), "0.450 (0.450–0.450)"),
    (Estimate(2.0, (-float("inf"), 5.0), 1), "2.0 (-inf to 5.0)"),
    (Estimate(57.534, None, 1, " %"), "57.5 %"),
    (Estimate(None, (0.0, 100.0)), "–"),
]


@pytest.mark.parametrize(("estimate", "text"), CASES, ids=[text for _, text in CASES])
def test_two_significant_digits_of_the_width_rule_the_estimate_and_both_ends(estimate: Estimate, text: str) -> None:
    assert text_of(estimate) == text
    assert Headline("rate", estimate, short="rate").brief in (
        f"rate {text}".split(" (")[0],
        f"{text.split(' (')[0]} rate",
    )
    if estimate.value is not None and estimate.interval and not estimate.signed:
        assert f"({interval(estimate.interval, estimate.digits)})" in text


def test_a_figure_writes_its_values_as_a_table_does() -> None:
    rated = Series("mean", (3.0143, 2.5), intervals=((2.155, 3.873), None))
    figure = Figure("means", "", (rated,), labels=("a", "b"))
    assert [text_of(value_of(figure, rated, place)) for place in (0, 1)] == ["3.0 (2.2–3.9)", "2.50"]


# -- whoever a block tells of -------------------------------------------------------------------------


PEOPLE = ("Ada", "Bob", "Cleo", "Dan")


def test_somebody_who_met_nobody_shifts_no_one() -> None:
    """Ada sat out: what tells of the others numbers them from nought."""
    words = Words("as it was")
    table = Table("agents", ("agent", "talks"), ((Named("Bob", 0), 3), (Named("Dan", 2), 4)))
    bars = Figure("bars", "who", (Series("revealed", (1.0, 2.0)),), labels=("Cleo", "Bob"), places=(1, 0))
    heat = Heat("pairs", ("Bob", "Dan"), ("Bob", "Dan"), ((None, 1.0), (2.0, None)), places=(0, 1))
    shown = assign_places((words, table, bars, heat), PEOPLE)
    assert shown[0] == words
    assert shown[1].rows == ((Named("Bob", 1), 3), (Named("Dan", 3), 4))  # type: ignore[union-attr]
    assert shown[2].places == (2, 1)  # type: ignore[union-attr]
    assert shown[3].places == (1, 3)  # type: ignore[union-attr]
