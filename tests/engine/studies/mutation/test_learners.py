"""Bandit, random play, the training loop, and whether anything is learnt."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from tests.support.offline_transport import OfflineTransport
from tidepool.engine.studies.mutation.environment import Environments, EpisodeRules, Outcome, Step, endless
from tidepool.engine.studies.mutation.learners import BanditLearner, RandomLearner
from tidepool.engine.studies.mutation.queries import Query, builtin_queries
from tidepool.engine.studies.mutation.training import Player, TrainingRecord, train


def _outcome(rewards: list[float | None], observations: np.ndarray) -> Outcome:
    steps = tuple(
        Step(number, 0, Query(""), "noop", "", False, reward, False, False) for number, reward in enumerate(rewards)
    )
    return Outcome(steps, observations)


def _taught(seed: int, rounds: int = 60, lost: int | None = None) -> BanditLearner:
    """Two kinds of observation; operator 0 is right for one, operator 1 for the other, 2 for none."""
    learner, generator = BanditLearner(5, 3, seed), np.random.default_rng(7)
    for _ in range(rounds):
        kinds = generator.integers(0, 2, size=4)
        observations = _seen(kinds, generator)
        actions = learner.choose(observations)
        rewards = [
            None if action == lost else 0.9 if action == kind else 0.2
            for action, kind in zip(actions, kinds, strict=True)
        ]
        learner.learn(_outcome(rewards, observations))
    return learner


def _seen(kinds: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    noise = generator.normal(0, 0.1, size=(len(kinds), 5))
    noise[:, 0] += kinds
    return noise.astype(np.float32)


def test_it_learns_which_operator_suits_which_observation() -> None:
    kinds = np.array([0, 1] * 20)
    chosen = _taught(1).policy().choose(_seen(kinds, np.random.default_rng(8)))
    assert (chosen == kinds).mean() > 0.95


def _environments(losing: Callable[[str], float] | None = None) -> Environments:
    environments = Environments(8, endless(builtin_queries(), 1), OfflineTransport(1, losing), EpisodeRules())
    asyncio.run(environments.reset())
    return environments


def _player(budget: int, first: int = 0, count: int = 8) -> Player:
    return Player("random", RandomLearner(9, 1), budget, first, count, TrainingRecord(update_size=32))


def _trained(budget: int, losing: Callable[[str], float] | None = None) -> TrainingRecord:
    player = _player(budget)
    asyncio.run(train(_environments(losing), [player]))
    return player.record


@pytest.mark.parametrize("budget", [1, 8, 100])
@pytest.mark.parametrize("loss", [0.0, 0.5])
def test_the_budget_is_used_exactly_and_counts_answered_steps_only(budget: int, loss: float) -> None:
    record = _trained(budget, lambda text: loss)
    assert record.env_steps == budget == sum(use.uses for use in record.operators.values())
    assert bool(record.losses.masked_steps) is (loss > 0 and budget > 1)


def test_updates_cover_all_steps_and_say_how_it_went() -> None:
    record = _trained(100)
    assert [(update.update, update.env_steps) for update in record.updates] == [(1, 32), (2, 64), (3, 96), (4, 100)]
    assert all(0 < update.mean_reward < 1 and 0 <= update.success_rate <= 1 for update in record.updates)
    assert [sum(update.uses.values()) for update in record.updates] == [32, 32, 32, 4]
    total = sum(use.total_reward for use in record.operators.values())
    assert total == pytest.approx(sum(u.mean_reward * n for u, n in zip(record.updates, (32, 32, 32, 4), strict=True)))


def test_replayed_losses_do_not_stop_a_run_that_is_taken_up_again() -> None:
    lost = 0

    def losing(text: str) -> float:
        nonlocal lost
        lost += 1
        return 1.0 if lost <= 400 else 0.0

    player = _player(100)
    asyncio.run(train(_environments(losing), [player], is_live=lambda: lost > 400))
    assert (player.record.env_steps, player.record.losses.masked_steps) == (100, 400)
