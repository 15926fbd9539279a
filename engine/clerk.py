"""Dealing with a provider about one order: it is created once, found again in doubt, waited for, and fetched.

Creation is never repeated blindly. It is the only thing here that costs money, so its row is committed before, its
remote id right after, and a run that stops waits for both.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from engine.accounts import Account
from engine.errors import RunError
from engine.order import Order, custom_id
from engine.providers.provider import (
    BatchApi,
    CreationUnclear,
    Fault,
    Ordered,
    OrderResult,
    OrderState,
    ProviderError,
)
from engine.strands import for_ever
from storage.orders import OrderBook, StoredOrder

if TYPE_CHECKING:
    from engine.tide import Tide

T = TypeVar("T")

LOOKS_FOR_ORPHAN = 3
"""how often a provider's list is searched before an order counts as never created"""
LONGEST_LOOK = 5.0
"""seconds between those looks, at most"""


class Clerk:
    def __init__(self, tide: "Tide", book: OrderBook) -> None:
        self._tide = tide
        self._book = book
        self._one_at_a_time: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """one creation in flight per account"""
        self._submissions: set[asyncio.Future[None]] = set()

    async def create(self, order: Order, account: Account, api: BatchApi) -> None:
        """Buys the order. Raises BatchRefused."""
        async with self._one_at_a_time[account.name]:
            await self._wait_where_closing()
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
            for _ in range(account.settings.retries + 1):
                if await self._submitted(order, account, api):
                    return
        raise RunError(
            f"{order.provider} did not say whether it took a provider batch, {account.settings.retries + 1} times over. "
            "Nothing was lost: resume the batch later, or with --set service.name=live."
        )

    async def _submitted(self, order: Order, account: Account, api: BatchApi) -> bool:
        """One try; where its answer is lost, the provider's list says whether it worked."""
        await self._wait_where_closing()
        submission = asyncio.ensure_future(self._submit(order, api))
        self._submissions.add(submission)
        submission.add_done_callback(self._submissions.discard)
        try:
            await asyncio.shield(submission)
        except CreationUnclear as unclear:
            self._tide.log(
                "warning",
                f"Creating a provider batch at {order.provider} was cut off ({unclear}); searching its list.",
            )
            if await self.find(order, account, api):
                return True
            self._tide.log("info", f"{order.provider} has no such batch: it is created now.")
            return False
        return True

    async def _submit(self, order: Order, api: BatchApi) -> None:
        calls = [Ordered(custom_id(p.key), p.call, p.seed) for p in order.waiting.values()]
        await self._keep(order, await api.create(order.slip, calls))

    async def find(self, order: Order, account: Account, api: BatchApi) -> bool:
        """Searches the provider's list for an order; in doubt it waits and looks again before giving up."""
        for look in range(LOOKS_FOR_ORPHAN):
            if look:
                await asyncio.sleep(min(account.settings.poll_interval, LONGEST_LOOK))
            if (remote_id := await self._patiently(account, lambda: api.find(order.slip))) is not None:
                await self._keep(order, remote_id)
                return True
        return False

    async def _keep(self, order: Order, remote_id: str) -> None:
        order.remote_id = remote_id
        self._book.created(order.slip.order_id, remote_id)
        await self._tide.ledger.writer.committed(durable=True)

    async def follow(
        self, order: Order, account: Account, api: BatchApi, meanwhile: Callable[[str], None]
    ) -> OrderState:
        """Polls until the provider is done, and fetches the results; `meanwhile` is told each state."""
        assert order.remote_id is not None
        remote_id = order.remote_id
        wait = min(account.settings.poll_interval, 1.0)
        while not (state := await self._patiently(account, lambda: api.poll(remote_id))).ended:
            self._book.polled(order.slip.order_id, state.label)
            meanwhile(state.label)
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, account.settings.poll_interval)
        if state.failed_reason is None:
            order.results = await self._patiently(account, lambda: self.fetch(order, api))
        return state

    async def fetch(self, order: Order, api: BatchApi) -> dict[str, OrderResult]:
        assert order.remote_id is not None
        return {result.custom_id: result async for result in api.results(order.remote_id, order.slip.count)}

    async def finish_submissions(self) -> None:
        """A creation in flight comes to its end, so that what was bought is written down."""
        await asyncio.gather(*self._submissions, return_exceptions=True)

    async def _wait_where_closing(self) -> None:
        if self._tide.closing:
            await for_ever()

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
