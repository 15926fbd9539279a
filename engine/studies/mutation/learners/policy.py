"""What a learner hands over: a way to choose operators, with nothing of the learning left in it.

A trained policy is a normaliser and a few dense layers with tanh between them, computed with numpy alone: a
bandit's has one layer, PPO's has three (two hidden ones of 64). So evaluating a policy file needs no PyTorch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.studies.mutation.learners.normaliser import Normaliser

Actions = NDArray[np.intp]


class Policy(Protocol):
    def choose(self, observations: NDArray[np.float32]) -> Actions:
        """The operator, by index, for each observation."""
        ...


@dataclass(frozen=True, slots=True)
class ConstantPolicy:
    action: int

    def choose(self, observations: NDArray[np.float32]) -> Actions:
        return np.full(len(observations), self.action, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Layer:
    weights: NDArray[np.float64]
    """outputs × inputs"""
    bias: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrainedPolicy:
    normaliser: Normaliser
    layers: Sequence[Layer]

    def preferences(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        values = self.normaliser.apply(observations)
        for number, layer in enumerate(self.layers):
            values = values @ layer.weights.T + layer.bias
            if number + 1 < len(self.layers):
                values = np.tanh(values)
        return values

    def choose(self, observations: NDArray[np.float32]) -> Actions:
        best: Actions = np.argmax(self.preferences(observations), axis=1)
        return best
