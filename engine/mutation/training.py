"""The training loop, the same for every learner: choose, step all environments, learn, until the budget is
used.

Only answered steps count towards the budget: a lost step is tried anew elsewhere, so a bad network costs time
and never learning.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.errors import RunError
from engine.mutation.environment import Environments, Outcome, Step
from engine.mutation.learner import Learner
from engine.mutation.operators import OPERATOR_NAMES

MOST_LOST_IN_A_ROW = 200
"""steps lost with none answered between: then the target is down, and going on does not help"""

Offload = Callable[..., Awaitable[Any]]
"""runs a function in a thread, as `asyncio.to_thread` does"""


@dataclass(frozen=True, slots=True)
class Update:
    update: int
    env_steps: int
    mean_reward: float
    success_rate: float
    """the share of episodes ended since the last update that ended well"""


@dataclass(slots=True)
class OperatorUse:
    uses: int = 0
    total_reward: float = 0.0

    @property
    def mean_reward(self) -> float:
        return self.total_reward / self.uses if self.uses else 0.0


@dataclass(slots=True)
class TrainingRecord:
    """Everything counted while training."""

    update_size: int
    env_steps: int = 0
    masked_steps: int = 0
    fallback_rewrites: int = 0
    lost_in_a_row: int = 0
    updates: list[Update] = field(default_factory=list)
    operators: dict[str, OperatorUse] = field(default_factory=lambda: {name: OperatorUse() for name in OPERATOR_NAMES})
    _rewards: list[float] = field(default_factory=list)
    _endings: list[bool] = field(default_factory=list)

    def count(self, outcome: Outcome) -> None:
        for step in outcome.steps:
            if step is not None:
                self._count_step(step)

    def _count_step(self, step: Step) -> None:
        self.fallback_rewrites += step.fell_back
        if step.reward is None:
            self.masked_steps += 1
            self.lost_in_a_row += 1
            return
        self.lost_in_a_row = 0
        self.env_steps += 1
        self.operators[step.operator].uses += 1
        self.operators[step.operator].total_reward += step.reward
        self._rewards.append(step.reward)
        if step.ended:
            self._endings.append(step.terminated)
        if len(self._rewards) == self.update_size:
            self.close_update()

    def close_update(self) -> None:
        if not self._rewards:
            return
        success = sum(self._endings) / len(self._endings) if self._endings else 0.0
        mean = sum(self._rewards) / len(self._rewards)
        self.updates.append(Update(len(self.updates) + 1, self.env_steps, mean, success))
        self._rewards, self._endings = [], []


async def _at_once(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


async def train(
    environments: Environments,
    learner: Learner,
    budget: int,
    update_size: int,
    *,
    offload: Offload = _at_once,
    on_outcome: Callable[[Outcome, TrainingRecord], None] | None = None,
) -> TrainingRecord:
    """`offload` is used for learners that compute long, so that they do not hold up an event loop."""
    compute = offload if learner.heavy else _at_once
    record = TrainingRecord(update_size)
    observations = await environments.reset()
    while record.env_steps < budget:
        actions = _within(await compute(learner.choose, observations), budget - record.env_steps)
        if not any(action is not None for action in actions):
            break
        outcome = await environments.step(actions)
        record.count(outcome)
        await compute(learner.learn, outcome)
        observations = outcome.observations
        if on_outcome is not None:
            on_outcome(outcome, record)
        _refuse_silence(record)
    record.close_update()
    return record


def _within(actions: Sequence[int | None], room: int) -> list[int | None]:
    """The first `room` actions; the other environments wait."""
    allowed: list[int | None] = []
    for action in actions:
        allowed.append(action if room > 0 else None)
        room -= action is not None
    return allowed


def _refuse_silence(record: TrainingRecord) -> None:
    if record.lost_in_a_row >= MOST_LOST_IN_A_ROW:
        raise RunError(
            f"The last {record.lost_in_a_row} steps were lost and none was answered, so there is nothing "
            "to learn from. Check the target and the judge (`tidepool log`), then resume the batch."
        )
