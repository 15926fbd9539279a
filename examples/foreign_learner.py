"""A learner of one's own in a study of query mutation: advantage actor-critic (A2C), written out in numpy.

    python examples/foreign_learner.py examples/mutation.toml --db study.db -o weights.npz

Kill it whenever you like and start it again: it repeats itself from its seed, what was answered before comes from the
file at no cost, and it ends with the same weights to the last bit. `tidepool --db study.db show last` reads its batch,
while it runs and afterwards. Needs the extra `rl`, for Gymnasium.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from tidepool import load_config, make_env

ROLLOUT = 4
"""steps of every environment between two updates"""
GAMMA, RATE, CRITIC_RATE, ENTROPY = 0.5, 10.0, 0.3, 0.1


class ActorCritic:
    """A linear policy and a linear value over the observation, which is an embedding: both learn from one advantage."""

    def __init__(self, size: int, operators: int) -> None:
        self.actor = np.zeros((size + 1, operators))
        self.critic = np.zeros(size + 1)

    def chances(self, seen: Any) -> Any:
        preferences = _with_one(seen) @ self.actor
        raised = np.exp(preferences - preferences.max(axis=-1, keepdims=True))
        return raised / raised.sum(axis=-1, keepdims=True)

    def values(self, seen: Any) -> Any:
        return _with_one(seen) @ self.critic

    def best(self, seen: Any) -> Any:
        return self.chances(seen).argmax(axis=-1)

    def learn(self, seen: Any, actions: Any, returns: Any) -> None:
        """One step along the gradient of log-chance × advantage, plus a little for staying undecided."""
        chances, features = self.chances(seen), _with_one(seen)
        advantages = returns - features @ self.critic
        scaled = advantages / (advantages.std() + 1e-6)
        chosen = np.eye(self.actor.shape[1])[actions]
        logs = np.log(chances + 1e-12)
        undecided = -chances * (logs - (chances * logs).sum(axis=1, keepdims=True))
        push = scaled[:, None] * (chosen - chances) + ENTROPY * undecided
        self.actor += RATE * features.T @ push / len(features)
        self.critic += CRITIC_RATE * features.T @ advantages / len(features)


def _with_one(seen: Any) -> Any:
    return np.concatenate([seen, np.ones((*seen.shape[:-1], 1))], axis=-1)


def train(env: Any, seed: int, steps: int) -> tuple[ActorCritic, list[float]]:
    """Until so many steps were answered; the mean reward of each rollout is the learning curve."""
    random = np.random.default_rng(seed)
    learner = ActorCritic(env.single_observation_space.shape[0], env.single_action_space.n)
    seen, _ = env.reset(seed=seed)
    curve: list[float] = []
    answered = 0
    while answered < steps:
        rollout = []
        for _ in range(ROLLOUT):
            draws = random.random((env.num_envs, 1))
            actions = (learner.chances(seen).cumsum(axis=1) < draws).sum(axis=1).clip(0, env.single_action_space.n - 1)
            after, rewards, terminated, truncated, infos = env.step(actions)
            rollout.append((seen, actions, infos["credited"], terminated | truncated, infos["masked"], rewards))
            seen = after
        learner.learn(*_lesson(learner, rollout, seen))
        counted = ~np.stack([step[4] for step in rollout])
        answered += int(counted.sum())
        curve.append(float(np.stack([step[5] for step in rollout])[counted].mean()))
    return learner, curve


def _lesson(learner: ActorCritic, rollout: list[Any], seen: Any) -> tuple[Any, Any, Any]:
    """Discounted returns, from the last step to the first. A lost step is left out: what was before it is worth what the
    critic expects there."""
    returns, worth = [], learner.values(seen)
    for before, _, credited, ended, masked, _ in reversed(rollout):
        worth = np.where(masked, learner.values(before), credited + GAMMA * np.where(ended, 0.0, worth))
        returns.append(worth)
    counted = ~np.stack([step[4] for step in rollout])
    seen_then, actions = (np.stack([step[place] for step in rollout])[counted] for place in (0, 1))
    return seen_then, actions, np.stack(returns[::-1])[counted]


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains A2C in a study of query mutation.")
    parser.add_argument("study", help="a config of the kind mutation; its learner is this program")
    parser.add_argument("--db", default="tidepool.db")
    parser.add_argument("-o", type=Path, default=Path("weights.npz"), help="where the weights and the curve go")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="overrides one config value")
    options = parser.parse_args()
    study = load_config(options.study, overrides=options.set)
    with make_env(study, database=options.db) as env:
        learner, curve = train(env, study.batch.seed, study.settings.num_env_steps)
        env.compare(learner.best)
    np.savez(options.o, actor=learner.actor, critic=learner.critic, curve=curve)
    print(f"mean reward {curve[0]:.3f} at first, {np.mean(curve[-5:]):.3f} at last: {options.o}")


if __name__ == "__main__":
    main()
