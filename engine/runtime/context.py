"""The shared parts of a running batch: counted tasks, the window of units in memory, ledger, accounts, budget and log.

A task is one line of execution of a study: its main coroutine, a unit, or a branch of a fan-out. It is busy while it computes, waits for a
provider or for a commit. It is parked while it waits for other tasks or for a wave. A parked task counts as busy again when it is released,
not when it wakes up. So the count never reaches a false zero, and no timer is needed. Two more waits are counted the same way: for a
request that another batch of the study is sending, and for the window of units in memory."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import RunError, TidepoolError
from tidepool.engine.events import Event, Listener, Logged
from tidepool.engine.registries import blame_code
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
        """called whenever no task can continue by itself"""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._plainly = self.ending(lambda task: None)

    def park(self) -> "asyncio.Future[Any]":
        """Takes the running task out of the count. Await the future, which `release` completes."""
        future = asyncio.get_running_loop().create_future()
        self.busy -= 1
        self.check_idle()
        return future

    def check_idle(self) -> None:
        """Calls `on_idle` if no task can continue by itself."""
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
        """Starts a busy task; the tasks of a group share one `ending`."""
        self.busy += 1
        task: asyncio.Task[T] = asyncio.ensure_future(story)
        self._tasks.add(task)
        task.add_done_callback(ending or self._plainly)
        return task

    def ending(self, then: "Ending") -> "Ending":
        """A callback for the end of tasks: calls `then` while the task still counts."""

        def ended(task: "asyncio.Task[Any]") -> None:
            self._tasks.discard(task)
            then(task)
            self.busy -= 1
            self.check_idle()

        return ended

    async def all(self, stories: Iterable[Awaitable[T]]) -> list[T]:
        """Like gather: runs each coroutine as a task, and raises the first error after all have ended."""
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
        """Like `all`, with at most `at_once` coroutines in progress. Each starts when a lane is free. Lanes need no
        semaphore, so no task waits uncounted."""
        shared = enumerate(stories)
        results: dict[int, T] = {}

        async def lane() -> None:
            for place, story in shared:
                results[place] = await story

        await self.all(lane() for _ in range(at_once))
        return [results[place] for place in sorted(results)]

    async def cancel(self) -> None:
        """Cancels every task when a run stops."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Latch(Generic[T]):
    """A value that is set once; tasks that wait for it are parked."""

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
    """Waits until it is cancelled, when the run is about to end."""
    await asyncio.get_running_loop().create_future()


class InFlightRequests:
    def __init__(self) -> None:
        self._waiting: dict[bytes, deque[tuple[Tasks, asyncio.Future[None]]] | None] = {}
        """waiting tasks, by the request that is being sent; None: no task waits"""

    async def turn(self, key: bytes, tasks: Tasks) -> None:
        """Returns when no other task sends this request; `done` wakes the next one."""
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
"""units in progress with live calls: ten for each call that may be in flight, so that none is idle near the end. More
would be slower, since they would leave the processor's cache between two steps, and no unit would finish before most
are nearly done"""
MOST_IN_MEMORY = 50_000
"""maximum units in progress with gathered calls, and so the largest wave"""
FREED = 10
"""waiting units continue when one part in this many is free, not one by one"""


class UnitWindow:
    """The units in memory, for all batches that share this window."""

    def __init__(self) -> None:
        self.concurrency: Callable[[], int] = lambda: 0
        """live calls that may be in flight"""
        self.gathers = False
        """calls wait for a wave, so units may wait for the calls of others"""
        self.stories = 0
        self._waiting: list[tuple[Tasks, asyncio.Future[None]]] = []

    @property
    def most(self) -> int:
        """Maximum number of units in memory."""
        if self.gathers:
            return MOST_IN_MEMORY
        at_once = self.concurrency()
        return max(NARROWEST, min(EACH * at_once, WIDEST), 2 * at_once)

    async def wait(self, tasks: Tasks) -> None:
        """Waits until one more unit may start."""
        while self.stories >= self.most:
            future: asyncio.Future[None] = tasks.park()
            self._waiting.append((tasks, future))
            await future

    def left(self) -> None:
        """Records that a unit left the memory."""
        self.stories -= 1
        if self._waiting and self.stories <= self.most - max(1, self.most // FREED):
            waiting, self._waiting = self._waiting, []
            for tasks, future in waiting:
                tasks.release(future, None)


# -- context -----------------------------------------------------------------------------------------------------------


class SharedRun:
    """The shared state of batches that run together: which tasks can continue, and what stops all of them.

    A batch that runs alone has its own; the cells of a study share one.
    """

    def __init__(self, run_id: str, *, several: bool = False) -> None:
        self.run_id = run_id
        """the study's id, or the batch's own; provider batches are named after it"""
        self.tasks = Tasks()
        self.all_tasks = {self.tasks}
        """these tasks and those of batches whose calls wait for no wave"""
        self.closing = False
        """no new calls are sent"""
        self.paused = False
        self.finished = False
        """all tasks that can wait for a wave have ended"""
        self.give_up: Callable[[str], None] = lambda order_id: None
        """gives up a provider batch; set by the scheduler"""
        self.fault: asyncio.Future[TidepoolError] = asyncio.get_running_loop().create_future()
        """the error that stops the whole run"""
        self.ledgers: dict[int, Ledger] = {}
        """of the batches, by their numbers"""
        self.in_flight_requests = InFlightRequests() if several else None
        self.seals: ReplySeals | None = None
        """for a run that executes code: which replies may run"""
        self.window = UnitWindow()
        """for units whose calls may wait for a wave"""
        self.live_window = UnitWindow()
        """for all other units"""


class RunContext:
    """One run of one batch, shared by its parts."""

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
        """`asks`: the providers of this batch's models; the run has the accounts of all batches."""
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
        """its own tasks if none of its calls waits for a wave, so that no wave of another batch waits for it"""
        self.run.all_tasks.add(self.tasks)
        self.window = self.run.window if self.tasks is self.run.tasks else self.run.live_window

    def ledger_of(self, unit_id: int) -> Ledger:
        """The ledger of the batch that the unit belongs to; this batch's own if that batch has ended."""
        return self.run.ledgers.get(batch_number_of(unit_id), self.ledger)

    def log(self, level: str, message: str) -> None:
        message = storable(message)
        self.ledger.log(level, message)
        self.emit(Logged(level, message))

    def emit(self, event: Event) -> None:
        if self.listener is not None:
            self.listener(event)

    def fail(self, error: BaseException) -> None:
        """Stops the run for an error that does not belong to one call."""
        if not self.run.fault.done():
            self.run.fault.set_result(error if isinstance(error, TidepoolError) else _unexpected(self.ledger, error))

    def fail_if_raised(self, task: "asyncio.Task[Any]") -> None:
        """Stops the run if a task that is not awaited raised an error."""
        if not task.cancelled() and (error := task.exception()):
            self.fail(error)

    def pause(self, paused: bool) -> None:
        """Pauses or continues sending new calls, live and gathered."""
        self.run.paused = paused
        for account in self.accounts.values():
            account.limiter.pause(paused)
        self.run.tasks.check_idle()


def _unexpected(ledger: Ledger, error: BaseException) -> RunError:
    wrapped = RunError(
        str(blame_code(error) or "")
        or damage_in(Path(ledger.reader.execute("PRAGMA database_list").fetchone()["file"]))
        or f"Something unexpected went wrong: {type(error).__name__}: {error}. Run again with --debug for details."
    )
    wrapped.__cause__ = error
    return wrapped
