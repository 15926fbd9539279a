"""Learners without PyTorch: a contextual bandit, random play, and the choice of a learner by name.

The bandit is one Bayesian linear regression of the reward on the observation for each operator. Operators are tried by
Thompson sampling: each one's reward is drawn from what is believed about it, and the highest draw is played. It looks one step
ahead only, which is enough where a good rewriting shows at once. The covariance is kept, not the precision, and moved by the
Sherman–Morrison rule: a step costs one outer product. Long embeddings are first folded into `WIDEST` signed cells, because that
product grows with the square of their length.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.errors import RunError, UsageError
from tidepool.engine.streams import seed_of, stream
from tidepool.engine.studies.mutation.environment import Environments, EpisodeRules, Outcome, Step
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.engine.studies.mutation.policy import Actions, Layer, Normaliser, Policy, TrainedPolicy


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
"""the spread of a reward around its expectation, as the bandit believes it: what words cannot tell counts as
noise
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
                self._believe(self._played[environment], self._contexts[environment], step.reward)

    def policy(self) -> TrainedPolicy:
        """The expected rewards as one layer over the whole observation, and greedy from here on."""
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
        """By einsum, not by a matrix product: it is as fast at this size, and the same whatever threads a
        BLAS uses.
        """
        spread = np.einsum("aij,nj->ani", self._covariance, contexts)
        variances: Array = np.maximum((spread * contexts[None]).sum(axis=2).T, 0.0)
        return variances

    def _believe(self, action: int, context: Array, reward: float) -> None:
        reach = np.einsum("ij,j->i", self._covariance[action], context)
        gain = reach / (_NOISE**2 + context @ reach)
        self._weights[action] += gain * (reward - self._weights[action] @ context)
        self._covariance[action] -= np.outer(gain, reach)


class Folding:
    """Sums the cells of a long vector, each with its own sign, into a shorter one; a short vector stays as it
    is.
    """

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
        """Weights over the long vector that do what these do over the folded one."""
        return weights[:, self._cells] * self._signs if len(self._cells) else weights.copy()


LEARNERS = ("bandit", "ppo", "random")
NEEDS_EXTRA = 'learner = "ppo" needs the extra `rl`: pip install "tidepool-lab[rl]" -c constraints.txt'


def make_learner(training: Training, rules: EpisodeRules, size: int, operators: int) -> Learner:
    """The learner that the settings name. `size` is the length of an observation."""
    if training.learner == "bandit":
        return BanditLearner(size, operators, training.seed)
    if training.learner == "random":
        return RandomLearner(operators, training.seed)
    if training.learner != "ppo":
        told = f'mutation.learner is "{training.learner}"; it is one of {", ".join(LEARNERS)}.'
        raise UsageError(told, ("mutation", "learner"))
    require_extra()
    from tidepool.engine.studies.mutation.ppo import PPOLearner

    return PPOLearner(training, rules, size, operators)


