"""Labels by counting are what numpy.unique says."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.inference.grouped import counted, distinct_number, numbered

LABELS = st.lists(st.integers(-50, 50)) | st.lists(st.integers(-(2**40), 2**40))
VALUES = st.lists(st.sampled_from([0.0, 1.0, -2.0])) | st.lists(st.floats(allow_nan=False))


@given(
    LABELS.map(lambda labels: numpy.array(labels, dtype=int)) | VALUES.map(lambda some: numpy.array(some, dtype=float))
)
def test_distinct_labels_places_and_counts_are_those_of_sorting(labels: numpy.ndarray) -> None:  # type: ignore[type-arg]
    distinct, places, times = numpy.unique(labels, return_inverse=True, return_counts=True)
    assert [list(part) for part in numbered(labels)] == [list(distinct), list(places)]
    assert [list(part) for part in counted(labels)] == [list(distinct), list(times)]
    assert distinct_number(labels) == len(distinct)


@pytest.mark.parametrize(
    "labels", [numpy.array([0, 2**40, 0]), numpy.array(["b", "a", "b"]), numpy.array([0.5, 2.0, 0.5])]
)
def test_labels_far_apart_or_no_whole_numbers_are_sorted(labels: numpy.ndarray) -> None:  # type: ignore[type-arg]
    distinct, places = numbered(labels)
    assert list(distinct[places]) == list(labels) and list(distinct) == sorted(set(labels.tolist()))
