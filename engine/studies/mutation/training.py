"""The training loop for all learners: choose, step all environments, learn, until the budgets are used.

Several players, the learner and its baselines, each have a share of the environments and a budget of their own. All of them
step in the same waves.

Only answered steps count towards a budget. A lost step is repeated elsewhere, so a bad network costs time but does not affect
learning.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.errors import RunError
from tidepool.engine.studies.mutation.environment import Environments, Outcome
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.engine.studies.mutation.policy import Policy


class Learner(Protocol):
    heavy: bool
    """true: its computations are slow enough to need a thread"""

    def choose(self, observations: NDArray[np.float32]) -> Sequence[int | None]:
        """An operator for each environment, or None for those that wait."""
        ...

    def learn(self, outcome: Outcome) -> None:
        """Learns from the operators chosen last. Environments that did not step are `None`."""
        ...

    def policy(self) -> Policy: ...


@dataclass(frozen=True, slots=True)
class Update:
    update: int
    env_steps: int
    mean_reward: float
    success_rate: float
    """the share of episodes since the last update that succeeded"""
    uses: dict[str, int]
    """by operator"""


@dataclass(slots=True)
class OperatorUse:
    uses: int = 0
    total_reward: float = 0.0


@dataclass(slots=True)
class Losses:
    """Failures in any phase of a study."""

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


def no_uses(operators: Iterable[str]) -> dict[str, OperatorUse]:
    return {name: OperatorUse() for name in operators}


@dataclass(slots=True)
class TrainingRecord:
    update_size: int
    losses: Losses = field(default_factory=Losses)
    updates: list[Update] = field(default_factory=list)
    operators: dict[str, OperatorUse] = field(default_factory=lambda: no_uses(OPERATOR_NAMES))
    _rewards: list[float] = field(default_factory=list)
    _endings: list[bool] = field(default_factory=list)
    _uses: Counter[str] = field(default_factory=Counter)

    @property
    def env_steps(self) -> int:
        return self.losses.env_steps

    def count(self, outcome: Outcome) -> None:
        before = self.env_steps
        self.losses.count(outcome)
        for step in outcome.steps:
            if step is not None and step.reward is not None:
                before += 1
                self.operators[step.operator].uses += 1
                self.operators[step.operator].total_reward += step.reward
                self._uses[step.operator] += 1
                self._rewards.append(step.reward)
                if step.ended:
                    self._endings.append(step.terminated)
                if len(self._rewards) == self.update_size:
                    self._close(before)

    def close_update(self) -> None:
        """The last one, which may be short."""
        if self._rewards:
            self._close(self.env_steps)

    def _close(self, env_steps: int) -> None:
        self.updates.append(
            Update(
                update=len(self.updates) + 1,
                env_steps=env_steps,
                mean_reward=sum(self._rewards) / len(self._rewards),
                success_rate=sum(self._endings) / len(self._endings) if self._endings else 0.0,
                uses=dict(self._uses),
            )
        )
        self._rewards, self._endings, self._uses = [], [], Counter()


MOST_LOST_IN_A_ROW = 200
"""after this many lost steps without an answer the target is down, and continuing is useless"""


@dataclass(slots=True)
class Player:
    """A learner, its environments, its budget, and its results."""

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

    async def choose(self, environments: Environments) -> list[int | None]:
        """The first actions that fit the budget; the other environments wait."""
        if not self.left:
            return [None] * self.count
        seen = environments.observations[self.first : self.first + self.count].copy()
        allowed: list[int | None] = []
        remaining = self.left
        for action in await self._computed(self.learner.choose, seen):
            allowed.append(action if remaining > 0 else None)
            remaining -= action is not None
        return allowed

    async def learn(self, full_outcome: Outcome) -> None:
        outcome = full_outcome.part(self.first, self.count)
        if any(outcome.steps):
            self.record.count(outcome)
            await self._computed(self.learner.learn, outcome)

    async def _computed(self, function: Callable[..., Any], argument: Any) -> Any:
        """Runs a slow function in a thread, so that it does not block the event loop."""
        return await asyncio.to_thread(function, argument) if self.learner.heavy else function(argument)


async def train(
    environments: Environments,
    players: Sequence[Player],
    *,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
    is_live: Callable[[], bool] = lambda: True,
) -> None:
    """Trains from the current state of the environments, after their reset. If the target stops answering, the run stops. Only
    replayed steps are not `is_live`, so a run that is resumed after an outage continues."""
    lost = 0
    while any(player.left for player in players):
        outcome = await environments.step([action for one in players for action in await one.choose(environments)])
        for player in players:
            await player.learn(outcome)
        on_outcome(outcome)
        for step in filter(None, outcome.steps if is_live() else ()):
            lost = lost + 1 if step.masked else 0
        if lost >= MOST_LOST_IN_A_ROW:
            raise RunError(
                f"The last {lost} steps got no answer, so there is nothing "
                "to learn from. Check the target and the judge (`tidepool log`), then resume the batch."
            )
    for player in players:
        player.record.close_update()
