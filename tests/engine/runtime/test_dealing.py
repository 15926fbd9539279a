"""Few calls go to one hand; many are dealt evenly."""

import pytest

from tidepool.engine.runtime.worker_pool import deal_calls


@pytest.mark.parametrize(
    ("count", "loads", "piece", "expected"),
    [
        (0, {"a": 0}, 20, {}),
        (3, {}, 20, {}),
        (3, {"a": 5, "b": 0}, 20, {"b": 3}),
        (3, {"a": 5, "b": 0}, 1, {"b": 3}),
        (3, {"a": 0, "b": 0, "c": 0}, 1, {"a": 1, "b": 1, "c": 1}),
        (39, {"a": 0, "b": 0, "c": 0}, 20, {"a": 39}),
        (60, {"a": 0, "b": 0, "c": 0}, 20, {"a": 20, "b": 20, "c": 20}),
        (60, {"a": 90, "b": 30, "c": 0}, 20, {"b": 15, "c": 45}),
        (100, {"a": 1000, "b": 0}, 20, {"b": 100}),
    ],
)
def test_a_bunch_is_dealt(count: int, loads: dict[str, int], piece: int, expected: dict[str, int]) -> None:
    assert dict(deal_calls(count, loads, piece)) == expected
