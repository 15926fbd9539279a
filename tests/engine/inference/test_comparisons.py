import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.inference.significance import holm


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
