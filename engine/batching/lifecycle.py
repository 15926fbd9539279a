"""The provider's side of a provider batch: created exactly once, followed until it ends, its results collected.

    intended ─► creating ─► created ─► results        each step committed before the next is taken

Creating is the only step that costs money, and it is never repeated blindly. After a crash, a timeout or a server
error the provider's list is searched, several times over a while; where the provider lets us, what was uploaded is
taken back first, so that a creation still on its way cannot succeed behind our back. Only then is it created anew.
Looking costs nothing and is repeated as long as its faults can heal.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from tidepool.engine.batching.provider_batch import KEPT_SECONDS, ProviderBatch, belongs, custom_id, parts_of
from tidepool.engine.core.accounts import Account
from tidepool.engine.core.context import RunContext
from tidepool.engine.core.tasks import for_ever
from tidepool.engine.errors import RunError
from tidepool.engine.events import ProviderBatchChanged
from tidepool.engine.providers.protocol import (
    BatchApi,
    BatchedCall,
    BatchRefused,
    CreationUnclear,
    ErrorClass,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderError,
)
from tidepool.storage.provider_batches import ProviderBatchBook, StoredProviderBatch
from tidepool.storage.states import ProviderBatchPhase

T = TypeVar("T")

LOOKS = 4
"""how often a list is searched, a poll interval apart, before a provider batch counts as never created"""
SOON = 3600.0
"""seconds after which a creation that was cut off is no longer on its way: one look more is enough"""
GONE_LOOKS = 12
"""how often in a row a provider may not know a provider batch before it counts as gone"""
FIRST_WAIT = 1.0
TICK = 5.0
"""seconds between words about how long a provider batch has been waited for"""
LAST_LOOK_SECONDS = 10.0
"""how long a finished study waits for a provider batch that nobody needs any more"""
CANCEL_SECONDS = 600.0
"""the longest that a provider batch cancelled for taking too long may take to end"""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a provider batch ended: with results, turned down as a whole, or lost."""

    results: dict[str, ProviderBatchResult] | None = None
    refusal: BatchRefused | None = None
    lost: str | None = None


