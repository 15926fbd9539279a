import asyncio
import random

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="the extra rl")
import torch
from stable_baselines3.common.buffers import RolloutBuffer

from tests.support.offline_transport import Losing, OfflineTransport
from tidepool.engine.studies.mutation.config import MutationSettings
from tidepool.engine.studies.mutation.environment import Environments, EpisodeRules, Outcome, Step, endless
from tidepool.engine.studies.mutation.ppo import PPOLearner, Row, _algorithm, fill
from tidepool.engine.studies.mutation.queries import Query, builtin_queries
from tidepool.engine.studies.mutation.training import Player, TrainingRecord, train

SMALL = MutationSettings(num_processes=4, num_steps=8, num_env_steps=80)


def _trained(settings: MutationSettings = SMALL, losing: Losing | None = None) -> PPOLearner:
    environments = Environments(4, endless(builtin_queries(), 1), OfflineTransport(1, losing), EpisodeRules())
    size = asyncio.run(environments.reset()).shape[1]
    learner = PPOLearner(settings, EpisodeRules(), size, 9, 3)
    record = TrainingRecord(update_size=32)
    asyncio.run(train(environments, [Player("ppo", learner, settings.num_env_steps, 0, 4, record)]))
    assert record.env_steps == settings.num_env_steps
    return learner


def _weights(learner: PPOLearner) -> np.ndarray:
    return np.concatenate([layer.weights.ravel() for layer in learner.policy().layers])


def test_the_same_answers_train_the_same_policy_bit_by_bit_and_global_random_states_are_left_alone() -> None:
    states = random.getstate(), np.random.get_state()[1].copy(), torch.random.get_rng_state()
    one = _weights(_trained())
    assert random.getstate() == states[0] and (np.random.get_state()[1] == states[1]).all()
    assert torch.equal(torch.random.get_rng_state(), states[2])
    random.seed(99)
    np.random.seed(99)
    torch.manual_seed(99)
    assert (one == _weights(_trained())).all()


def test_the_policy_of_arrays_prefers_what_the_network_prefers() -> None:
    learner = _trained()
    rows = np.random.default_rng(1).uniform(-0.2, 0.2, size=(20, 257)).astype(np.float32)
    policy = learner.policy()
    normal = torch.from_numpy(policy.normaliser.apply(rows).astype(np.float32))
    with torch.no_grad():
        logits = learner._algorithm.policy.get_distribution(normal).distribution.logits.numpy()
    preferences = policy.preferences(rows)
    np.testing.assert_allclose(
        preferences - preferences.mean(axis=1, keepdims=True), logits - logits.mean(axis=1, keepdims=True), atol=1e-4
    )
    assert [layer.weights.shape for layer in policy.layers] == [(64, 257), (64, 64), (9, 64)]


def _step(
    environment: int, index: int, reward: float | None, terminated: bool = False, truncated: bool = False
) -> Step:
    return Step(environment, index, Query(""), "noop", "", False, reward, terminated, truncated)


def test_a_lost_step_leaves_its_episode_worth_what_was_expected_there() -> None:
    learner = PPOLearner(MutationSettings(num_processes=1, num_steps=99, gamma=0.9), EpisodeRules(), 3, 2, 42)
    seen = np.zeros((1, 3), dtype=np.float32)
    learner.choose(seen)
    learner.learn(Outcome((_step(0, 0, 0.5),), seen))
    learner.choose(seen + 1)
    assert learner._choice is not None
    expected = float(learner._choice.values[0])
    learner.learn(Outcome((_step(0, 1, None, truncated=True),), seen))
    learner.choose(seen)
    learner.learn(Outcome((_step(0, 0, 0.4),), seen))
    first, second = learner._chains[0]
    assert first.reward == pytest.approx(0.5 + 0.9 * expected)
    assert (second.reward, second.starts_episode) == (0.4, True)


def test_chains_laid_end_to_end_have_the_advantages_of_the_librarys_own_rollout() -> None:
    """Two environments of four steps, an end in the first: square and laid-out buffer must agree."""
    generator = np.random.default_rng(4)
    rewards, values = generator.uniform(size=(4, 2)), generator.uniform(size=(4, 2))
    starts = np.array([[1, 1], [0, 0], [1, 0], [0, 0]])
    last = np.array([0.3, 0.6])
    algorithm = _algorithm(MutationSettings(), 3, 2, 42)
    square = RolloutBuffer(4, algorithm.observation_space, algorithm.action_space, "cpu", 0.95, 0.99, n_envs=2)
    square.rewards[:], square.values[:], square.episode_starts[:] = rewards, values, starts
    square.compute_returns_and_advantage(torch.tensor(last), np.zeros(2))
    rows = []
    for chain in range(2):
        for step in range(4):
            bonus = 0.99 * last[chain] if step == 3 else 0.0
            starts_episode = bool(starts[step, chain]) or step == 0
            rows.append(
                Row(np.zeros(3, np.float32), 0, values[step, chain], 0.0, rewards[step, chain] + bonus, starts_episode)
            )
    laid = algorithm.rollout_buffer
    laid.buffer_size = 8
    laid.reset()
    fill(laid, rows)
    np.testing.assert_allclose(laid.advantages[:, 0], square.advantages.T.ravel(), rtol=1e-5)
