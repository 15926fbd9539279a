"""What all parts of a running batch stand on: its ledger, accounts, budget and tasks, and how they speak and fail.

Nothing in here knows the parts above it, so each of them can be read by itself: the scheduler of provider batches, the
recorder of answers, the control from outside, and `BatchRun`, which puts them together.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.core.accounts import Account
from tidepool.engine.core.budget import Budget
from tidepool.engine.core.tasks import Tasks
from tidepool.engine.errors import RunError, TidepoolError
from tidepool.engine.events import Event, Listener, Logged
from tidepool.storage.ledger import Ledger
from tidepool.storage.reading.damage import damage_in
from tidepool.storage.text import storable


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
        own: bool = True,
    ) -> None:
        self.config = config
        self.batch_id = batch_id
        self.seed = config.batch.seed
        self.ledger = ledger
        self.accounts = accounts
        self.budget = budget
        self.listener = listener
        self.own = own
        """the batch is the user's own: ids at providers that its file names may be cancelled"""
        self.tasks = Tasks()
        self.closing = False
        """no new calls leave"""
        self.paused = False
        self.finished = False
        """the study has come to its end"""
        self.give_up: Callable[[str], None] = lambda order_id: None
        """lets go of a provider batch that somebody does not want to wait for any more: the scheduler's"""
        self.fault: asyncio.Future[TidepoolError] = asyncio.get_running_loop().create_future()
        """what stops the whole run"""

    def log(self, level: str, message: str) -> None:
        message = storable(message)
        self.ledger.log(level, message)
        self.emit(Logged(level, message))

    def emit(self, event: Event) -> None:
        if self.listener is not None:
            self.listener(event)

    def fail(self, error: BaseException) -> None:
        """Stops the run for a fault that is not one call's."""
        if not self.fault.done():
            self.fault.set_result(error if isinstance(error, TidepoolError) else _unexpected(self.ledger, error))

    def pause(self, paused: bool) -> None:
        """Holds back new calls, live and gathered, or lets them go on."""
        self.paused = paused
        for account in self.accounts.values():
            account.limiter.pause(paused)
        self.tasks.tell_if_idle()


def _unexpected(ledger: Ledger, error: BaseException) -> RunError:
    wrapped = RunError(
        damage_in(Path(ledger.reader.execute("PRAGMA database_list").fetchone()["file"]))
        or f"Something unexpected went wrong: {type(error).__name__}: {error}. Run again with --debug for details."
    )
    wrapped.__cause__ = error
    return wrapped
