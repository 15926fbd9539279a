import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.mutation.environment import Outcome, Step
from tidepool.engine.studies.mutation.learners import BanditLearner, Folding


def _outcome(rewards: list[float | None], observations: np.ndarray) -> Outcome:
    steps = tuple(
        Step(number, 0, 0, "noop", "", "", False, "", reward, False, False) for number, reward in enumerate(rewards)
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


def test_the_same_seed_learns_the_same_policy_and_another_seed_explores_otherwise() -> None:
    one, again, other = (_taught(seed).policy().layers[0].weights for seed in (1, 1, 2))
    assert (one == again).all()
    assert not (one == other).all()


def test_masked_steps_teach_nothing() -> None:
    learner = BanditLearner(5, 3, 1)
    observations = np.ones((4, 5), dtype=np.float32)
    learner.choose(observations)
    before = learner.policy().layers[0]
    learner.learn(_outcome([None] * 4, observations))
    after = learner.policy().layers[0]
    assert (before.weights == after.weights).all() and (before.bias == after.bias).all()


def test_an_operator_that_is_always_lost_is_neither_liked_nor_disliked() -> None:
    layer = _taught(1, lost=2).policy().layers[0]
    assert not layer.weights[2].any() and layer.bias[2] == 0


def test_the_policy_repeats_what_the_bandit_expects() -> None:
    learner = _taught(1)
    observations = _seen(np.array([0, 1, 1]), np.random.default_rng(9))
    expected = learner._context(observations) @ learner._weights.T
    np.testing.assert_allclose(learner.policy().preferences(observations), expected)


@given(st.integers(1, 40), st.integers(0, 99))
def test_folded_weights_unfold_to_the_same_preferences(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    folding, rows = Folding(size, widest=8), generator.normal(size=(3, size))
    weights = generator.normal(size=(2, folding.width))
    np.testing.assert_allclose(folding.folded(rows) @ weights.T, rows @ folding.unfolded(weights).T, atol=1e-9)


def test_long_embeddings_stay_affordable() -> None:
    learner = BanditLearner(1537, 9, 1)
    assert learner._covariance.nbytes < 10_000_000
    assert learner.policy().layers[0].weights.shape == (9, 1537)
    assert len(learner.choose(np.zeros((2, 1537), dtype=np.float32))) == 2


@pytest.mark.parametrize("rounds", [0, 1])
def test_a_bandit_that_knows_little_still_has_a_policy(rounds: int) -> None:
    assert _taught(1, rounds).policy().choose(np.zeros((2, 5), dtype=np.float32)).shape == (2,)
