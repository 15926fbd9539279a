"""Numbers and moments as people read them."""

import time

import pytest

from tidepool.engine.events import (
    BatchEnded,
    CallAnswered,
    CallLost,
    CallsExpected,
    ProvidersRest,
    Resting,
    UnitEnded,
    UnitsExpected,
)
from tidepool.storage.states import BatchStatus
from tidepool.tui.command.progress import ProgressTally
from tidepool.tui.drawing.text import countdown, in_flight, rate, requests


@pytest.mark.parametrize(
    ("mean", "told"),
    [(14.52, ", calls in flight, mean 14.5"), (1.0, ", calls in flight, mean 1.0"), (0.1, ""), (None, "")],
)
def test_calls_in_flight_are_told_only_where_calls_took_time(mean: float | None, told: str) -> None:
    assert in_flight(mean) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.2, "0 s"), (42.0, "42 s"), (99.4, "99 s"), (100.0, "1:40"), (600.0, "10:00")]
)
def test_what_is_left_is_told_in_whole_seconds_and_then_in_minutes(seconds: float, told: str) -> None:
    assert countdown(seconds) == told


@pytest.mark.parametrize(
    ("pace", "told"), [(0.0, "0.0/s"), (0.02, "1.2/min"), (0.2, "0.2/s"), (9.96, "10.0/s"), (41.4, "41/s")]
)
def test_a_slow_pace_is_no_zero(pace: float, told: str) -> None:
    tally = ProgressTally(started=time.monotonic() - 1000, calls=round(1000 * pace))
    assert rate(pace) == told and told in tally.figures()


def test_the_progress_line_counts_down_what_calls_wait_for() -> None:
    tally, now = ProgressTally(), time.time()
    down = Resting("connection refused", now - 80, now + 520.4, down=True)
    asked = Resting("Retry-After", now - 1, now + 42.4, down=False)
    tally.take(ProvidersRest((("lab", down), ("openai", asked))))
    assert tally.figures().endswith(
        "lab is down: waiting for 1 min, gives up in 8:40 · openai rests 42 s more (Retry-After)"
    )
    tally.take(ProvidersRest(()))
    assert "rests" not in tally.figures()


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"total": 54, "bought": 55, "cached": 4}, "54 requests: 50 new, 4 cached; 5 billed again"),
        ({"total": 16, "bought": 16, "cached": 4}, "16 requests: 12 new, 4 cached; 4 billed again"),
        ({"total": 1, "bought": 1, "cached": 0, "failed": 0}, "1 request: 1 new, 0 cached"),
        ({"total": 9, "bought": 7, "cached": 0, "failed": 2}, "9 requests: 7 new, 0 cached, 2 failed"),
        (
            {"total": 16, "bought": 0, "cached": 0, "replayed": 0, "retried": 112, "failed": 16},
            "16 requests: 0 new, 0 cached, 16 failed; 112 retried",
        ),
        (
            {"total": 9, "bought": 8, "cached": 1, "failed": 2},
            "9 requests: 6 new, 1 cached, 2 failed; 2 unused attempts billed",
        ),
    ],
)
def test_new_cached_and_failed_requests_add_up(counts: dict[str, int], told: str) -> None:
    assert requests(**counts) == told


def test_progress_and_time_left_go_by_calls_and_an_estimate_says_so() -> None:
    tally = ProgressTally(started=time.monotonic() - 100)
    tally.take(UnitsExpected(10))
    tally.take(CallsExpected(400, exact=False))
    for turn in range(100):
        tally.take(CallAnswered(1, f"t{turn}", 1, "live", 0.0))
    assert (
        tally.figures().startswith("100 of about 400 calls · 0/10 units")
        and tally.left_told() == "about 5 min 00 s left"
    )
    tally.take(CallsExpected(200, exact=True))
    assert tally.calls_told() == "100 of 200 calls" and tally.left_told() == "1 min 40 s left"
    for unit in range(5):
        tally.take(UnitEnded(unit, "lost"))
    assert tally.calls_left == 100
    for unit in range(4):
        tally.take(UnitEnded(unit, None))
    assert tally.calls_left == 20  # nine of ten units are over, whatever they have left unasked
    tally.take(CallLost(5, "t1", 1, "lost"))
    assert tally.figures().count("1 failed") == 1
    tally.take(BatchEnded(BatchStatus.PARTIAL, None))
    assert tally.calls_told() == "101 requests: 100 new, 0 cached, 1 failed" and tally.figures().count("failed") == 1


def test_calls_that_were_read_back_are_no_pace() -> None:
    tally = ProgressTally(started=time.monotonic() - 10, calls=100, replayed=100, calls_expected=200)
    assert tally.seconds_left() is None
    tally.take(CallAnswered(1, "t1", 1, "live", 0.0))
    assert tally.seconds_left() == pytest.approx(990, rel=0.01)
