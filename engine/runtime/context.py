"""What all parts of a running batch share: counted tasks, the window of units in memory, ledger, accounts, budget and log.

A task is one line of execution of a study: its main coroutine, a unit, a branch of a fan-out. It is busy while it computes, talks to a
provider or waits for a commit; it is parked while it waits for other tasks or for a wave to leave. A parked task counts as busy again at the
moment it is released, not when it wakes up, so the count never passes through a false zero and no timer is needed. Two things make tasks
wait that are counted the same way: a request that another batch of the study is asking already, and the window of units in memory."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import RunError, TidepoolError
from tidepool.engine.events import Event, Listener, Logged
from tidepool.engine.runtime.accounts import Account, Budget
from tidepool.engine.trust.record import ReplySeals
from tidepool.storage.ledger import Ledger
from tidepool.storage.queries.damage import damage_in
from tidepool.storage.states import batch_number_of
from tidepool.storage.text import storable

# -- tasks -------------------------------------------------------------------------------------------------------------


T = TypeVar("T")
Ending = Callable[["asyncio.Task[Any]"], None]
"""called when a task has ended"""


class Tasks:
    """The tasks of a run, counted."""

    def __init__(self) -> None:
        self.busy = 0
        self.on_idle: Callable[[], None] = lambda: None
        """called whenever no task can go on by itself"""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._plainly = self.ending(lambda task: None)

    def park(self) -> "asyncio.Future[Any]":
        """Takes the running task out of the count; await the future, which `release` completes."""
        future = asyncio.get_running_loop().create_future()
        self.busy -= 1
        self.check_idle()
        return future

    def check_idle(self) -> None:
        """Calls `on_idle` where no task can go on by itself."""
        if not self.busy:
            self.on_idle()

    def release(self, future: "asyncio.Future[Any]", outcome: object) -> None:
        """Counts a parked task as busy again and gives it its result, or the error that it raises."""
        if not future.done():
            self.busy += 1
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def spawn(self, story: Awaitable[T], ending: "Ending | None" = None) -> "asyncio.Task[T]":
        """A new busy task; those of a group share one `ending`."""
        self.busy += 1
        task: asyncio.Task[T] = asyncio.ensure_future(story)
        self._tasks.add(task)
        task.add_done_callback(ending or self._plainly)
        return task

    def ending(self, then: "Ending") -> "Ending":
        """What happens at the end of each task that is spawned with it: `then`, while the task still counts."""

        def ended(task: "asyncio.Task[Any]") -> None:
            self._tasks.discard(task)
            then(task)
            self.busy -= 1
            self.check_idle()

        return ended

    async def all(self, stories: Iterable[Awaitable[T]]) -> list[T]:
        """Like gather: all stories as tasks of their own; the first error is raised after all have ended."""
        tasks: list[asyncio.Task[T]] = []
        latch: Latch[None] = Latch(self)
        left = 1

        def one_ended(task: "asyncio.Task[T]") -> None:
            nonlocal left
            left -= 1
            if not left:
                latch.set(None)

        ending = self.ending(one_ended)
        for story in stories:
            left += 1
            tasks.append(self.spawn(story, ending))
        left -= 1
        if left:
            await latch.wait()
        errors = [error for task in tasks if (error := task.exception())]
        if errors:
            raise errors[0]
        return [task.result() for task in tasks]

    async def lanes(self, stories: Iterable[Awaitable[T]], at_once: int) -> list[T]:
        """Like `all`, with at most `at_once` stories begun and not ended: each is taken when a lane is free. Lanes
        need no semaphore, so nobody waits uncounted."""
        shared = enumerate(stories)
        results: dict[int, T] = {}

        async def lane() -> None:
            for place, story in shared:
                results[place] = await story

        await self.all(lane() for _ in range(at_once))
        return [results[place] for place in sorted(results)]

    async def cancel(self) -> None:
        """Ends every task; used when a run stops."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Latch(Generic[T]):
    """A value that comes once; tasks that wait for it are parked."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._waiting: list[asyncio.Future[T]] = []
        self._value: list[T] = []

    @property
    def is_set(self) -> bool:
        return bool(self._value)

    def set(self, value: T) -> None:
        self._value.append(value)
        for future in self._waiting:
            self._tasks.release(future, value)
        self._waiting.clear()

    async def wait(self) -> T:
        if not self._value:
            future: asyncio.Future[T] = self._tasks.park()
            self._waiting.append(future)
            return await future
        return self._value[0]


async def wait_forever() -> None:
    """Where a task waits when the run is about to end: until it is cancelled."""
    await asyncio.get_running_loop().create_future()


class InFlightRequests:
    def __init__(self) -> None:
        self._waiting: dict[bytes, deque[tuple[Tasks, asyncio.Future[None]]] | None] = {}
        """who waits, by what is asked just now; None: nobody"""

    async def turn(self, key: bytes, tasks: Tasks) -> None:
        """Returns when nobody else asks this just now; `done` gives the turn to the next."""
        if key not in self._waiting:
            self._waiting[key] = None
            return
        future: asyncio.Future[None] = tasks.park()
        queue = self._waiting[key] = self._waiting[key] or deque()
        queue.append((tasks, future))
        await future

    def done(self, key: bytes) -> None:
        queue = self._waiting.get(key)
        while queue:
            tasks, future = queue.popleft()
            if not future.done():
                tasks.release(future, None)
                return
        self._waiting.pop(key, None)


NARROWEST, EACH, WIDEST = 50, 10, 10_000
"""stories begun and not ended where calls are live: ten for each call that may be in flight, so that none is idle towards the
end. More than needed would be slower, since they leave the processor's cache between two turns; and nothing would come to
its end, to be seen, before all are near theirs."""
MOST_IN_MEMORY = 50_000
"""stories begun and not ended where calls are gathered: a wave is no larger"""
FREED = 10
"""those who wait go on when one part in so many is free: not one by one"""


class UnitWindow:
    """The stories in memory of all batches that share it."""

    def __init__(self) -> None:
        self.concurrency: Callable[[], int] = lambda: 0
        """live calls that may be in flight"""
        self.gathers = False
        """calls wait for a wave, so units may wait for the calls of others"""
        self.stories = 0
        self._waiting: list[tuple[Tasks, asyncio.Future[None]]] = []

    @property
    def most(self) -> int:
        """Stories that may be in memory."""
        if self.gathers:
            return MOST_IN_MEMORY
        at_once = self.concurrency()
        return max(NARROWEST, min(EACH * at_once, WIDEST), 2 * at_once)

    async def wait(self, tasks: Tasks) -> None:
        """Until one more story may be begun."""
        while self.stories >= self.most:
            future: asyncio.Future[None] = tasks.park()
            self._waiting.append((tasks, future))
            await future

    def left(self) -> None:
        """A story is in memory no longer."""
        self.stories -= 1
        if self._waiting and self.stories <= self.most - max(1, self.most // FREED):
            waiting, self._waiting = self._waiting, []
            for tasks, future in waiting:
                tasks.release(future, None)


# -- context -----------------------------------------------------------------------------------------------------------


class SharedRun:
    """What batches that run together have in common: who can still go on, and what stops them all.

    A batch that runs alone has one of its own; those of a study of several cells share it.
    """

    def __init__(self, run_id: str, *, several: bool = False) -> None:
        self.run_id = run_id
        """the study's id, or the batch's own: what its provider batches are named after"""
        self.tasks = Tasks()
        self.all_tasks = {self.tasks}
        """those and the ones of batches whose calls wait for no wave"""
        self.closing = False
        """no new calls leave"""
        self.paused = False
        self.finished = False
        """all that can wait for a wave has come to its end"""
        self.give_up: Callable[[str], None] = lambda order_id: None
        """lets go of a provider batch that somebody does not want to wait for any more: the scheduler's"""
        self.fault: asyncio.Future[TidepoolError] = asyncio.get_running_loop().create_future()
        """what stops the whole run"""
        self.ledgers: dict[int, Ledger] = {}
        """of the batches, by their numbers"""
        self.in_flight_requests = InFlightRequests() if several else None
        self.seals: ReplySeals | None = None
        """of a run that executes code: which replies may be run"""
        self.window = UnitWindow()
        """for the stories of those whose calls may wait for a wave"""
        self.live_window = UnitWindow()
        """for those of the others"""


