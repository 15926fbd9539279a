"""How a running batch is steered: by signals in its own process, by control rows from anywhere else.

The same task writes the heartbeat, which is all that a watcher in another process sees of calls in flight.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidepool.engine.config.sections import Limits
from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.storage.batches import commands_for
from tidepool.storage.locks import HEARTBEAT_SECONDS
from tidepool.storage.writer import Statement

if TYPE_CHECKING:
    from tidepool.engine.core.accounts import Account
    from tidepool.engine.core.batch_run import BatchRun

LOOK_SECONDS = 0.25
MOST_SHOWN = 2_000
"""calls in flight that a heartbeat names"""

_BEAT = Statement(
    "UPDATE progress SET heartbeat = heartbeat + 1, heartbeat_at = ?, seconds = ?, "
    "peak_concurrency = max(peak_concurrency, ?), in_flight = ?, limits = ? WHERE batch_number = ?",
    rank=1,
)
_TAKEN = Statement("UPDATE control SET taken_at = ? WHERE id = ?", rank=1)
_PAUSED = Statement("UPDATE batch SET paused = ? WHERE number = ?", rank=1)


@dataclass(frozen=True, slots=True)
class Stop:
    reason: str
    """budget, signal SIGINT, stopped, …"""
    cancel_orders: bool = False
    fault: TidepoolError | None = None


class RunControl:
    """What the caller holds to stop a run; `on_stop` is what becomes of its provider batches."""

    def __init__(self, on_stop: str = "leave") -> None:
        self.on_stop = on_stop
        self._asked: Stop | None = None
        self._event = asyncio.Event()
        self._started = time.monotonic()

    def stop(self, stop: Stop) -> None:
        if self._asked is None:
            self._asked = stop
            self._event.set()

    def stop_for(self, reason: str) -> None:
        self.stop(Stop(reason, cancel_orders=self.on_stop == "cancel"))

    async def stopped(self) -> Stop:
        await self._event.wait()
        assert self._asked is not None
        return self._asked

    async def watch(self, run: "BatchRun", earlier_seconds: float) -> None:
        """Beats, and takes the words left in the file, until cancelled."""
        last_beat = 0.0
        while True:
            if time.monotonic() - last_beat >= HEARTBEAT_SECONDS:
                last_beat = time.monotonic()
                self.beat(run, earlier_seconds)
            for number, command, arguments in commands_for(run.ledger.reader, run.ledger.batch_number):
                run.ledger.writer.put(_TAKEN, (time.time(), number))
                if not run.closing:
                    self._obey(run, command, arguments)
            await asyncio.sleep(LOOK_SECONDS)

    def beat(self, run: "BatchRun", earlier_seconds: float) -> None:
        shown = [
            [number, wave]
            for account in run.accounts.values()
            for (number, _), wave in list(account.in_flight.items())[:MOST_SHOWN]
        ]
        limits = {
            name: {
                "allowed": int(account.limiter.allowed),
                "in_flight": account.limiter.in_flight,
                "max_concurrent": account.limiter.ceiling,
                "requests_per_minute": account.limiter.requests.per_minute,
                "tokens_per_minute": account.limiter.tokens.per_minute,
            }
            for name, account in run.accounts.items()
        }
        run.ledger.writer.put(
            _BEAT,
            (
                time.time(),
                earlier_seconds + time.monotonic() - self._started,
                sum(account.limiter.peak for account in run.accounts.values()),
                json.dumps(shown, separators=(",", ":")),
                json.dumps({"providers": limits, "budget_usd": run.budget.cap, "reserved_usd": run.budget.reserved}),
                run.ledger.batch_number,
            ),
        )

    def _obey(self, run: "BatchRun", command: str, arguments: dict[str, Any]) -> None:
        match command:
            case "stop":
                on_stop = arguments.get("on_stop", self.on_stop)
                self.stop(Stop("stopped", cancel_orders=on_stop == "cancel"))
            case "pause" | "continue":
                run.pause(command == "pause")
                run.ledger.writer.put(_PAUSED, (command == "pause", run.ledger.batch_number))
                run.log("info", "Paused." if command == "pause" else "Continued.")
            case "limits":
                change_limits(run, arguments)
            case _:
                run.log("warning", f"The word {command!r} was not understood.")


def change_limits(run: "BatchRun", changes: dict[str, Any]) -> None:
    """New limits while running, as KEY = VALUE; `providers.NAME.KEY` changes one provider's."""
    for key, value in changes.items():
        *where, name = key.removeprefix("service.").split(".")
        accounts = run.accounts
        if where[:1] == ["providers"]:
            accounts = {provider: accounts[provider] for provider in where[1:2] if provider in accounts}
        try:
            _change_limit(run, name, value, accounts, whole=not where)
        except (TidepoolError, ValueError, TypeError) as error:
            run.log("warning", f"The limit {key} = {value} was not taken: {error}")
        else:
            run.log("info", f"Limit changed: {key} = {value}.")


def _change_limit(run: "BatchRun", name: str, value: Any, accounts: "Mapping[str, Account]", *, whole: bool) -> None:
    Limits.model_validate({name: value})
    if name == "budget_usd" and value and any(not account.knows_prices for account in accounts.values()):
        raise UsageError("a price is not known, so the budget could not be kept.")
    if name == "budget_usd" and whole:
        run.budget.change(value)
        return
    for account in accounts.values():
        account.change(name, value)
