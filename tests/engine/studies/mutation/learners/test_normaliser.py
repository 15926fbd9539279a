import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.policy import Normaliser


@given(st.lists(st.integers(0, 7), min_size=1, max_size=8), st.integers(0, 99))
def test_updates_in_pieces_give_the_moments_of_all_rows_at_once(sizes: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    pieces = [generator.normal(3, 2, size=(size, 4)) for size in sizes]
    normaliser = Normaliser(4)
    for piece in pieces:
        normaliser.update(piece)
    rows = np.concatenate(pieces)
    assert normaliser.count == len(rows)
    if len(rows):
        np.testing.assert_allclose(normaliser.mean, rows.mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(normaliser.variance, rows.var(axis=0), atol=1e-9)


def test_what_is_seen_changes_what_comes_out() -> None:
    normaliser, row = Normaliser(2), np.array([[1.0, 5.0]])
    before = normaliser.apply(row)
    normaliser.update(np.array([[1.0, 5.0], [3.0, 9.0]]))
    after = normaliser.apply(row)
    assert not np.allclose(before, after)
    assert (after < 0).all()


def test_values_far_out_are_clipped_and_still_ones_do_not_explode() -> None:
    normaliser = Normaliser(2)
    normaliser.update(np.array([[0.0, 0.0], [0.0, 1.0]]))
    assert np.abs(normaliser.apply(np.array([[1.0, 1e9]]))).max() == 10.0
    assert np.abs(normaliser.apply(np.array([[0.1, 0.5]]))).max() < 1


def test_it_survives_being_saved() -> None:
    normaliser = Normaliser(3)
    normaliser.update(np.random.default_rng(1).normal(size=(9, 3)))
    again = Normaliser.from_arrays(normaliser.arrays())
    rows = np.random.default_rng(2).normal(size=(4, 3))
    assert (again.apply(rows) == normaliser.apply(rows)).all()
    again.update(rows)
    assert again.count == 13 and normaliser.count == 9


@pytest.mark.parametrize(
    "change",
    [
        {"mean": np.zeros(2)},
        {"count": np.array([-1.0])},
        {"squares": np.full(3, -1.0)},
        {"count": np.zeros((1, 1))},
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, np.ndarray]) -> None:
    with pytest.raises(UsageError):
        Normaliser.from_arrays({**Normaliser(3).arrays(), **change})


def test_a_missing_array_is_named() -> None:
    with pytest.raises(UsageError, match="squares"):
        Normaliser.from_arrays({"count": np.zeros(1), "mean": np.zeros(3)})
