"""How a running batch is steered: by signals in its own process, by control rows from anywhere else.

The same task writes the heartbeat, which is all that a watcher in another process sees of calls in flight.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidepool.engine.config.sections import as_overrides, limit_change
from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.engine.events import ProvidersRest
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.context import RunContext
from tidepool.storage import control
from tidepool.storage.locks import HEARTBEAT_SECONDS
from tidepool.storage.states import StopCode, batch_number_of, sequence_number_of

LOOK_SECONDS = 0.25
MOST_SHOWN = 2_000
"""calls in flight that a heartbeat names"""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ends before its study does."""

    code: StopCode
    words: str = ""
    """the code in words, where it says more: which signal"""
    cancel_batches: bool = False
    """provider batches are cancelled, not left"""
    fault: TidepoolError | None = None

    @property
    def reason(self) -> str:
        """As people read it."""
        return str(self.fault) if self.fault is not None else self.words or self.code.value


async def _ignored(changes: Sequence[str]) -> None:
    return None


class RunControl:
    """What the caller holds to stop a run; `on_stop` is what becomes of its provider batches."""

    def __init__(self, on_stop: str = "leave") -> None:
        self.on_stop = on_stop
        self.requested: Stop | None = None
        """the first stop that was asked for"""
        self.on_request: Callable[[], None] = lambda: None
        """called with it: no call leaves any more, however long it takes until all else is told"""
        self.on_limits: Callable[[Sequence[str]], Awaitable[None]] = _ignored
        """called with limits that were changed, as `--set` has them, so that they hold for a resume too"""
        self._event = asyncio.Event()
        self._started = time.monotonic()
        self._rested = False

    def stop(self, stop: Stop) -> None:
        if self.requested is None:
            self.requested = stop
            self._event.set()
            self.on_request()

    def stop_for(self, code: StopCode, words: str = "") -> None:
        self.stop(Stop(code, words, cancel_batches=self.on_stop == "cancel"))

    async def stopped(self) -> Stop:
        await self._event.wait()
        assert self.requested is not None
        return self.requested

    async def watch(self, leading: RunContext, playing: Callable[[], Sequence[tuple[RunContext, float]]]) -> None:
        """Beats, and takes the words left in the file, until cancelled. Words to a study are left with its first batch.

        `playing` are the batches under way, each with its seconds in earlier sessions.
        """
        ledger = leading.ledger
        last_beat = 0.0
        commands_read = set[int]()
        """commands that were read; the file says so only after the next commit"""
        while True:
            if time.monotonic() - last_beat >= HEARTBEAT_SECONDS:
                last_beat = time.monotonic()
                for context, earlier_seconds in playing():
                    self.beat(context, earlier_seconds)
            for number, command, arguments in control.commands_for(ledger.reader, ledger.batch_number):
                if number in commands_read:
                    continue
                commands_read.add(number)
                control.mark_command_read(ledger.writer, number)
                if leading.run.closing or not isinstance(arguments, dict):
                    continue
                if command == "limits":
                    if changed := change_limits(leading, arguments):
                        await self.on_limits(as_overrides(changed))
                else:
                    self._obey(leading, command, arguments)
            await asyncio.sleep(LOOK_SECONDS)

    def beat(self, context: RunContext, earlier_seconds: float) -> None:
        accounts = context.accounts
        resting = {name: rest for name, account in accounts.items() if (rest := account.resting()) is not None}
        if resting or self._rested:
            context.emit(ProvidersRest(tuple(resting.items())))
            self._rested = bool(resting)
        control.beat(
            context.ledger.writer,
            context.ledger.batch_number,
            seconds=earlier_seconds + time.monotonic() - self._started,
            peak_concurrency=sum(account.limiter.peak for account in accounts.values()),
            in_flight=[
                [sequence_number_of(unit), wave]
                for account in accounts.values()
                for (unit, _), wave in list(account.in_flight.items())[:MOST_SHOWN]
                if batch_number_of(unit) == context.ledger.batch_number
            ],
            limits={
                "providers": {name: _limits_of(account) for name, account in accounts.items()},
                "asks": sorted(context.asks),
                "budget_usd": context.budget.cap,
                "reserved_usd": context.budget.reserved,
                **({"hands": workers} if (workers := context.run.worker_rows()) else {}),
            },
        )

    def _obey(self, context: RunContext, command: str, arguments: dict[str, Any]) -> None:
        match command:
            case "stop":
                on_stop = arguments.get("on_stop", self.on_stop)
                self.stop(Stop(StopCode.STOPPED, cancel_batches=on_stop == "cancel"))
            case "pause" | "continue":
                paused = command == "pause"
                context.pause(paused)
                for number in context.run.ledgers:
                    control.set_paused(context.ledger.writer, number, paused)
                context.log("info", "Paused." if paused else "Continued.")
            case "give up":
                context.run.give_up(str(arguments.get("order")))
            case _:
                context.log("warning", f"The word {command!r} was not understood.")


def _limits_of(account: Account) -> dict[str, Any]:
    """What a watcher is shown of an account."""
    limiter, resting = account.limiter, account.resting()
    return {
        "allowed": int(limiter.allowed),
        "in_flight": limiter.in_flight,
        "max_concurrent": limiter.ceiling,
        "requests_per_minute": limiter.requests.per_minute,
        "tokens_per_minute": limiter.tokens.per_minute,
        "resting": None if resting is None else asdict(resting),
    }


def change_limits(context: RunContext, changes: dict[str, Any]) -> dict[str, Any]:
    """New limits while running, as KEY = VALUE; `providers.NAME.KEY` changes one provider's. Those that were taken."""
    changed: dict[str, Any] = {}
    for key, value in changes.items():
        try:
            name, provider, checked = limit_change(key, value)
            accounts = context.accounts
            if provider is not None:
                if provider not in accounts:
                    raise UsageError(f"the batch sends nothing to {provider}.")
                accounts = {provider: accounts[provider]}
            _change_limit(context, name, checked, accounts, whole=provider is None)
        except (TidepoolError, ValueError, TypeError) as error:
            context.log("warning", f"The limit {key} = {value} was not taken: {error}")
        else:
            context.log("info", f"Limit changed: {key} = {value}.")
            changed[key] = checked
    return changed


def _change_limit(context: RunContext, name: str, value: Any, accounts: Mapping[str, Account], *, whole: bool) -> None:
    if name == "budget_usd" and value and any(not account.knows_prices for account in accounts.values()):
        raise UsageError("a price is not known, so the budget could not be kept.")
    if name == "budget_usd" and whole:
        context.budget.change(value)
        return
    for account in accounts.values():
        account.change(name, value)