def require_extra() -> None:
    """Says in one line what to install, without the 2.4 seconds of loading PyTorch."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("torch", "stable_baselines3", "gymnasium")):
        raise UsageError(NEEDS_EXTRA, ("mutation", "learner"))


DETAILS = ("quartiles", "uses", "error", "episodes", "ended")
"""what is told of an update beside its columns"""


@dataclass(frozen=True, slots=True)
class Update:
    update: int
    env_steps: int
    mean_reward: float
    success_rate: float
    """the share of episodes ended since the last update that ended well"""
    quartiles: tuple[float, float]
    """between which the middle half of the rewards lies"""
    uses: dict[str, int]
    """of each operator"""
    error: float | None
    """standard error of the mean reward: steps of one episode are not independent, so episodes are counted"""
    episodes: int
    ended: int
    """episodes that ended since the last update"""


def standard_error(rewards: Mapping[int, Sequence[float]]) -> float | None:
    """Of the mean over all steps, with the episodes (by their number) as clusters; None with a single one."""
    if len(rewards) < 2:
        return None
    steps = sum(map(len, rewards.values()))
    mean = sum(map(sum, rewards.values())) / steps
    squares = sum((sum(episode) - mean * len(episode)) ** 2 for episode in rewards.values())
    return math.sqrt(len(rewards) / (len(rewards) - 1) * squares) / steps


@dataclass(slots=True)
class OperatorUse:
    uses: int = 0
    total_reward: float = 0.0

    @property
    def mean_reward(self) -> float:
        return self.total_reward / self.uses if self.uses else 0.0


@dataclass(slots=True)
class Losses:
    """What did not go as asked, in any phase of a study."""

    episodes: int = 0
    env_steps: int = 0
    masked_steps: int = 0
    fallback_rewrites: int = 0

    def count(self, outcome: Outcome) -> None:
        for step in filter(None, outcome.steps):
            self.episodes += step.index == 0
            self.env_steps += not step.masked
            self.masked_steps += step.masked
            self.fallback_rewrites += step.fell_back


def unused(operators: Iterable[str]) -> dict[str, OperatorUse]:
    return {name: OperatorUse() for name in operators}


@dataclass(slots=True)
class TrainingRecord:
    update_size: int
    losses: Losses = field(default_factory=Losses)
    updates: list[Update] = field(default_factory=list)
    operators: dict[str, OperatorUse] = field(default_factory=lambda: unused(OPERATOR_NAMES))
    _rewards: list[float] = field(default_factory=list)
    _episodes: dict[int, list[float]] = field(default_factory=dict)
    _endings: list[bool] = field(default_factory=list)
    _uses: dict[str, int] = field(default_factory=dict)

    @property
    def env_steps(self) -> int:
        return self.losses.env_steps

    def count(self, outcome: Outcome) -> None:
        before = self.env_steps
        self.losses.count(outcome)
        for step in outcome.steps:
            if step is not None and step.reward is not None:
                before += 1
                self._count_answered(step, step.reward, before)

    def _count_answered(self, step: Step, reward: float, env_steps: int) -> None:
        self.operators[step.operator].uses += 1
        self.operators[step.operator].total_reward += reward
        self._uses[step.operator] = self._uses.get(step.operator, 0) + 1
        self._rewards.append(reward)
        self._episodes.setdefault(step.serial, []).append(reward)
        if step.ended:
            self._endings.append(step.terminated)
        if len(self._rewards) == self.update_size:
            self._close(env_steps)

    def close_update(self) -> None:
        """The last one, which may be short."""
        if self._rewards:
            self._close(self.env_steps)

    def _close(self, env_steps: int) -> None:
        low, high = np.quantile(self._rewards, (0.25, 0.75))
        self.updates.append(
            Update(
                update=len(self.updates) + 1,
                env_steps=env_steps,
                mean_reward=sum(self._rewards) / len(self._rewards),
                success_rate=sum(self._endings) / len(self._endings) if self._endings else 0.0,
                quartiles=(float(low), float(high)),
                uses=self._uses,
                error=standard_error(self._episodes),
                episodes=len(self._episodes),
                ended=len(self._endings),
            )
        )
        self._rewards, self._episodes, self._endings, self._uses = [], {}, [], {}


MOST_LOST_IN_A_ROW = 200
"""steps lost with none answered between: then the target is down, and going on does not help"""

Offload = Callable[..., Awaitable[Any]]
"""runs a function in a thread, as `asyncio.to_thread` does"""


async def _at_once(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


@dataclass(slots=True)
class Player:
    """A learner, its environments, its budget, and what came of it."""

    name: str
    learner: Learner
    budget: int
    first: int
    """its first environment"""
    count: int
    record: TrainingRecord

    @property
    def left(self) -> int:
        return self.budget - self.record.env_steps

    async def choose(self, environments: Environments, offload: Offload) -> list[int | None]:
        if not self.left:
            return [None] * self.count
        compute = offload if self.learner.heavy else _at_once
        seen = environments.observations[self.first : self.first + self.count].copy()
        return _within(await compute(self.learner.choose, seen), self.left)

    async def learn(self, whole: Outcome, offload: Offload) -> None:
        outcome = whole.part(self.first, self.count)
        if not any(outcome.steps):
            return
        compute = offload if self.learner.heavy else _at_once
        self.record.count(outcome)
        await compute(self.learner.learn, outcome)


@dataclass(slots=True)
class Silence:
    """Stops a run whose target has stopped answering. Steps that are only replayed are not `heard`: a run taken
    up again after an outage goes on.
    """

    heard: Callable[[], bool] = lambda: True
    lost: int = field(default=0, init=False)

    def listen(self, outcome: Outcome) -> None:
        if not self.heard():
            return
        for step in filter(None, outcome.steps):
            self.lost = self.lost + 1 if step.masked else 0
        if self.lost >= MOST_LOST_IN_A_ROW:
            raise RunError(
                f"The last {self.lost} steps were lost and none was answered, so there is nothing "
                "to learn from. Check the target and the judge (`tidepool log`), then resume the batch."
            )


async def train(
    environments: Environments,
    players: Sequence[Player],
    *,
    offload: Offload = _at_once,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
    silence: Silence | None = None,
) -> None:
    """From where the environments stand, after their reset. `offload` is used for learners that compute long, so
    that they do not hold up an event loop.
    """
    silence = silence or Silence()
    while any(player.left for player in players):
        actions = [action for player in players for action in await player.choose(environments, offload)]
        outcome = await environments.step(actions)
        for player in players:
            await player.learn(outcome, offload)
        on_outcome(outcome)
        silence.listen(outcome)
    for player in players:
        player.record.close_update()


def _within(actions: Sequence[int | None], room: int) -> list[int | None]:
    """The first `room` actions; the other environments wait."""
    allowed: list[int | None] = []
    for action in actions:
        allowed.append(action if room > 0 else None)
        room -= action is not None
    return allowed
