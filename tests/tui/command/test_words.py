"""Numbers and moments as people read them."""

import pytest

from tidepool.tui.drawing.words import gained


@pytest.mark.parametrize(
    ("speedup", "told"),
    [(14.52, ", 14.5× over one at a time"), (1.0, ", 1.0× over one at a time"), (0.1, ""), (None, "")],
)
def test_a_gain_is_told_only_where_calls_took_time_that_could_be_saved(speedup: float | None, told: str) -> None:
    assert gained(speedup) == told
