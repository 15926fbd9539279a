"""Provider batches: gathered waves become orders, and every order is bought exactly once.

An order's life, each step committed before the next:

    intended ─► created ─► collected          the addresses of its calls are on disk before the provider is asked;
        │          │                          creation is never repeated blindly: after a crash or a timeout the
        ▼          ▼                          provider's list is searched and the orphan adopted
      refused    cancelled / lost

Requests are not stored: a resumed story asks again under the same address and is attached to the order that holds
it. An answer that comes for a call already answered another way is recorded as surplus and not used. The clerk
deals with the provider; the desk knows which story waits for what.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from engine.accounts import Account
from engine.call import Reply
from engine.clerk import Clerk
from engine.errors import CallFailed, ReplayMismatch, RunError
from engine.events import OrderChanged
from engine.order import Address, Order, address_of, content_hash, custom_id, is_small, order_id, split
from engine.providers.provider import BatchApi, BatchRefused, OrderResult, OrderSlip, ProviderError
from storage.orders import OrderBook

if TYPE_CHECKING:
    from engine.tide import Pending, Tide


class OrderDesk:
    def __init__(self, tide: "Tide") -> None:
        self._tide = tide
        self._book = OrderBook(tide.ledger)
        self._clerk = Clerk(tide, self._book)
        self._gathered: dict[str, list[Pending]] = defaultdict(list)
        self._orders: set[Order] = set()
        self._by_address: dict[Address, Order] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._attempts: Counter[Address] = Counter()
        self._made: Counter[str] = Counter()
        """orders made so far, by content"""
        self._refused: set[str] = set()
        self._size_cap: dict[str, int] = {}

    # -- gathering ---------------------------------------------------------------------------------------

    def knows(self, number: int, step: str) -> bool:
        return (number, step) in self._by_address

    def takes(self, account: Account) -> bool:
        """Calls of this account are gathered: it has a batch API that has not refused."""
        return account.provider.batches is not None and account.name not in self._refused

    def check(self, pending: "Pending") -> None:
        """A resumed story must ask what was ordered at its address."""
        order = self._by_address.get(address_of(pending))
        if order is not None and order.addresses[address_of(pending)] != custom_id(pending.key):
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
        else:
            order.waiting[address] = pending
            if order.can_settle:
                self._start_busy(self._settle(order))

    def leave(self) -> None:
        """Called when no strand can go on by itself: everything gathered leaves, as far as the budget reaches."""
        if late := [order for order in self._orders if order.results is not None and order.waiting]:
            for order in late:
                self._start_busy(self._settle(order))
            return
        gathered, self._gathered = self._gathered, defaultdict(list)
        if not gathered and not self._orders and not self._tasks and not self._tide.finished:
            self._tide.fail(RunError("The study waits for something that nobody will bring: this is a bug in it."))
        for provider, pendings in gathered.items():
            pendings.sort(key=lambda pending: pending.call.wave)
            account = self._tide.accounts[provider]
            api = account.provider.batches
            if api is None or not self.takes(account):
                self._go_live(pendings)
            elif len(pendings) == 1:
                self._tide.log("info", f"A wave of one call of {provider} goes live.")
                self._go_live(pendings)
            else:
                self._order_affordable(account, api, pendings)

    def _order_affordable(self, account: Account, api: BatchApi, pendings: "list[Pending]") -> None:
        budget = account.budget
        if budget.capped:
            amounts = [account.worst_cost(pending.call, batch=True) for pending in pendings]
            count = budget.affordable(amounts)
            for pending, amount in zip(pendings[:count], amounts, strict=False):
                pending.reserved = amount
            self._gathered[account.name].extend(pendings[count:])
            if not count and budget.is_exhausted(amounts[0]):
                budget.on_exhausted()
            pendings = pendings[:count]
        batch_size = min(account.settings.batch_size, self._size_cap.get(account.name, account.settings.batch_size))
        for part in split(pendings, batch_size, api.bounds):
            self._start(self._live_of(self._new_order(account, part), account, api))

    def _new_order(self, account: Account, pendings: "list[Pending]") -> Order:
        content = content_hash(pendings)
        self._made[content] += 1
        addresses = {address_of(pending): custom_id(pending.key) for pending in pendings}
        slip = OrderSlip(
            order_id(self._tide.batch_id, content, self._made[content]),
            content,
            len(pendings),
            time.time(),
            frozenset(addresses.values()),
        )
        order = Order(
            slip,
            account.name,
            addresses,
            wave=max(pending.call.wave for pending in pendings),
            attempt=1 + max(self._attempts[address] for address in addresses),
            reserved=sum(pending.reserved for pending in pendings),
            waiting={address_of(pending): pending for pending in pendings},
        )
        self._adopt(order)
        return order

    def _adopt(self, order: Order) -> None:
        self._orders.add(order)
        for address in order.addresses:
            self._by_address[address] = order
            self._attempts[address] = order.attempt

    def _start(self, life: Coroutine[Any, Any, None]) -> None:
        """An order at its provider: whoever waits for it is parked, and counts for nothing."""
        task = asyncio.ensure_future(life)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _start_busy(self, life: Coroutine[Any, Any, None]) -> None:
        """Live calls and answers on their way to the ledger: no wave leaves before they have come through."""
        self._tide.strands.spawn(life, self._report)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._report(task)
        self._tide.consider_leaving()

    def _report(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            self._tide.fail(error)

    # -- an order's life ---------------------------------------------------------------------------------

    async def _live_of(self, order: Order, account: Account, api: BatchApi) -> None:
        try:
            await self._clerk.create(order, account, api)
        except BatchRefused as refusal:
            self._refuse(order, str(refusal))
            return
        self._changed(order, "created")
        await self._follow(order, account, api)

    async def _follow(self, order: Order, account: Account, api: BatchApi) -> None:
        def meanwhile(state: str) -> None:
            self._changed(order, state)
            self._rescue(order, account)

        try:
            state = await self._clerk.follow(order, account, api, meanwhile)
        except BatchRefused as gone:
            self._tide.log(
                "warning", f"The provider batch {order.remote_id} is gone ({gone}): its calls are ordered anew."
            )
            self._dissolve(order, "lost", live=False)
            return
        self._changed(order, state.label)
        if state.failed_reason is not None:
            self._whole_failed(order, account, state.failed_reason, state.too_large)
        elif order.can_settle:
            self._start_busy(self._settle(order))

    async def _settle(self, order: Order) -> None:
        """Gives each waiting story its answer, all together, the live remainder included."""
        assert order.results is not None
        waiting, order.waiting = order.waiting, {}
        names = {address: order.addresses.pop(address) for address in waiting}
        remainder = [pending for address, pending in waiting.items() if _is_open(order.results.get(names[address]))]
        left = set(map(address_of, remainder))
        done = [pending for address, pending in waiting.items() if address not in left]
        outcomes = await asyncio.gather(*(self._record(order, pending) for pending in done))
        for address in waiting:
            self._by_address.pop(address, None)
        self._record_surplus(order)
        if not order.addresses:
            self._close(order, "collected")
        outcomes += await self._send_remainder(order, remainder)
        for pending, outcome in outcomes:
            self._release(pending, outcome)

    async def _record(self, order: Order, pending: "Pending") -> "tuple[Pending, Reply | CallFailed]":
        assert order.results is not None
        result = order.results[custom_id(pending.key)]
        if result.answer is None:
            self._tide.accounts[order.provider].budget.settle(pending.reserved, 0.0)
            return pending, await self._tide.record_failure(
                pending, result.error or "no answer", order.attempt, order.slip.order_id
            )
        self._tide.accounts[order.provider].budget.settle(pending.reserved, result.answer.cost_usd or 0.0)
        reply = await self._tide.record(
            pending,
            result.answer,
            seconds=time.monotonic() - order.started,
            source="batch",
            attempts=order.attempt,
            order_id=order.slip.order_id,
        )
        return pending, reply

    async def _send_remainder(
        self, order: Order, remainder: "list[Pending]"
    ) -> "list[tuple[Pending, Reply | CallFailed]]":
        """Missing, expired, straggling: a small rest goes live before the order releases its stories; a large one is
        ordered anew."""
        if not remainder:
            return []
        used_up = order.attempt > self._tide.accounts[order.provider].settings.retries
        live = is_small(len(remainder), order.slip.count) or used_up
        self._tide.log(
            "warning",
            f"{len(remainder)} of {order.slip.count} calls came back unanswered from a provider batch at "
            f"{order.provider}: they {'go live' if live else 'are ordered again'}.",
        )
        for pending in remainder:
            self._tide.ledger.retried()
            self._let_go(pending)
        if live:
            return list(await asyncio.gather(*map(self._buy_live, remainder)))
        self._gathered[order.provider].extend(remainder)
        return []

    def _close(self, order: Order, state: str) -> None:
        self._orders.discard(order)
        for address in order.addresses:
            self._by_address.pop(address, None)
        self._tide.accounts[order.provider].budget.settle(order.held, 0.0)
        order.held = 0.0
        self._book.closed(order.slip.order_id, state)
        self._changed(order, state)

    def _refuse(self, order: Order, reason: str) -> None:
        """`batch refused` → live calls, with the reason in the log."""
        self._tide.log(
            "warning",
            f"{order.provider} refused a provider batch ({reason}): its {order.slip.count} calls go live.",
        )
        self._refused.add(order.provider)
        self._dissolve(order, "refused", live=True)

    def _whole_failed(self, order: Order, account: Account, reason: str, too_large: bool) -> None:
        if too_large and order.slip.count > 2:
            self._size_cap[account.name] = max(2, order.slip.count // 2)
            self._tide.log(
                "warning",
                f"{order.provider} found a provider batch too large ({reason}): smaller ones follow.",
            )
            self._dissolve(order, "refused", live=False)
        else:
            self._refuse(order, reason)

    def _dissolve(self, order: Order, state: str, *, live: bool) -> None:
        """The order is no more: its calls look for another way."""
        pendings = list(order.waiting.values())
        order.waiting = {}
        self._close(order, state)
        for pending in pendings:
            self._let_go(pending)
        if live:
            self._go_live(pendings)
        else:
            self._gathered[order.provider].extend(pendings)

    def _rescue(self, order: Order, account: Account) -> None:
        """A provider batch that outlasts `rescue_after` has its missing calls sent live; a late answer is surplus.
        What was reserved for it stays so until it ends: it may be paid for twice."""
        after = account.settings.rescue_after
        if not after or time.time() - order.slip.created_at < after or not order.waiting:
            return
        waiting, order.waiting = order.waiting, {}
        self._tide.log(
            "warning",
            f"A provider batch at {order.provider} takes longer than {after:g} s: its {len(waiting)} calls go live.",
        )
        for address, pending in waiting.items():
            order.surplus[address] = order.addresses.pop(address)
            self._by_address.pop(address, None)
            order.held += pending.reserved
            pending.reserved = 0.0
        self._go_live(list(waiting.values()))

    def _record_surplus(self, order: Order) -> None:
        """Answers that nobody waits for any more: paid for, recorded, not used."""
        assert order.results is not None
        surplus, order.surplus = order.surplus, {}
        for address, name in surplus.items():
            result = order.results.get(name)
            if result is not None and (answer := result.answer) is not None:
                self._book.surplus(
                    order.slip.order_id,
                    address,
                    answer.text,
                    answer.input_tokens,
                    answer.output_tokens,
                    answer.cost_usd,
                )
                self._tide.accounts[order.provider].budget.settle(0.0, answer.cost_usd or 0.0)

    # -- live ways out -----------------------------------------------------------------------------------

    def _go_live(self, pendings: "Sequence[Pending]") -> None:
        for pending in pendings:
            self._start_busy(self._buy_live_alone(pending))

    async def _buy_live_alone(self, pending: "Pending") -> None:
        self._release(*await self._buy_live(pending))

    async def _buy_live(self, pending: "Pending") -> "tuple[Pending, Reply | CallFailed]":
        try:
            return pending, await self._tide.buy_live(pending)
        except CallFailed as failure:
            return pending, failure

    def _release(self, pending: "Pending", outcome: Reply | CallFailed) -> None:
        if isinstance(outcome, CallFailed):
            self._tide.strands.release_failed(pending.future, outcome)
        else:
            self._tide.strands.release(pending.future, outcome)

    def _let_go(self, pending: "Pending") -> None:
        """Gives back what was reserved for a call that comes back unanswered."""
        self._tide.accounts[pending.call.provider].budget.settle(pending.reserved, 0.0)
        pending.reserved = 0.0

    # -- restarts and stops ------------------------------------------------------------------------------

    def take_up(self) -> None:
        """After a restart: the open orders of the file are followed again."""
        self._made = self._book.orders_made()
        for stored in self._book.open():
            account = self._tide.accounts.get(stored.provider)
            if account is None or account.provider.batches is None:
                raise RunError(
                    f"The batch has an open provider batch at {stored.provider}, whose batch API this config no longer "
                    "uses. Resume it without that change."
                )
            answered, elsewhere = self._book.answered(stored)
            names = dict(stored.addresses)
            slip = OrderSlip(
                stored.order_id, stored.content_hash, len(names), stored.created_at, frozenset(names.values())
            )
            order = Order(
                slip,
                stored.provider,
                {address: name for address, name in names.items() if address not in answered},
                stored.wave,
                surplus={address: names[address] for address in elsewhere},
                remote_id=stored.remote_id,
                held=stored.reservation_usd,
            )
            self._adopt(order)
            if order.addresses or order.surplus:
                self._start(self._take_up_one(order, account, account.provider.batches))
            else:
                self._close(order, "collected")

    async def _take_up_one(self, order: Order, account: Account, api: BatchApi) -> None:
        if order.remote_id is None:
            if not await self._clerk.find(order, account, api):
                self._tide.log(
                    "info",
                    f"A provider batch planned at {order.provider} was never created: its calls are ordered anew.",
                )
                self._dissolve(order, "lost", live=False)
                return
            self._tide.log("info", f"Found the provider batch {order.remote_id} at {order.provider} again.")
        await self._follow(order, account, api)

    async def stop(self, *, cancel: bool) -> None:
        """Finishes a creation in flight, never waits for an order."""
        await self._clerk.finish_submissions()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if cancel:
            for order in self._orders:
                await self._cancel(order)

    async def finish(self) -> None:
        """The study is over: whatever is still open at a provider has nobody who waits for it."""
        await self.stop(cancel=True)
        for order in list(self._orders):
            await self._collect_rest(order)
            self._close(order, "cancelled")

    async def _cancel(self, order: Order) -> None:
        api = self._tide.accounts[order.provider].provider.batches
        if api is None or order.remote_id is None:
            return
        try:
            await api.cancel(order.remote_id)
            self._tide.log("info", f"Cancelled the provider batch {order.remote_id}; what it finished is kept.")
        except (ProviderError, BatchRefused) as error:
            self._tide.log("warning", f"The provider batch {order.remote_id} could not be cancelled: {error}")

    async def _collect_rest(self, order: Order) -> None:
        """One look at what a cancelled order had finished: it was paid for."""
        api = self._tide.accounts[order.provider].provider.batches
        if api is None or order.remote_id is None:
            return
        try:
            if (await api.poll(order.remote_id)).ended:
                order.results = await self._clerk.fetch(order, api)
                self._record_surplus(order)
        except (ProviderError, BatchRefused) as error:
            self._tide.log("warning", f"What the provider batch {order.remote_id} had finished is not known: {error}")

    def _changed(self, order: Order, state: str) -> None:
        waited = time.time() - order.slip.created_at
        self._tide.emit(OrderChanged(order.slip.order_id, order.provider, state, order.slip.count, waited))


def _is_open(result: OrderResult | None) -> bool:
    """Neither answered nor failed for good: missing, expired, or an error that asking again may heal."""
    return result is None or (result.answer is None and result.heals)
