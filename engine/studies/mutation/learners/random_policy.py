"""Operators drawn blindly: the baseline a learner has to beat."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.call import stream
from tidepool.engine.studies.mutation.environment.environments import Outcome
from tidepool.engine.studies.mutation.learners.policy import Actions


class RandomPolicy:
    def __init__(self, operators: int, seed: int) -> None:
        self._operators = operators
        self._random = stream(seed, "random policy")

    def choose(self, observations: NDArray[np.float32]) -> Actions:
        return np.array([self._random.randrange(self._operators) for _ in range(len(observations))], dtype=np.intp)


class RandomLearner:
    """Plays a training budget without learning anything."""

    heavy = False

    def __init__(self, operators: int, seed: int) -> None:
        self._operators = operators
        self._seed = seed
        self._playing = RandomPolicy(operators, seed)

    def choose(self, observations: NDArray[np.float32]) -> Sequence[int | None]:
        return [int(action) for action in self._playing.choose(observations)]

    def learn(self, outcome: Outcome) -> None:
        pass

    def policy(self) -> RandomPolicy:
        return RandomPolicy(self._operators, self._seed)