class RunContext:
    """One run of one batch, as its parts share it."""

    def __init__(
        self,
        config: FrozenConfig,
        batch_id: str,
        ledger: Ledger,
        accounts: Mapping[str, Account],
        budget: Budget,
        listener: Listener | None = None,
        *,
        run: SharedRun,
        tasks: Tasks | None = None,
        asks: Collection[str] = (),
    ) -> None:
        """`asks`: the providers of this batch's models, of all whose accounts the run has."""
        self.asks = asks
        self.run = run
        self.run.ledgers[ledger.batch_number] = ledger
        self.config = config
        self.batch_id = batch_id
        self.seed = config.batch.seed
        self.ledger = ledger
        self.accounts = accounts
        self.budget = budget
        self.listener = listener
        self.tasks = tasks or self.run.tasks
        """its own ones where none of its calls waits for a wave: then no wave of another batch waits for it"""
        self.run.all_tasks.add(self.tasks)
        self.window = self.run.window if self.tasks is self.run.tasks else self.run.live_window

    def ledger_of(self, unit_id: int) -> Ledger:
        """Of the batch that the unit belongs to; the own one where that batch has ended."""
        return self.run.ledgers.get(batch_number_of(unit_id), self.ledger)

    def log(self, level: str, message: str) -> None:
        message = storable(message)
        self.ledger.log(level, message)
        self.emit(Logged(level, message))

    def emit(self, event: Event) -> None:
        if self.listener is not None:
            self.listener(event)

    def fail(self, error: BaseException) -> None:
        """Stops the run for a fault that is not one call's."""
        if not self.run.fault.done():
            self.run.fault.set_result(error if isinstance(error, TidepoolError) else _unexpected(self.ledger, error))

    def fail_if_raised(self, task: "asyncio.Task[Any]") -> None:
        """Stops the run where a task that nobody awaits raised an error."""
        if not task.cancelled() and (error := task.exception()):
            self.fail(error)

    def pause(self, paused: bool) -> None:
        """Holds back new calls, live and gathered, or lets them go on."""
        self.run.paused = paused
        for account in self.accounts.values():
            account.limiter.pause(paused)
        self.run.tasks.check_idle()


def _unexpected(ledger: Ledger, error: BaseException) -> RunError:
    wrapped = RunError(
        damage_in(Path(ledger.reader.execute("PRAGMA database_list").fetchone()["file"]))
        or f"Something unexpected went wrong: {type(error).__name__}: {error}. Run again with --debug for details."
    )
    wrapped.__cause__ = error
    return wrapped
