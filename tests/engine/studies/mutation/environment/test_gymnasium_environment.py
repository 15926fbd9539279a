import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra rl")

from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from tests.support.offline_transport import OfflineTransport
from tidepool.engine.studies.mutation.environment.episodes import EpisodeRules
from tidepool.engine.studies.mutation.environment.gymnasium_environment import QueryEnv, QueryVectorEnv
from tidepool.engine.studies.mutation.queries import builtin_queries

QUERIES = builtin_queries()


def test_the_single_environment_passes_gymnasiums_own_checker() -> None:
    check_env(QueryEnv(QUERIES, OfflineTransport(1)), skip_render_check=True)


def test_the_vector_keeps_to_its_spaces_and_says_how_it_resets() -> None:
    vector = QueryVectorEnv(5, QUERIES, OfflineTransport(1))
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, _ = vector.reset(seed=3)
    vector.action_space.seed(3)
    ended = 0
    for _ in range(12):
        assert vector.observation_space.contains(observations)
        observations, rewards, terminated, truncated, infos = vector.step(vector.action_space.sample())
        assert rewards.shape == terminated.shape == truncated.shape == (5,)
        assert ((rewards >= 0) & (rewards <= 1)).all()
        over = terminated | truncated
        ended += int(over.sum())
        assert (observations[over, -1] == 0).all()
        if over.any():
            assert (infos["_final_obs"] == over).all()
            assert all(final[-1] > 0 for final in infos["final_obs"][over])
    assert ended


def test_a_seeded_reset_repeats_the_run() -> None:
    def run(vector: QueryVectorEnv) -> list[np.ndarray]:
        observations, _ = vector.reset(seed=9)
        return [observations, *(vector.step([action] * 3)[0] for action in range(6))]

    vector = QueryVectorEnv(3, QUERIES, OfflineTransport(1))
    assert all(np.array_equal(one, other) for one, other in zip(run(vector), run(vector), strict=True))


def test_a_lost_step_is_truncated_and_marked_as_masked() -> None:
    vector = QueryVectorEnv(2, QUERIES, OfflineTransport(1, losing=lambda text: 1.0))
    vector.reset()
    _, rewards, terminated, truncated, infos = vector.step([0, 0])
    assert infos["masked"].all() and truncated.all() and not terminated.any() and not rewards.any()


def test_after_an_end_the_single_environment_begins_the_next_episode_on_reset() -> None:
    single = QueryEnv(QUERIES, OfflineTransport(1), EpisodeRules(episode_length=1))
    first, _ = single.reset(seed=1)
    last, reward, terminated, truncated, infos = single.step(0)
    assert terminated or truncated
    assert last[-1] == 1.0 and infos["answer"] and 0 <= reward <= 1
    second, _ = single.reset()
    assert second[-1] == 0.0 and not np.array_equal(first, second)
