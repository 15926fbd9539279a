"""Decisions about orders that need no provider."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.stage import question
from tidepool.engine.providers.protocol import ProviderBatchBounds
from tidepool.engine.runtime.provider_batch import is_small, split


def pending(step: str, text: str = "hello") -> Any:
    call = question(step, text=text)
    return SimpleNamespace(call=call, key=call.key(1))


@pytest.mark.parametrize(
    ("remainder", "ordered", "small"),
    [(1, 2, True), (10, 10, True), (10, 11, True), (11, 100, False), (20, 1000, True), (21, 1000, False)],
)
def test_a_small_remainder_goes_live_and_a_large_one_is_ordered_anew(remainder: int, ordered: int, small: bool) -> None:
    """Rule 7."""
    assert is_small(remainder, ordered) is small


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=60),
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(2_000, 20_000),
)
def test_a_wave_is_cut_within_every_bound_and_loses_no_call(
    lengths: list[int], batch_size: int, max_calls: int, max_bytes: int
) -> None:
    wave = [pending(f"c{number}", "x" * length) for number, length in enumerate(lengths)]
    orders = split(wave, batch_size, ProviderBatchBounds(max_calls, max_bytes))
    assert [call for order in orders for call in order] == wave
    for order in orders:
        assert 1 <= len(order) <= min(batch_size, max_calls)
        size = sum(len(call.call.messages[0].text) for call in order)
        assert len(order) == 1 or size <= max_bytes
