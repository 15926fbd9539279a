"""Provider batches: gathered waves become orders, and every order is bought exactly once.

An order's life, each step committed before the next:

    intended ─► created ─► collected          the addresses of its calls are on disk before the provider is asked;
        │          │                          creation is never repeated blindly: after a crash or a timeout the
        ▼          ▼                          provider's list is searched and the orphan adopted
      refused    cancelled / lost

Requests are not stored: a resumed story asks again under the same address and is attached to the order that holds
it. An answer that comes for a call already answered another way is recorded as surplus and not used.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from engine.accounts import Account
from engine.call import Reply
from engine.errors import CallFailed, RunError
from engine.events import OrderChanged
from engine.order import Address, Order, address_of, content_hash, custom_id, is_small, order_id, split
from engine.providers.provider import (
    BatchApi,
    BatchRefused,
    CreationUnclear,
    Fault,
    Ordered,
    OrderResult,
    OrderSlip,
    ProviderError,
)
from storage.orders import OrderBook, StoredOrder

if TYPE_CHECKING:
    from engine.tide import Pending, Tide

T = TypeVar("T")

LOOKS_FOR_ORPHAN = 3
"""how often a provider's list is searched before an order counts as never created"""


class OrderDesk:
    def __init__(self, tide: "Tide") -> None:
        self._tide = tide
        self._book = OrderBook(tide.ledger)
        self._gathered: dict[str, list[Pending]] = defaultdict(list)
        self._orders: set[Order] = set()
        self._by_address: dict[Address, Order] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._creating: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._attempts: Counter[Address] = Counter()
        self._made: Counter[str] = Counter()
        """orders made so far, by content"""
        self._refused: set[str] = set()
        self._size_cap: dict[str, int] = {}

    # -- gathering ---------------------------------------------------------------------------------------

    def knows(self, number: int, step: str) -> bool:
        return (number, step) in self._by_address

    def gather(self, pending: "Pending") -> None:
        """Keeps a parked call until its wave leaves, or attaches it to the order that holds it already."""
        address = address_of(pending)
        order = self._by_address.get(address)
        if order is None:
            self._gathered[pending.call.provider].append(pending)
        else:
            order.waiting[address] = pending
            if order.results is not None:
                self._start(self._settle(order))

    def open_orders(self) -> bool:
        return bool(self._orders)

    def leave(self) -> None:
        """Called when no strand can go on by itself: everything gathered leaves, as far as the budget reaches."""
        gathered, self._gathered = self._gathered, defaultdict(list)
        if not gathered and not self._orders and not self._tasks and not self._tide.finished:
            self._tide.fail(RunError("The study waits for something that nobody will bring: this is a bug in it."))
        for provider, pendings in gathered.items():
            pendings.sort(key=lambda pending: pending.call.wave)
            account = self._tide.accounts[provider]
            api = account.provider.batches
            if api is None or provider in self._refused:
                self._go_live(pendings)
            elif len(pendings) == 1:
                self._tide.log("info", f"A wave of one call of {provider} goes live.")
                self._go_live(pendings)
            else:
                self._order_affordable(account, api, pendings)

    def _order_affordable(self, account: Account, api: BatchApi, pendings: "list[Pending]") -> None:
        budget = self._tide.budget
        if budget.cap:
            amounts = [pending.reserved or account.worst_cost(pending.call, batch=True) for pending in pendings]
            count = budget.affordable([0.0 if p.reserved else a for p, a in zip(pendings, amounts, strict=True)])
            for pending, amount in zip(pendings[:count], amounts, strict=False):
                pending.reserved = amount
            self._gathered[account.name].extend(pendings[count:])
            if not count and budget.nothing_in_flight():
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
        task = asyncio.ensure_future(life)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._tide.fail(error)
        self._tide.consider_leaving()

    # -- an order's life ---------------------------------------------------------------------------------

    async def _live_of(self, order: Order, account: Account, api: BatchApi) -> None:
        try:
            await self._create(order, account, api)
        except BatchRefused as refusal:
            self._refuse(order, str(refusal))
            return
        await self._follow(order, account, api)

    async def _create(self, order: Order, account: Account, api: BatchApi) -> None:
        async with self._creating[account.name]:
            self._book.intend(
                StoredOrder(
                    order.slip.order_id,
                    order.provider,
                    None,
                    "intended",
                    list(order.addresses.items()),
                    order.wave,
                    order.slip.content_hash,
                    order.reserved,
                    order.slip.created_at,
                )
            )
            await self._tide.ledger.writer.committed(durable=True)
            calls = [Ordered(custom_id(p.key), p.call, p.seed) for p in order.waiting.values()]
            try:
                order.remote_id = await api.create(order.slip, calls)
            except CreationUnclear as unclear:
                self._tide.log(
                    "warning",
                    f"Creating a provider batch at {order.provider} was cut off ({unclear}); searching its list.",
                )
                order.remote_id = await self._search(order, account, api)
                if order.remote_id is None:
                    self._tide.log("info", f"{order.provider} has no such batch: it is created now.")
                    order.remote_id = await api.create(order.slip, calls)
            self._book.created(order.slip.order_id, order.remote_id)
            await self._tide.ledger.writer.committed(durable=True)
        self._changed(order, "created")

    async def _search(self, order: Order, account: Account, api: BatchApi) -> str | None:
        """In doubt, wait and list again before buying anew."""
        for look in range(LOOKS_FOR_ORPHAN):
            if look:
                await asyncio.sleep(min(account.settings.poll_interval, 5.0))
            if (remote_id := await self._patiently(account, lambda: api.find(order.slip))) is not None:
                return remote_id
        return None

    async def _follow(self, order: Order, account: Account, api: BatchApi) -> None:
        """Polls until the provider is done, then collects."""
        assert order.remote_id is not None
        remote_id = order.remote_id
        wait = min(account.settings.poll_interval, 1.0)
        while not (state := await self._patiently(account, lambda: api.poll(remote_id))).ended:
            self._book.polled(order.slip.order_id, state.label)
            self._changed(order, state.label)
            self._rescue(order, account)
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, account.settings.poll_interval)
        if state.failed_reason is not None:
            self._whole_failed(order, account, state.failed_reason, state.too_large)
            return
        order.results = await self._patiently(account, lambda: self._collect(order, api))
        self._changed(order, state.label)
        await self._settle(order)

    async def _collect(self, order: Order, api: BatchApi) -> dict[str, OrderResult]:
        assert order.remote_id is not None
        return {result.custom_id: result async for result in api.results(order.remote_id, order.slip.count)}

    async def _settle(self, order: Order) -> None:
        """Gives each waiting story its answer, all together, the live remainder included."""
        assert order.results is not None
        waiting, order.waiting = order.waiting, {}
        remainder = [
            pending for address, pending in waiting.items() if _is_open(order.results.get(order.addresses[address]))
        ]
        left = set(map(address_of, remainder))
        done = [pending for address, pending in waiting.items() if address not in left]
        outcomes = await asyncio.gather(*(self._record(order, pending) for pending in done))
        for address in waiting:
            del order.addresses[address]
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
            self._tide.budget.settle(pending.reserved, 0.0)
            return pending, await self._tide.record_failure(
                pending, result.error or "no answer", order.attempt, order.slip.order_id
            )
        self._tide.budget.settle(pending.reserved, result.answer.cost_usd or 0.0)
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
        self._tide.budget.settle(order.held, 0.0)
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
        """A provider batch that outlasts `rescue_after` has its missing calls sent live; a late answer is surplus."""
        after = account.settings.rescue_after
        if not after or order.rescued or time.time() - order.slip.created_at < after or not order.waiting:
            return
        order.rescued = True
        waiting, order.waiting = order.waiting, {}
        self._tide.log(
            "warning",
            f"A provider batch at {order.provider} takes longer than {after:g} s: its {len(waiting)} calls go live.",
        )
        for address in waiting:
            self._by_address.pop(address, None)
        self._go_live(list(waiting.values()))

    def _record_surplus(self, order: Order) -> None:
        """Answers of a rescued order that nobody waits for any more: paid for, recorded, not used."""
        if not order.rescued or order.results is None:
            return
        for address, name in list(order.addresses.items()):
            if self._by_address.get(address) is order:
                continue
            del order.addresses[address]
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
                self._tide.budget.settle(0.0, answer.cost_usd or 0.0)

    # -- live ways out -----------------------------------------------------------------------------------

    def _go_live(self, pendings: "Sequence[Pending]") -> None:
        for pending in pendings:
            self._start(self._buy_live_alone(pending))

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
        self._tide.budget.settle(pending.reserved, 0.0)
        pending.reserved = 0.0

    # -- restarts and stops ------------------------------------------------------------------------------

    def take_up(self) -> None:
        """After a restart: the open orders of the file are followed again."""
        self._made = self._book.orders_made()
        for stored in self._book.open():
            open_calls = {a: name for a, name in stored.addresses if a not in self._book.answered(stored)}
            if not open_calls:
                self._book.closed(stored.order_id, "collected")
                continue
            names = frozenset(name for _, name in stored.addresses)
            slip = OrderSlip(stored.order_id, stored.content_hash, len(names), stored.created_at, names)
            order = Order(slip, stored.provider, open_calls, stored.wave, remote_id=stored.remote_id)
            order.reserved = order.held = stored.reservation_usd
            self._adopt(order)
            self._start(self._take_up_one(order))

    async def _take_up_one(self, order: Order) -> None:
        account = self._tide.accounts.get(order.provider)
        api = account.provider.batches if account else None
        if account is None or api is None:
            raise RunError(
                f"The batch has an open provider batch at {order.provider}, which this config no longer uses."
            )
        if order.remote_id is None:
            async with self._creating[account.name]:
                order.remote_id = await self._search(order, account, api)
                if order.remote_id is None:
                    self._tide.log(
                        "info",
                        f"A provider batch planned at {order.provider} was never created: its calls are ordered anew.",
                    )
                    self._dissolve(order, "lost", live=False)
                    return
                self._tide.log("info", f"Found the provider batch {order.remote_id} at {order.provider} again.")
                self._book.created(order.slip.order_id, order.remote_id)
                await self._tide.ledger.writer.committed(durable=True)
        try:
            await self._follow(order, account, api)
        except BatchRefused as gone:
            self._tide.log(
                "warning",
                f"The provider batch {order.remote_id} is gone ({gone}): its calls are ordered anew.",
            )
            self._dissolve(order, "lost", live=False)

    async def stop(self, *, cancel: bool) -> None:
        """Finishes a creation in flight, never waits for an order."""
        for lock in list(self._creating.values()):
            async with lock:
                pass
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if cancel:
            await self._cancel_all()

    async def _cancel_all(self) -> None:
        for order in self._orders:
            api = self._tide.accounts[order.provider].provider.batches
            if api is not None and order.remote_id is not None:
                try:
                    await api.cancel(order.remote_id)
                    self._tide.log("info", f"Cancelled the provider batch {order.remote_id}; what it finished is kept.")
                except ProviderError as error:
                    self._tide.log("warning", f"The provider batch {order.remote_id} could not be cancelled: {error}")

    async def _patiently(self, account: Account, look: Callable[[], Awaitable[T]]) -> T:
        """Looking costs nothing, so looks are repeated as long as their faults can heal."""
        wait = account.provider.backoff
        while True:
            try:
                return await look()
            except ProviderError as error:
                if error.fault not in (Fault.HEALS, Fault.REFUSED):
                    raise RunError(str(error)) from error
                await asyncio.sleep(error.retry_after or wait)
                wait = min(wait * 2, account.settings.poll_interval)

    def _changed(self, order: Order, state: str) -> None:
        waited = time.time() - order.slip.created_at
        self._tide.emit(OrderChanged(order.slip.order_id, order.provider, state, order.slip.count, waited))


def _is_open(result: OrderResult | None) -> bool:
    """Neither answered nor failed for good: missing, expired, or an error that asking again may heal."""
    return result is None or (result.answer is None and result.heals)
