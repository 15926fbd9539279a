"""What every learner is to the training loop, and where each is found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.bandit import BanditLearner
from tidepool.engine.studies.mutation.environment import Outcome
from tidepool.engine.studies.mutation.episodes import EpisodeRules
from tidepool.engine.studies.mutation.policy import Policy
from tidepool.engine.studies.mutation.random_policy import RandomLearner

LEARNERS = ("bandit", "ppo", "random")
NEEDS_EXTRA = 'learner = "ppo" needs the extra `rl`: pip install "tidepool-lab[rl]" -c constraints.txt'


class Learner(Protocol):
    heavy: bool
    """true: it computes for long enough to be given a thread"""

    def choose(self, observations: NDArray[np.float32]) -> Sequence[int | None]:
        """An operator for each environment, or None for those that shall wait."""
        ...

    def learn(self, outcome: Outcome) -> None:
        """What came of the operators chosen last; environments that were not stepped are None there."""
        ...

    def policy(self) -> Policy: ...


@dataclass(frozen=True, slots=True)
class Training:
    """The learner's settings, named as in the config."""

    learner: str = "bandit"
    num_processes: int = 16
    num_steps: int = 32
    num_env_steps: int = 10_000
    ppo_epoch: int = 4
    num_mini_batch: int = 4
    learning_rate: float = 3e-4
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    seed: int = 42


def make_learner(training: Training, rules: EpisodeRules, size: int, operators: int) -> Learner:
    """`size` is the length of an observation."""
    if training.learner == "bandit":
        return BanditLearner(size, operators, training.seed)
    if training.learner == "random":
        return RandomLearner(operators, training.seed)
    if training.learner != "ppo":
        raise UsageError(f'mutation.learner is "{training.learner}"; it is one of {", ".join(LEARNERS)}.')
    require_extra()
    from tidepool.engine.studies.mutation.ppo import PPOLearner

    return PPOLearner(training, rules, size, operators)


def require_extra() -> None:
    """Says in one line what to install, without the 2.4 seconds of loading PyTorch."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("torch", "stable_baselines3", "gymnasium")):
        raise UsageError(NEEDS_EXTRA)
