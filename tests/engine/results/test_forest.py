"""A comparison as differences: every batch against the first, by the estimates of `compare` themselves."""

from tidepool.engine.results.figures import against_the_first

FOUND = [
    {"batches": ["a", "b"], "measure": "shares", "difference": -0.07, "difference_ci95": [-0.26, 0.12]},
    {"batches": ["a", "c"], "measure": "shares", "difference": 0.15, "difference_ci95": None},
    {"batches": ["b", "c"], "measure": "shares", "difference": 0.22, "difference_ci95": [0.04, 0.39]},
]


def test_every_batch_is_held_against_the_first_with_its_interval_turned() -> None:
    (figure,) = against_the_first(FOUND, ["a", "b", "c"], 100)
    assert figure.labels == ("#2 − #1", "#3 − #1") and figure.reference == 0.0
    assert figure.series[0].ys == (7.000000000000001, -15.0)
    assert figure.series[0].intervals == ((-12.0, 26.0), None) and "where there is more" in figure.note
    assert list(against_the_first([], ["a"])) == []
