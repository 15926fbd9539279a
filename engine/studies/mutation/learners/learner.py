"""What every learner is to the training loop, and the settings that each is made by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.studies.mutation.environment.environments import Outcome
from tidepool.engine.studies.mutation.learners.policy import Policy


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
