"""The training loop, the same for every learner: choose, step all environments, learn, until the budgets are
used.

Several players, the learner and its baselines, each have a share of the environments and a budget of their
own, and all of them step in the same waves.

Only answered steps count towards a budget: a lost step is tried anew elsewhere, so a bad network costs time
and never learning.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidepool.engine.errors import RunError
from tidepool.engine.studies.mutation.environment.environments import Environments, Outcome
from tidepool.engine.studies.mutation.learners.learner import Learner
from tidepool.engine.studies.mutation.record import TrainingRecord

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
