"""Learners without PyTorch: a contextual bandit, random play, and the choice of a learner by name.

The bandit is one Bayesian linear regression of the reward on the observation for each operator. It chooses operators by
Thompson sampling: it samples each operator's reward from its posterior, and plays the highest sample. It looks only one step
ahead, which suffices if a good rewriting shows at once. It stores the covariance, not the precision, and updates it by the
Sherman–Morrison rule, so a step costs one outer product. Long embeddings are first folded into `WIDEST` signed cells, because
that cost grows with the square of their length.
"""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.call import seed_of, stream
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.config import MutationSettings
from tidepool.engine.studies.mutation.environment import EpisodeRules, Outcome
from tidepool.engine.studies.mutation.policy import Actions, Layer, Normaliser, TrainedPolicy
from tidepool.engine.studies.mutation.training import Learner


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


Array = NDArray[np.float64]
WIDEST = 320
_PRIOR_VARIANCE = 1.0
_NOISE = 0.3
"""the bandit's assumed spread of a reward around its expectation: what words cannot explain counts as noise
"""


class BanditLearner:
    heavy = False

    def __init__(self, size: int, operators: int, seed: int) -> None:
        self._normaliser = Normaliser(size)
        self._folding = Folding(size)
        width = self._folding.width + 1
        self._covariance: Array = np.repeat(np.eye(width)[None] * _PRIOR_VARIANCE, operators, axis=0)
        self._weights: Array = np.zeros((operators, width))
        self._generator = np.random.default_rng(seed_of(seed, "bandit"))
        self._contexts: Array = np.zeros((0, width))
        self._played: Sequence[int] = ()

    def choose(self, observations: NDArray[np.float32]) -> Sequence[int | None]:
        self._normaliser.update(observations)
        self._contexts = self._context(observations)
        expected = self._contexts @ self._weights.T
        spread = np.sqrt(self._variances(self._contexts))
        draws = expected + spread * self._generator.standard_normal(expected.shape)
        self._played = [int(action) for action in np.argmax(draws, axis=1)]
        return self._played

    def learn(self, outcome: Outcome) -> None:
        for environment, step in enumerate(outcome.steps):
            if step is not None and step.reward is not None:
                self._update_belief(self._played[environment], self._contexts[environment], step.reward)

    def policy(self) -> TrainedPolicy:
        """The expected rewards as one layer over the whole observation; the policy is greedy."""
        weights = self._folding.unfolded(self._weights[:, :-1]) * self._scale
        return TrainedPolicy(self._normaliser, (Layer(weights, self._weights[:, -1].copy()),))

    @property
    def _scale(self) -> float:
        return float(1 / np.sqrt(len(self._normaliser.mean)))

    def _context(self, observations: NDArray[np.float32]) -> Array:
        """Normalised, folded, of length about one, and with a constant at the end."""
        folded = self._folding.folded(self._normaliser.apply(observations)) * self._scale
        return np.hstack([folded, np.ones((len(folded), 1))])

    def _variances(self, contexts: Array) -> Array:
        """Uses einsum, not a matrix product: it is as fast at this size, and independent of the number of threads of a BLAS."""
        spread = np.einsum("aij,nj->ani", self._covariance, contexts)
        variances: Array = np.maximum((spread * contexts[None]).sum(axis=2).T, 0.0)
        return variances

    def _update_belief(self, action: int, context: Array, reward: float) -> None:
        reach = np.einsum("ij,j->i", self._covariance[action], context)
        gain = reach / (_NOISE**2 + context @ reach)
        self._weights[action] += gain * (reward - self._weights[action] @ context)
        self._covariance[action] -= np.outer(gain, reach)


class Folding:
    """Sums the cells of a long vector, each with a sign, into a shorter one. A short vector stays unchanged."""

    def __init__(self, size: int, widest: int = WIDEST) -> None:
        self.width = min(size, widest)
        codes = [crc32(str(cell).encode()) for cell in range(size)] if size > widest else []
        self._cells = np.array([(code >> 1) % widest for code in codes], dtype=np.intp)
        self._signs = np.array([1.0 if code & 1 else -1.0 for code in codes])

    def folded(self, rows: Array) -> Array:
        if not len(self._cells):
            return rows
        shorter = np.zeros((self.width, len(rows)))
        np.add.at(shorter, self._cells, (rows * self._signs).T)
        return shorter.T

    def unfolded(self, weights: Array) -> Array:
        """Weights over the long vector that are equivalent to these over the folded one."""
        return weights[:, self._cells] * self._signs if len(self._cells) else weights.copy()


NEEDS_EXTRA = 'learner = "ppo" needs the extra `rl`: pip install "tidepool-lab[rl]" -c constraints.txt'


def make_learner(name: str, settings: MutationSettings, rules: EpisodeRules, size: int, seed: int) -> Learner:
    """`size` is the length of an observation."""
    operators = len(settings.operators)
    if name == "bandit":
        return BanditLearner(size, operators, seed)
    if name == "random":
        return RandomLearner(operators, seed)
    require_extra()
    from tidepool.engine.studies.mutation.ppo import PPOLearner

    return PPOLearner(settings, rules, size, operators, seed)


def require_extra() -> None:
    """Shows in one line what to install, without the 2.4 seconds of loading PyTorch."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("torch", "stable_baselines3", "gymnasium")):
        raise UsageError(NEEDS_EXTRA, ("mutation", "learner"))
