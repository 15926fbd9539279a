"""The course of a study that is led from outside: it waits for orders, and every order is played through the ledger.

The learner sees the training queries alone; how good its policy is can be asked once, on the held-out ones, like that of a
learner of our own. A batch whose budget of answered steps was played is complete when it is closed; else it can go on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.run_control import RunControl
from tidepool.engine.runtime.tasks import wait_forever
from tidepool.engine.studies.mutation.config import FOREIGN
from tidepool.engine.studies.mutation.environment.encoders import Vectors
from tidepool.engine.studies.mutation.environment.environments import Environments, Outcome, endless
from tidepool.engine.studies.mutation.inputs import queries_of, settings_of
from tidepool.engine.studies.mutation.learners.policy import Actions
from tidepool.engine.studies.mutation.learners.training import Silence
from tidepool.engine.studies.mutation.queries import split_queries
from tidepool.engine.studies.mutation.record import TrainingRecord, unused
from tidepool.engine.studies.mutation.story import TRAINING, Story
from tidepool.storage.states import StopCode

Choose = Callable[[NDArray[np.float32]], Any]
"""a policy as a function: observations → an operator's number for each"""


class ForeignStory(Story):
    branching = True

    def __init__(self, run: BatchRun, orders: "asyncio.Queue[Order | None]", control: RunControl) -> None:
        settings = settings_of(run.config)
        super().__init__(run, settings)
        self._orders = orders
        self._control = control
        self._split = split_queries(queries_of(settings), settings.heldout, self._seed)
        self._record = TrainingRecord(
            update_size=settings.num_processes * settings.num_steps, operators=unused(settings.operators)
        )
        self._silence = Silence(heard=lambda: self._transport.fresh)
        self._environments = self._begun(self._seed, resets=1)
        self._opening: Vectors | None = None
        """what is seen before the first reset; then None"""
        self._compared = False

    async def run(self) -> None:
        self._book.begin(TRAINING, [FOREIGN] * self._settings.num_processes)
        self._opening = await self._environments.reset()
        self._expect(self._environments.episodes, [self._record], 0)
        while (order := await self._orders.get()) is not None:
            order.reply.set_result(await order.play(self))
        await self._close()

    def _begun(self, seed: int, steps: int = 0, episodes: int = 0, resets: int = 0) -> Environments:
        """Addresses are never used twice: what comes after a seeded reset counts on from what was before."""
        schedule = endless(self._split.training, seed)
        return Environments(
            *(self._settings.num_processes, schedule, self._transport, self._rules),
            batching=self._settings.use_batching,
            steps=steps,
            episodes=episodes,
            resets=resets,
        )

    # -- orders ------------------------------------------------------------------------------------------

    async def observation_size(self) -> int:
        return int(self._environments.observations.shape[1])

    async def reset(self, seed: int | None) -> Vectors:
        """The episodes under way are left; a seed draws the queries that come from its own stream."""
        opening, self._opening = self._opening, None
        if opening is not None and seed in (None, self._seed):
            return opening
        self._book.close_rest()
        if seed is not None:
            before = self._environments
            self._environments = self._begun(seed, before.steps, before.episodes, before.resets)
        return await self._environments.reset()

    async def step(self, actions: Sequence[int]) -> Outcome:
        outcome = await self._environments.step(actions)
        self._record.count(outcome)
        self._book.take(outcome)
        if len(self._record.updates) > self._told:
            self._write_down(self._record, {})
            self._expect(self._environments.episodes, [self._record], 0)
        self._silence.listen(outcome)
        return outcome

    async def compare(self, choose: Choose) -> None:
        self._end_training()
        if not self._compared:
            self._compared = True
            environments = self._environments
            policy = CalledPolicy(choose)
            await self._compare(policy, {}, self._split.heldout, environments.steps, environments.episodes)

    def _end_training(self) -> None:
        if not self._compared:
            self._book.close_rest()
            self._record.close_update()
            self._write_down(self._record, {})

    async def _close(self) -> None:
        played, budget = self._record.env_steps, self._settings.num_env_steps
        if played < budget:
            words = f"closed by its program after {played:,} of {budget:,} answered steps"
            self._control.stop_for(StopCode.STOPPED, words)
            await wait_forever()
        self._end_training()
        self._run.expect_units(self._book.opened)


class Order:
    """Something to play, and where what came of it goes."""

    def __init__(self, play: Callable[[ForeignStory], Awaitable[Any]]) -> None:
        self.play = play
        self.reply: Future[Any] = Future()


class CalledPolicy:
    """A foreign program's own function as a policy like ours."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose

    def choose(self, observations: NDArray[np.float32]) -> Actions:
        return cast(Actions, np.asarray(self._choose(observations), dtype=np.intp))
