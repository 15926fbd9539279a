import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.mutation.environment import (
    EpisodeRules,
    advance,
    begin,
    credited,
    observation,
    reward_of_lost_answer,
)
from tidepool.engine.studies.mutation.operators import Rewrite
from tidepool.engine.studies.mutation.queries import Query

RULES = EpisodeRules(episode_length=3, success=0.7)
START = begin(0, 0, Query("Q?", "A."))


@pytest.mark.parametrize(
    ("rewards", "terminated", "truncated"),
    [
        ([0.1], False, False),
        ([0.7], True, False),
        ([0.69], False, False),
        ([0.1, 0.2], False, False),
        ([0.1, 0.2, 0.3], False, True),
        ([0.1, 0.2, 0.9], True, False),
        ([None], False, True),
        ([0.1, None], False, True),
    ],
)
def test_an_episode_ends_by_success_by_length_or_before_a_lost_step(
    rewards: list[float | None], terminated: bool, truncated: bool
) -> None:
    episode = START
    for reward in rewards:
        moved = advance(episode, Rewrite("R?"), reward, RULES)
        episode = moved.episode
    assert (moved.terminated, moved.truncated) == (terminated, truncated)
    assert moved.masked is (rewards[-1] is None)


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=10))
def test_only_answered_steps_count_and_a_lost_one_leaves_no_trace(rewards: list[float | None]) -> None:
    episode, answered = START, []
    for number, reward in enumerate(rewards):
        moved = advance(episode, Rewrite(f"R{number}?"), reward, RULES)
        if reward is None:
            assert moved.episode == episode and moved.truncated and not moved.terminated
            break
        answered.append(reward)
        assert moved.episode.text == f"R{number}?"
        assert moved.terminated + moved.truncated <= 1
        episode = moved.episode
        if moved.ended:
            break
    assert list(episode.rewards) == answered
    assert episode.score == (pytest.approx(sum(answered) / len(answered)) if answered else None)


def test_a_lost_answer_is_missing_unless_it_is_told_to_be_a_refusal() -> None:
    assert reward_of_lost_answer(EpisodeRules(on_error="mask")) is None
    assert reward_of_lost_answer(EpisodeRules(on_error="refusal")) == 0.0


def test_an_observation_is_the_embedding_and_the_share_of_the_episode_used_up() -> None:
    seen = observation(np.array([0.6, 0.8], dtype=np.float32), 2, RULES)
    np.testing.assert_allclose(seen, [0.6, 0.8, 2 / 3], rtol=1e-6)
    assert seen.dtype == np.float32


@given(st.floats(0.7, 1.0), st.floats(0.0, 0.69), st.floats(0.8, 1.0))
def test_succeeding_at_once_is_worth_more_than_lingering_below_success(won: float, below: float, gamma: float) -> None:
    lingering = sum(gamma**step * credited(below, step + 1, False, RULES, gamma) for step in range(3))
    late = credited(below, 1, False, RULES, gamma) + gamma * credited(won, 2, True, RULES, gamma)
    assert credited(won, 1, True, RULES, gamma) > late > lingering or gamma == 0


def test_a_success_at_the_last_step_is_worth_just_itself() -> None:
    assert credited(0.8, 3, True, RULES, 0.99) == 0.8
