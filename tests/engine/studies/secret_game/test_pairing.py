from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.secret_game.pairing import Schedule


def names(size: int) -> tuple[str, ...]:
    return tuple(f"agent{index}" for index in range(size))


schedules = st.builds(
    Schedule,
    agents=st.integers(2, 9).map(names),
    pairing=st.sampled_from(["round_robin", "random", "ordered"]),
    seed=st.integers(0, 1000),
    games=st.integers(1, 4),
    rounds=st.none() | st.integers(1, 5),
    num_interactions=st.none() | st.integers(1, 60),
)


@given(schedules)
def test_a_schedule_has_exactly_the_conversations_it_announces_numbered_from_one(schedule: Schedule):
    meetings = list(schedule.meetings())
    assert [meeting.sequence_number for meeting in meetings] == list(range(1, schedule.total + 1))
    if schedule.num_interactions is not None:
        assert len(meetings) == schedule.num_interactions


@given(schedules)
def test_every_agent_meets_somebody_or_is_recorded_as_sitting_out(schedule: Schedule):
    for a_round in schedule.play():
        busy = {name for meeting in a_round.meetings for name in (meeting.opener, meeting.partner)}
        assert busy.isdisjoint(a_round.sits_out)
        assert busy | set(a_round.sits_out) == set(schedule.agents)


@given(schedules.filter(lambda schedule: schedule.pairing != "ordered"))
def test_nobody_meets_itself_or_two_others_in_one_round(schedule: Schedule):
    for a_round in schedule.play():
        seats = [name for meeting in a_round.meetings for name in (meeting.opener, meeting.partner)]
        assert len(seats) == len(set(seats))


@given(schedules.filter(lambda schedule: schedule.pairing != "ordered"))
def test_of_every_pair_the_two_open_by_turns(schedule: Schedule):
    openers: dict[frozenset[str], list[str]] = {}
    for meeting in schedule.meetings():
        openers.setdefault(frozenset((meeting.opener, meeting.partner)), []).append(meeting.opener)
    for sequence in openers.values():
        assert all(first != second for first, second in pairwise(sequence))


@pytest.mark.parametrize("size", range(2, 12))
def test_a_full_round_robin_cycle_meets_every_pair_once_and_shares_the_opening(size: int):
    cycle = size - 1 + size % 2
    meetings = list(Schedule(names(size), rounds=cycle).meetings())
    met = Counter(frozenset((meeting.opener, meeting.partner)) for meeting in meetings)
    assert met == Counter(frozenset(pair) for pair in combinations(names(size), 2))
    openings = Counter(meeting.opener for meeting in meetings)
    answers = Counter(meeting.partner for meeting in meetings)
    assert all(abs(openings[name] - answers[name]) <= 1 for name in names(size))


def test_one_ordered_round_is_every_ordered_pair_self_included():
    meetings = list(Schedule(names(3), "ordered").meetings())
    assert {(meeting.opener, meeting.partner) for meeting in meetings} == {
        (opener, partner) for opener in names(3) for partner in names(3)
    }
    assert len(meetings) == 9


def test_rounds_for_a_number_of_interactions_are_dealt_evenly_to_the_games():
    games = Counter(a_round.game for a_round in Schedule(names(4), games=3, num_interactions=15).play())
    assert games == {1: 3, 2: 3, 3: 2}


def test_games_of_a_stated_length_follow_until_the_interactions_are_done():
    meetings = list(Schedule(names(4), rounds=2, num_interactions=9).meetings())
    assert [meeting.game for meeting in meetings] == [1, 1, 1, 1, 2, 2, 2, 2, 3]


@given(schedules)
def test_a_schedule_knows_the_size_of_each_game_before_it_is_played(schedule: Schedule):
    played = Counter(meeting.game for meeting in schedule.meetings())
    assert {game: schedule.conversations_in_game(game) for game in played} == dict(played)
    assert schedule.conversations_in_game(max(played) + 1) == 0


@given(schedules, st.integers(1, 80))
def test_a_sample_is_spread_over_the_plan_and_has_conversations_of_it(schedule: Schedule, count: int):
    meetings = {meeting.sequence_number: meeting for meeting in schedule.meetings()}
    sample = list(schedule.sample(count))
    assert len(sample) == min(count, schedule.total)
    for meeting in sample:
        planned = meetings[meeting.sequence_number]
        assert (meeting.game, meeting.round) == (planned.game, planned.round)
        assert {meeting.opener, meeting.partner} == {planned.opener, planned.partner}
