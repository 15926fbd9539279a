"""The training loop, the same for every learner: choose, step all environments, learn, until the budgets are
used.

Several players, the learner and its baselines, each have a share of the environments and a budget of their
own, and all of them step in the same waves.

Only answered steps count towards a budget: a lost step is tried anew elsewhere, so a bad network costs time
and never learning.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.errors import RunError
from tidepool.engine.studies.mutation.environment import Environments, Outcome, Step
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.engine.studies.mutation.policy import Policy


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
class Update:
    update: int
    env_steps: int
    mean_reward: float
    success_rate: float
    """the share of episodes ended since the last update that ended well"""
    uses: dict[str, int]
    """of each operator"""


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
                self._count_answered(step, step.reward, before)

    def _count_answered(self, step: Step, reward: float, env_steps: int) -> None:
        self.operators[step.operator].uses += 1
        self.operators[step.operator].total_reward += reward
        self._uses[step.operator] += 1
        self._rewards.append(reward)
        if step.ended:
            self._endings.append(step.terminated)
        if len(self._rewards) == self.update_size:
            self._close(env_steps)

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
"""steps lost with none answered between: then the target is down, and going on does not help"""


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

    async def choose(self, environments: Environments) -> list[int | None]:
        """The first actions that the budget leaves room for; the other environments wait."""
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
        """In a thread where it takes long, so that it does not hold up the event loop."""
        return await asyncio.to_thread(function, argument) if self.learner.heavy else function(argument)


async def train(
    environments: Environments,
    players: Sequence[Player],
    *,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
    is_live: Callable[[], bool] = lambda: True,
) -> None:
    """From where the environments stand, after their reset. A target that has stopped answering stops the run; steps that are
    only replayed are not `is_live`, so a run taken up again after an outage goes on."""
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
                f"The last {lost} steps were lost and none was answered, so there is nothing "
                "to learn from. Check the target and the judge (`tidepool log`), then resume the batch."
            )
    for player in players:
        player.record.close_update()
