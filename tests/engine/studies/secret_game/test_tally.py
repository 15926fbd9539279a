"""The arithmetic of long schedules says what counting them would."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.secret_game.pairing import Schedule, count_tally, estimate_tally, tally_of

PAIRINGS = ("round_robin", "random", "ordered")

schedules = st.builds(
    Schedule,
    agents=st.integers(2, 7).map(lambda size: tuple(f"agent {n}" for n in range(size))),
    pairing=st.sampled_from(PAIRINGS),
    games=st.integers(1, 4),
    rounds=st.none() | st.integers(1, 5),
    num_interactions=st.none() | st.integers(1, 400),
)


@given(schedules)
def test_arithmetic_and_counting_agree(schedule: Schedule) -> None:
    right, fast = count_tally(schedule, schedule.total), estimate_tally(schedule)
    assert +fast.opened == +right.opened
    assert +fast.answered == +right.answered
    assert fast.opened.total() == fast.answered.total() == schedule.total


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_what_was_heard_before_is_close(pairing: str) -> None:
    schedule = Schedule(("a", "b", "c", "d"), pairing, games=10, rounds=30)
    right, fast = count_tally(schedule, schedule.total), estimate_tally(schedule)
    for name in schedule.agents:
        assert fast.earlier_talks[name] == pytest.approx(right.earlier_talks[name], rel=0.05)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("agents", [3, 500])
def test_a_billion_conversations_are_planned_at_once(pairing: str, agents: int) -> None:
    schedule = Schedule(tuple(f"agent {n}" for n in range(agents)), pairing, num_interactions=1_000_000_000)
    began = time.thread_time()
    assert tally_of(schedule).opened.total() == 1_000_000_000
    assert time.thread_time() - began < 1.0
