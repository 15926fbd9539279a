"""Bets against a line: what they exclude, when, and what they never do."""

from random import Random

import pytest

from tidepool.engine.inference.betting import ConfidenceSequence


@pytest.mark.parametrize(("rate", "line", "verdict"), [(0.8, 0.5, "above"), (0.2, 0.5, "below"), (0.5, 0.5, None)])
def test_a_mean_off_the_line_is_found_on_its_side(rate: float, line: float, verdict: str | None) -> None:
    random = Random(3)
    sequence = ConfidenceSequence(100, 0.25)
    decision = sequence.against(line)
    for _ in range(200):
        value = float(random.random() < rate)
        sequence.add(value, value)
        decision.update()
    assert decision.verdict == verdict


def test_the_interval_excludes_a_line_from_the_value_on_at_which_it_was_decided() -> None:
    random = Random(5)
    sequence = ConfidenceSequence(50, 0.25)
    decision = sequence.against(0.5)
    for _ in range(100):
        value = (random.random() < 0.65) * random.random()
        sequence.add(value, value)
        low, high = sequence.interval()
        assert (decision.update() is not None) == (not low <= 0.5 <= high)
    assert decision.verdict == "below"


def test_a_value_that_is_not_known_excludes_nothing_that_its_worst_case_would_not() -> None:
    values = [0.9, 0.8, 1.0, 0.7] * 10
    known, bounded = ConfidenceSequence(20, 0.25), ConfidenceSequence(20, 0.25)
    for place, value in enumerate(values):
        known.add(value, value)
        bounded.add(*((0.0, 1.0) if place % 5 == 0 else (value, value)))
    (low, high), (worst_low, worst_high) = known.interval(), bounded.interval()
    assert worst_low < low and worst_high >= high and worst_low > 0.3