class BatchLifecycle:
    """Deals with one account's batch API."""

    def __init__(self, context: RunContext, account: Account, api: BatchApi, book: ProviderBatchBook) -> None:
        self.account = account
        self.api = api
        self._context = context
        self._book = book
        self._one_at_a_time = asyncio.Lock()
        """one creation in flight per account"""
        self._creations: set[asyncio.Task[str]] = set()
        self._strangers: set[str] = set()
        """provider batches that looked like ours and were not"""

    # -- creating ----------------------------------------------------------------------------------------

    async def place(self, job: ProviderBatch) -> None:
        """From intent to creation. Raises BatchRefused."""
        async with self._one_at_a_time:
            await self._wait_where_closing()
            await self._intend(job)
            calls = [
                BatchedCall(custom_id(job.id, job.addresses[address]), pending.call, pending.seed)
                for address, pending in job.waiting.items()
            ]
            tries = self.account.settings.retries + 1
            for _ in range(tries):
                await self._upload(job, calls)
                if await self._created(job, calls):
                    return
        raise RunError(
            f"{job.provider} did not say whether it took a provider batch, {tries} times over. Nothing was lost: resume "
            "the batch later, or with --set service.name=live."
        )

    async def _intend(self, job: ProviderBatch) -> None:
        job.ticket = replace(job.ticket, created_at=time.time())
        reserved = sum(pending.reserved for pending in job.waiting.values())
        ticket = job.ticket
        self._book.intend(
            StoredProviderBatch(
                ticket.order_id,
                job.provider,
                job.group,
                list(job.addresses.items()),
                ticket.wave,
                ticket.content_hash,
                reserved,
                ticket.created_at,
            )
        )
        await self._context.ledger.writer.committed(durable=True)

    async def _upload(self, job: ProviderBatch, calls: list[BatchedCall]) -> None:
        if self.api.uploads:
            job.upload_id = await self._taken(lambda: self.api.upload(job.ticket, calls))
            job.withdrawn = False
        self._book.creating(job.id, job.upload_id)
        await self._context.ledger.writer.committed(durable=True)

    async def _created(self, job: ProviderBatch, calls: list[BatchedCall]) -> bool:
        """False: it is as good as certain that nothing was created."""
        await self._wait_where_closing()
        creation = asyncio.ensure_future(self._create(job, calls))
        self._creations.add(creation)
        creation.add_done_callback(self._creations.discard)
        try:
            job.remote_id = await asyncio.shield(creation)
        except CreationUnclear as unclear:
            self._context.log(
                "warning",
                f"Creating a provider batch at {job.provider} was cut off ({unclear}): it may exist, so its list is searched.",
            )
            if not await self._found(job):
                self._context.log("info", f"{job.provider} has no such batch.")
                return False
        self._context.log("info", f"Sent {len(calls):,} calls to {job.provider} as the provider batch {job.remote_id}.")
        self._changed(job, ProviderBatchPhase.CREATED)
        return True

    async def _create(self, job: ProviderBatch, calls: list[BatchedCall]) -> str:
        """What a stop waits for: the request, and the row that remembers its answer."""
        remote_id = await self._taken(lambda: self.api.create(job.ticket, calls, job.upload_id))
        self._book.created(job.id, remote_id, False)
        await self._context.ledger.writer.committed(durable=True)
        return remote_id

    async def _taken(self, request: Callable[[], Awaitable[T]]) -> T:
        """Repeats what was certainly not taken, as often as a call would be."""
        attempt = 0
        while True:
            try:
                return await request()
            except ProviderError as error:
                if error.fault is ErrorClass.SYSTEMIC:
                    raise RunError(str(error)) from error
                if attempt >= self.account.settings.retries:
                    raise BatchRefused(str(error)) from None
                pause = error.retry_after or self.account.provider.backoff * 2**attempt
            attempt += 1
            await asyncio.sleep(pause)

    # -- after a crash or a cut --------------------------------------------------------------------------

    async def recover(self, job: ProviderBatch) -> bool:
        """After a restart: finds the batch whose creation may have been asked for. False: it was never created."""
        async with self._one_at_a_time:
            return await self._found(job)

    async def _found(self, job: ProviderBatch) -> bool:
        """In doubt: look, make sure that nothing more can come, wait, and look again."""
        interval = self.account.settings.poll_interval
        looks, pause = (LOOKS, interval) if job.age < SOON else (2, min(interval, FIRST_WAIT))
        for look in range(looks):
            if look:
                await asyncio.sleep(pause)
            others = (self._book.remote_ids() | self._strangers) - {job.remote_id or ""}
            remote_id = await self._patiently(partial(self.api.find, job.ticket, others))
            if remote_id is not None:
                await self._adopt(job, remote_id)
                return True
            if job.upload_id and not job.withdrawn:
                await self._patiently(lambda: self.api.withdraw(job.upload_id))
                job.withdrawn = True
        return False

    async def _adopt(self, job: ProviderBatch, remote_id: str) -> None:
        job.remote_id = remote_id
        job.unsure = True
        self._book.created(job.id, remote_id, True)
        await self._context.ledger.writer.committed(durable=True)
        self._context.log("info", f"Found the provider batch {remote_id} at {job.provider} again.")

    # -- following ---------------------------------------------------------------------------------------

    async def follow(self, job: ProviderBatch, overdue: Callable[[ProviderBatch], None]) -> Ending:
        """Until the provider is done; `overdue` is called once where it takes too long and cannot be cancelled."""
        while True:
            try:
                state = await self._until_ended(job, overdue)
                if state.failed_reason is not None:
                    refusal = BatchRefused(state.failed_reason, too_large=state.too_large)
                    return Ending(refusal=refusal)
                results = await self._patiently(lambda: self.collected(job))
            except ProviderBatchGone as gone:
                return self._gone(job, str(gone))
            if not job.unsure or not results or belongs(job.ticket, results):
                return Ending(results)
            self._strangers.add(job.remote_id or "")
            self._context.log("info", f"The provider batch {job.remote_id} is somebody else's: the search goes on.")
            if not await self.recover(job):
                return Ending(lost="it was never created")

    async def _until_ended(self, job: ProviderBatch, overdue: Callable[[ProviderBatch], None]) -> ProviderBatchState:
        assert job.remote_id is not None
        remote_id, wait = job.remote_id, FIRST_WAIT
        while True:
            state = await self._patiently(lambda: self.api.poll(remote_id))
            self._changed(job, state.label)
            if state.ended:
                return state
            self._book.polled(job.id, state.label)
            await self._hurry(job, overdue)
            interval = self.account.settings.poll_interval
            await self._wait(job, state.label, min(wait, interval))
            wait = min(wait * 1.5, interval)

    async def _wait(self, job: ProviderBatch, label: str, seconds: float) -> None:
        while seconds > 0:
            await asyncio.sleep(min(seconds, TICK))
            seconds -= TICK
            if seconds > 0:
                self._changed(job, label)

    async def collected(self, job: ProviderBatch) -> dict[str, ProviderBatchResult]:
        """The results by key, in whichever order they come."""
        assert job.remote_id is not None
        results = {}
        async for result in self.api.results(job.remote_id):
            name, key = parts_of(result.custom_id)
            results[key if name == job.id else result.custom_id] = result
        return results

    async def _hurry(self, job: ProviderBatch, overdue: Callable[[ProviderBatch], None]) -> None:
        """Longer than `rescue_after`: it is cancelled, so that what it did not finish can go live and is not paid
        twice. Where even that takes too long, its calls go live all the same."""
        after = self.account.settings.rescue_after
        if not after or job.age < after:
            return
        if job.cancelled_at is None:
            job.cancelled_at = time.time()
            self._context.log(
                "warning",
                f"A provider batch at {job.provider} takes longer than {after:g} s: it is cancelled, and what it did "
                "not finish goes live.",
            )
            if not await self.cancel(job):
                job.cancelled_at = 0.0
        if time.time() - job.cancelled_at > min(CANCEL_SECONDS, max(after, 10.0)):
            overdue(job)

    async def cancel(self, job: ProviderBatch) -> bool:
        if job.remote_id is None:
            return False
        try:
            await self.api.cancel(job.remote_id)
        except ProviderError as error:
            self._context.log("warning", f"The provider batch {job.remote_id} could not be cancelled: {error}")
            return False
        self._context.log("info", f"Cancelled the provider batch {job.remote_id}; what it finished is kept.")
        return True

    async def last_look(self, job: ProviderBatch) -> dict[str, ProviderBatchResult] | None:
        """Nobody needs it any more: it is cancelled where it still runs, and what it finished is fetched."""
        if job.remote_id is None:
            return None
        try:
            async with asyncio.timeout(LAST_LOOK_SECONDS):
                if not (await self.api.poll(job.remote_id)).ended:
                    await self.cancel(job)
                if (await self.api.poll(job.remote_id)).ended:
                    return await self.collected(job)
        except (TimeoutError, ProviderError, ProviderBatchGone) as error:
            words = f"What the provider batch {job.remote_id} had finished is not known: {error}"
            self._context.log("warning", words)
        return None

    def _gone(self, job: ProviderBatch, reason: str) -> Ending:
        """Results are kept for about a month. Before that an unknown one means another account, not a loss."""
        if job.age > KEPT_SECONDS:
            return Ending(lost=f"{job.provider} keeps it no longer ({reason})")
        raise RunError(
            f"{job.provider} does not know the provider batch {job.remote_id} of this study ({reason}). Its calls are "
            "paid for, so they are not bought again. Set the key of the account that bought them, then resume."
        )

    # -- looking -----------------------------------------------------------------------------------------

    async def _patiently(self, look: Callable[[], Awaitable[T]]) -> T:
        wait, unseen, troubled = self.account.provider.backoff, 0, 0
        while True:
            try:
                return await look()
            except ProviderBatchGone:
                unseen += 1
                if unseen >= GONE_LOOKS:
                    raise
                pause = wait
            except ProviderError as error:
                if error.fault not in (ErrorClass.HEALS, ErrorClass.REFUSED):
                    raise RunError(str(error)) from error
                troubled += 1
                if troubled == GONE_LOOKS:
                    self._context.log("warning", f"Looking after provider batches does not work ({error}); trying on.")
                pause = error.retry_after or wait
            await asyncio.sleep(pause)
            wait = min(wait * 2, max(self.account.settings.poll_interval, self.account.provider.backoff))

    async def finish_creations(self, seconds: float) -> None:
        """A creation in flight is finished, and its answer remembered, before a stop."""
        if self._creations:
            done, late = await asyncio.wait(self._creations, timeout=seconds)
            for creation in late:
                creation.cancel()
            await asyncio.gather(*done, *late, return_exceptions=True)

    async def _wait_where_closing(self) -> None:
        if self._context.closing:
            await for_ever()

    def _changed(self, job: ProviderBatch, state: str) -> None:
        self._context.emit(ProviderBatchChanged(job.id, job.provider, state, job.ticket.count, job.age))
