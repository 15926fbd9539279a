"""`tidepool.make_env`: a mutation study that a learner of one's own leads from outside.

The batch lives in a thread with its own event loop (`LedBatch`) and waits for orders, which are played through the ledger
(`ForeignStory`). The learner sees the training queries alone; how good its policy is can be asked once, on the held-out ones. A
batch whose budget of answered steps was played is complete when it is closed; else it can go on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import RunError, TidepoolError
from tidepool.engine.results.batch_summary import Summary
from tidepool.engine.run import resume_led, run_frozen
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.run_control import RunControl
from tidepool.engine.runtime.tasks import wait_forever
from tidepool.engine.studies.mutation.environment import Environments, Outcome, endless
from tidepool.engine.studies.mutation.inputs import queries_of, settings_of
from tidepool.engine.studies.mutation.operators import FOREIGN
from tidepool.engine.studies.mutation.policy import Actions
from tidepool.engine.studies.mutation.queries import split_queries
from tidepool.engine.studies.mutation.rewards import Vectors
from tidepool.engine.studies.mutation.story import TRAINING, Story
from tidepool.engine.studies.mutation.training import Silence, TrainingRecord, unused
from tidepool.storage.batches import unfinished
from tidepool.storage.file import reading
from tidepool.storage.states import StopCode

if TYPE_CHECKING:
    pass

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


class LedBatch:
    """The file's unfinished batch of this very config goes on; without one, a new batch begins."""

    def __init__(self, config: FrozenConfig, path: Path) -> None:
        self._ended: Future[Summary] = Future()
        self._begun = Event()
        Thread(target=self._live, args=(config, path), name="tidepool batch", daemon=True).start()
        self._begun.wait()

    def play(self, play: Callable[[ForeignStory], Awaitable[Any]]) -> Any:
        """What came of it. What stops the batch meanwhile is raised."""
        order = Order(play)
        self._put(order)
        wait((order.reply, self._ended), return_when=FIRST_COMPLETED)
        if order.reply.done():
            return order.reply.result()
        summary = self._ended.result()
        raise RunError(
            f"Batch {summary.batch_id} has ended ({summary.reason or summary.status}). The same program goes on with it when it is "
            "started again, and buys nothing twice."
        )

    def close(self) -> None:
        """What has gone wrong was told to whoever asked for it."""
        self._put(None)
        with suppress(TidepoolError):
            self._ended.result()

    def _put(self, order: Order | None) -> None:
        with suppress(RuntimeError):  # the loop has ended: so has the batch, and that is looked at next
            self._loop.call_soon_threadsafe(self._orders.put_nowait, order)

    def _live(self, config: FrozenConfig, path: Path) -> None:
        try:
            summary = asyncio.run(self._main(config, path))
        except BaseException as error:
            self._ended.set_exception(error)
        else:
            self._ended.set_result(summary)

    async def _main(self, config: FrozenConfig, path: Path) -> Summary:
        self._loop = asyncio.get_running_loop()
        self._orders: asyncio.Queue[Order | None] = asyncio.Queue()
        self._begun.set()
        control = RunControl()
        play = partial(_play, orders=self._orders, control=control)
        if (batch_id := _to_go_on(config, path)) is None:
            return await run_frozen(config, path, play=play, control=control)
        return await resume_led(batch_id, path, play=play, control=control)


async def _play(run: BatchRun, *, orders: "asyncio.Queue[Order | None]", control: RunControl) -> None:
    await ForeignStory(run, orders, control).run()


def _to_go_on(config: FrozenConfig, path: Path) -> str | None:
    if not path.exists():
        return None
    with reading(path) as connection:
        batch = unfinished(connection, config.to_json())
    return None if batch is None else str(batch["id"])
