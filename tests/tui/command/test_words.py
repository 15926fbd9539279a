"""Numbers and moments as people read them."""

import time

from tidepool.engine.events import BatchEnded, CallAnswered, CallLost, CallsExpected, UnitEnded, UnitsExpected
from tidepool.storage.states import BatchStatus
from tidepool.tui.command.progress import ProgressTally


def test_progress_and_time_left_go_by_calls_and_an_estimate_says_so() -> None:
    tally = ProgressTally(started=time.monotonic() - 100)
    tally.add(UnitsExpected(10))
    tally.add(CallsExpected(400, exact=False))
    for turn in range(100):
        tally.add(CallAnswered(1, f"t{turn}", 1, "live", 0.0))
    assert (
        tally.figures().startswith("100 of about 400 requests · 0/10 units")
        and tally.time_left_text() == "about 5 min 00 s left"
    )
    tally.add(CallsExpected(200, exact=True))
    assert tally.calls_text() == "100 of 200 requests" and tally.time_left_text() == "1 min 40 s left"
    for unit in range(5):
        tally.add(UnitEnded(unit, "lost"))
    assert tally.calls_left == 100
    for unit in range(4):
        tally.add(UnitEnded(unit, None))
    assert tally.calls_left == 20  # nine of ten units are over, whatever they have left unasked
    tally.add(CallLost(5, "t1", 1, "lost"))
    assert tally.figures().count("1 failed") == 1
    tally.add(BatchEnded(BatchStatus.PARTIAL, None))
    assert (
        tally.calls_text() == "101 requests: 100 new, 0 from cache, 1 failed" and tally.figures().count("failed") == 1
    )
