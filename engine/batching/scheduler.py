"""Where calls wait together: gathered waves become orders for provider batches, and answers find their stories.

A wave leaves when no strand can go on by itself, as far as the budget and the provider's queue reach; the rest leaves
when something has been settled. Requests are not stored: a resumed story asks again under the same address and is
attached to the order that holds it. What comes back unanswered is small and goes live, or is ordered again. An answer
that comes for a call already answered another way is recorded as surplus and not used.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Coroutine
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tidepool.engine.batching.assembly import BatchAssembly
from tidepool.engine.batching.lifecycle import BatchLifecycle, Ending
from tidepool.engine.batching.provider_batch import (
    Address,
    Fate,
    ProviderBatch,
    Queue,
    address_of,
    fate_of,
    is_small,
    split,
)
from tidepool.engine.call import Reply
from tidepool.engine.core.accounts import Account
from tidepool.engine.core.budget import Budget
from tidepool.engine.errors import CallFailed, ReplayMismatch, RunError
from tidepool.engine.events import ProviderBatchChanged
from tidepool.engine.providers.protocol import BatchRefused
from tidepool.storage.provider_batches import ProviderBatchBook, Surplus

if TYPE_CHECKING:
    from tidepool.engine.core.batch_run import BatchRun
    from tidepool.engine.core.unit import Pending

STOP_SECONDS = 30.0
"""how long a stop waits for a creation in flight"""


class BatchScheduler:
    def __init__(self, run: "BatchRun") -> None:
        self._run = run
        self._book = ProviderBatchBook(run.ledger)
        self._maker = BatchAssembly(run.batch_id, self._book)
        self._clerks: dict[str, BatchLifecycle] = {}
        self._gathered: dict[str, list[Pending]] = defaultdict(list)
        self._orders: set[ProviderBatch] = set()
        self._by_address: dict[Address, ProviderBatch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._attempts: Counter[Address] = Counter()
        self._refused: set[str] = set()
        """providers whose batch API takes nothing"""
        self._most_calls: dict[str, int] = {}
        self._queues: dict[tuple[str, str], Queue] = defaultdict(Queue)

    # -- gathering ---------------------------------------------------------------------------------------

    def knows(self, number: int, step: str) -> bool:
        return (number, step) in self._by_address

    def takes(self, account: Account) -> bool:
        """Calls of this account are gathered: it has a batch API that has not refused."""
        return account.provider.batches is not None and account.name not in self._refused

    def check(self, pending: "Pending") -> None:
        """A resumed story must ask what was ordered at its address."""
        address = address_of(pending)
        order = self._by_address.get(address)
        if order is not None and order.addresses[address] != pending.key.hex():
            raise ReplayMismatch(
                f"Unit {pending.unit.number} now asks something else at {pending.call.step!r} than what was ordered "
                "there. The batch was made by another version of Tidepool or its file was changed; run it anew instead "
                "of resuming."
            )

    def gather(self, pending: "Pending") -> None:
        """Keeps a parked call until its wave leaves, or attaches it to the order that holds it already."""
        address = address_of(pending)
        order = self._by_address.get(address)
        if order is None:
            self._gathered[pending.call.provider].append(pending)
            return
        pending.reserved = min(order.held_each, order.held)
        order.held -= pending.reserved
        order.waiting[address] = pending
        if order.can_settle:
            self._start_busy(self._settle(order))

    def leave(self) -> None:
        """Called when no strand can go on by itself: everything gathered leaves, as far as it may."""
        if late := [order for order in self._orders if order.results is not None and order.waiting]:
            for order in late:
                self._start_busy(self._settle(order))
            return
        gathered, self._gathered = self._gathered, defaultdict(list)
        if not gathered and not self._orders and not self._tasks and not self._run.finished:
            self._run.fail(RunError("The study waits for something that nobody will bring: this is a bug in it."))
        for provider, pendings in gathered.items():
            clerk = self._clerk(provider)
            if clerk is None or provider in self._refused:
                self._go_live(pendings)
                continue
            by_lot = clerk.api.lot
            pendings.sort(key=lambda pending: (by_lot(pending.call), pending.call.wave))
            for lot, members in groupby(pendings, key=lambda pending: by_lot(pending.call)):
                self._leave_together(clerk, lot, list(members))

    def _leave_together(self, clerk: BatchLifecycle, lot: str, pendings: "list[Pending]") -> None:
        account = clerk.account
        if len(pendings) == 1:
            self._run.log("info", f"A wave of one call of {account.name} goes live.")
            self._go_live(pendings)
            return
        queue = self._queues[account.name, lot]
        room = queue.room_for([pending.call for pending in pendings])
        if room < 2 and not queue.waiting:
            self._run.log("warning", f"{account.name} has no room for {len(pendings)} calls in a batch: they go live.")
            self._go_live(pendings)
            return
        going = self._affordable(account, pendings[:room]) if room > 1 else []
        self._gathered[account.name].extend(pendings[len(going) :])
        most = min(account.settings.batch_size, self._most_calls.get(account.name, account.settings.batch_size))
        for part in split(going, max(most, 2), clerk.api.bounds):
            order = self._maker.new(account.name, lot, part)
            self._attempts.update(order.addresses.keys())
            self._keep(order)
            self._start(self._live_of(order, clerk))

    def _affordable(self, account: Account, pendings: "list[Pending]") -> "list[Pending]":
        """The part of a wave that the budget pays for now; it is reserved."""
        budget = account.budget
        if not budget.capped or not pendings:
            return pendings
        amounts = [account.worst_cost(pending.call, batch=True) for pending in pendings]
        count = budget.affordable(amounts)
        if not count and budget.is_exhausted(amounts[0]):
            budget.on_exhausted()
        for pending, amount in zip(pendings[:count], amounts, strict=False):
            pending.reserved = amount
        return pendings[:count]

    def _keep(self, order: ProviderBatch) -> None:
        self._orders.add(order)
        order.queued = order.tokens
        self._queues[order.provider, order.lot].waiting += order.queued
        for address in order.addresses:
            self._by_address[address] = order

    # -- an order's life ---------------------------------------------------------------------------------

    async def _live_of(self, order: ProviderBatch, clerk: BatchLifecycle) -> None:
        try:
            await clerk.place(order)
        except BatchRefused as refusal:
            self._refuse(order, refusal)
            return
        await self._see_through(order, clerk)

    async def _see_through(self, order: ProviderBatch, clerk: BatchLifecycle) -> None:
        ending = await clerk.follow(order, self._give_up_waiting)
        self._leave_queue(order)
        if ending.results is not None:
            self._collect(order, ending)
        elif ending.refusal is not None and not order.withdrawn:
            self._refuse(order, ending.refusal)
        else:
            reason = ending.lost or str(ending.refusal)
            self._run.log("warning", f"A provider batch at {order.provider} is lost ({reason}): it is ordered anew.")
            self._dissolve(order, "lost", live=False)

    def _collect(self, order: ProviderBatch, ending: Ending) -> None:
        order.results = ending.results
        self._queues[order.provider, order.lot].served()
        self._record_surplus(order)
        if order.can_settle:
            self._start_busy(self._settle(order))

    async def _settle(self, order: ProviderBatch) -> None:
        """Gives each waiting story its answer, all together. What is unanswered goes live or is ordered again."""
        assert order.results is not None
        waiting, order.waiting = order.waiting, {}
        for address in waiting:
            del order.addresses[address]
            del self._by_address[address]
        done: list[Pending] = []
        remainder: list[Pending] = []
        for pending in waiting.values():
            fate = fate_of(order.results.get(pending.key.hex()))
            (remainder if fate is Fate.OPEN else done).append(pending)
        outcomes = await asyncio.gather(*(self._record(order, pending) for pending in done))
        if not order.addresses:
            self._close(order, "collected" if order.cancelled_at is None else "cancelled")
        self._send_again(order, remainder)
        for pending, outcome in zip(done, outcomes, strict=True):
            self._release(pending, outcome)

    async def _record(self, order: ProviderBatch, pending: "Pending") -> Reply | CallFailed:
        assert order.results is not None
        result = order.results[pending.key.hex()]
        attempts = max(1, self._attempts[address_of(pending)])
        cost = result.answer.cost_usd if result.answer is not None else 0.0
        self._budget(order).settle(pending.reserved, cost or 0.0)
        if result.answer is None:
            return await self._run.record_failure(pending, result.error or "no answer", attempts, order.id)
        return await self._run.record(
            pending, result.answer, seconds=order.age, source="batch", attempts=attempts, order_id=order.id
        )

    def _send_again(self, order: ProviderBatch, remainder: "list[Pending]") -> None:
        """Missing, expired, straggling: one rule. A small rest goes live, a large one is ordered anew."""
        if not remainder:
            return
        for pending in remainder:
            self._run.ledger.tally.retried()
            self._free(pending)
        retries = self._run.accounts[order.provider].settings.retries
        hurried = order.cancelled_at is not None or is_small(len(remainder), order.ticket.count)
        live: list[Pending] = []
        again: list[Pending] = []
        for pending in remainder:
            worn = self._attempts[address_of(pending)] > retries
            (live if hurried or worn else again).append(pending)
        self._run.log(
            "warning",
            f"{len(remainder):,} of {order.ticket.count:,} calls came back unanswered from a provider batch at "
            f"{order.provider}: {len(live):,} go live, {len(again):,} are ordered again.",
        )
        self._gathered[order.provider].extend(again)
        self._go_live(live)

    def _refuse(self, order: ProviderBatch, refusal: BatchRefused) -> None:
        """`batch refused` → live calls, with the reason in the log; too large → smaller orders."""
        count, queue = order.ticket.count, self._queues[order.provider, order.lot]
        if refusal.too_large and count > 2 and order.remote_id is not None:
            queue.refused(order.tokens)
            self._run.log(
                "warning", f"{order.provider} has no room for a batch of {count:,} ({refusal}): less follows."
            )
            self._dissolve(order, "refused", live=False)
        elif refusal.too_large and count > 2:
            self._most_calls[order.provider] = count // 2
            self._run.log(
                "warning", f"{order.provider} finds a batch of {count:,} too large ({refusal}): halves follow."
            )
            self._dissolve(order, "refused", live=False)
        else:
            self._refused.add(order.provider)
            self._run.log("warning", f"{order.provider} refused a provider batch ({refusal}): {count:,} calls go live.")
            self._dissolve(order, "refused", live=True)

    def _dissolve(self, order: ProviderBatch, state: str, *, live: bool) -> None:
        """The order is no more: its calls look for another way."""
        pendings = list(order.waiting.values())
        order.waiting = {}
        self._close(order, state)
        for pending in pendings:
            self._free(pending)
        if live:
            self._go_live(pendings)
        else:
            self._gathered[order.provider].extend(pendings)

    def _close(self, order: ProviderBatch, state: str) -> None:
        self._orders.discard(order)
        self._leave_queue(order)
        for address in order.addresses:
            self._by_address.pop(address, None)
        self._budget(order).settle(order.held, 0.0)
        order.held = 0.0
        self._book.closed(order.id, state)
        self._run.emit(ProviderBatchChanged(order.id, order.provider, state, order.ticket.count, order.age))

    def _leave_queue(self, order: ProviderBatch) -> None:
        self._queues[order.provider, order.lot].waiting -= order.queued
        order.queued = 0

    def _give_up_waiting(self, order: ProviderBatch) -> None:
        """It takes too long, even to cancel: its calls go live, and what it still brings is surplus."""
        waiting, order.waiting = order.waiting, {}
        if not waiting:
            return
        self._run.log("warning", f"It still runs: its {len(waiting):,} calls go live now.")
        for address, pending in waiting.items():
            order.abandoned[address] = order.addresses.pop(address)
            del self._by_address[address]
            order.held, pending.reserved = order.held + pending.reserved, 0.0
        self._go_live(list(waiting.values()))

    def _record_surplus(self, order: ProviderBatch) -> None:
        """Answers that nobody waits for any more: paid for, recorded, not used."""
        for address, key in order.abandoned.items():
            result = (order.results or {}).get(key)
            if result is not None and (answer := result.answer) is not None:
                figures = (answer.input_tokens, answer.output_tokens, answer.cost_usd)
                self._book.surplus(Surplus(order.id, address, answer.text, *figures))
                self._budget(order).settle(0.0, answer.cost_usd or 0.0)
        order.abandoned = {}

    # -- stories -----------------------------------------------------------------------------------------

    def _go_live(self, pendings: "list[Pending]") -> None:
        """The stories buy these themselves: they count as live calls from now on."""
        for pending in pendings:
            self._run.tasks.release(pending.future, None)

    def _release(self, pending: "Pending", outcome: Reply | CallFailed) -> None:
        if isinstance(outcome, CallFailed):
            self._run.tasks.release_failed(pending.future, outcome)
        else:
            self._run.tasks.release(pending.future, outcome)

    def _free(self, pending: "Pending") -> None:
        """Gives back what was reserved for a call that comes back unanswered."""
        self._run.accounts[pending.call.provider].budget.settle(pending.reserved, 0.0)
        pending.reserved = 0.0

    # -- restarts and stops ------------------------------------------------------------------------------

    def take_up(self) -> None:
        """After a restart: the open orders of the file are followed again."""
        self._maker.take_up()
        for stored in self._book.open():
            order, clerk = self._maker.restored(stored), self._clerk(stored.provider)
            if clerk is None:
                raise RunError(
                    f"The batch has an open provider batch at {stored.provider}, whose batch API this config no longer "
                    "uses. Resume it without that change."
                )
            self._keep(order)
            if stored.state == "intended":
                self._close(order, "lost")
            elif order.addresses or order.abandoned:
                self._start(self._take_up_one(order, clerk))
            else:
                self._close(order, "collected")

    async def _take_up_one(self, order: ProviderBatch, clerk: BatchLifecycle) -> None:
        if order.remote_id is None and not await clerk.recover(order):
            self._run.log(
                "info", f"A provider batch planned at {order.provider} was never created: it is ordered anew."
            )
            self._dissolve(order, "lost", live=False)
            return
        await self._see_through(order, clerk)

    async def stop(self, *, cancel: bool) -> None:
        """Finishes a creation in flight, never waits for an order."""
        await self._end_tasks()
        for order in self._orders:
            if cancel:
                await self._clerks[order.provider].cancel(order)
            elif order.remote_id is not None:
                self._run.log("info", f"Left at {order.provider}: {order.remote_id}. A resume is attached to it.")

    async def finish(self) -> None:
        """The study is over: what orders still bring is surplus, and what they have not begun need not be paid."""
        await self._end_tasks()
        for order in list(self._orders):
            order.abandoned |= order.addresses
            if order.results is None:
                order.results = await self._clerks[order.provider].last_look(order)
            self._record_surplus(order)
            self._close(order, "cancelled")

    # -- tasks -------------------------------------------------------------------------------------------

    def _budget(self, order: ProviderBatch) -> Budget:
        return self._run.accounts[order.provider].budget

    def _clerk(self, provider: str) -> BatchLifecycle | None:
        account = self._run.accounts.get(provider)
        if account is None or (api := account.provider.batches) is None:
            return None
        if provider not in self._clerks:
            self._clerks[provider] = BatchLifecycle(self._run, account, api, self._book)
        return self._clerks[provider]

    def _start(self, life: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(life)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _start_busy(self, life: Coroutine[Any, Any, None]) -> None:
        """Answers on their way to the ledger: no wave leaves before they have come through."""
        self._run.tasks.spawn(life, self._run.tasks.ending(self._report))

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._report(task)
        self._run.consider_leaving()

    def _report(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            self._run.fail(error)

    async def _end_tasks(self) -> None:
        await asyncio.gather(*(clerk.finish_creations(STOP_SECONDS) for clerk in self._clerks.values()))
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
