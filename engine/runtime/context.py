"""What all parts of a running batch stand on: its ledger, accounts, budget and tasks, and how they speak and fail.

Nothing in here knows the parts above it, so each of them can be read by itself: the scheduler of provider batches, the
recorder of answers, the control from outside, and `BatchRun`, which puts them together.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import RunError, TidepoolError
from tidepool.engine.events import Event, Listener, Logged
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.budget import Budget
from tidepool.engine.runtime.tasks import InFlightRequests, Tasks, UnitWindow
from tidepool.engine.trust.record import ReplySeals
from tidepool.storage.ledger import Ledger
from tidepool.storage.queries.damage import damage_in
from tidepool.storage.states import batch_number_of
from tidepool.storage.text import storable


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
        self.worker_rows: Callable[[], list[dict[str, Any]]] = list
        """the hands that live calls leave from, for watchers"""
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
        run: SharedRun | None = None,
        tasks: Tasks | None = None,
        asks: Collection[str] = (),
    ) -> None:
        """`asks`: the providers of this batch's models, of all whose accounts the run has."""
        self.asks = asks
        self.run = run or SharedRun(batch_id)
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
