"""The lifecycle of a provider batch: it is created exactly once, followed until it ends, and its results are collected.

    intended ─► creating ─► created ─► results        each step is committed before the next

Only creating costs money, so it is never repeated blindly. After a crash, a timeout or a server error, the provider's list is searched
several times. If possible, the upload is deleted first, so that a creation in progress can no longer succeed. Only then is the batch
created again. If a batch API does not recover within a while, requests are sent live. If it never rejected the batch, the list is searched
once more before the run ends, and on a resume.

Nothing that was paid for is given up easily: batches with unknown states are polled further, and incomplete results are read a few times
more. Requests that are still missing are sent again.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from tidepool.engine.errors import RunError
from tidepool.engine.events import ProviderBatchChanged
from tidepool.engine.providers.protocol import (
    BatchApi,
    BatchedCall,
    BatchRefused,
    CreationUnclear,
    ErrorClass,
    NoReply,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderError,
    ResultsIncomplete,
)
from tidepool.engine.runtime.accounts import LONGEST_PAUSE, Account
from tidepool.engine.runtime.context import RunContext, wait_forever
from tidepool.engine.runtime.provider_batch import RETENTION_SECONDS, ProviderBatch, ResultCollection, custom_id
from tidepool.engine.runtime.retrying import retry
from tidepool.storage.purchases import ProviderBatchBook, StoredProviderBatch
from tidepool.storage.states import ProviderBatchPhase

T = TypeVar("T")

GONE_POLLS = 12
"""polls in a row without the provider batch after which it counts as gone"""
SEARCHES = 4
"""searches of a list, a poll interval apart, after which a provider batch counts as never created"""
SOON = 3600.0
"""seconds after which an interrupted creation is no longer in progress, so that one more search is enough"""
SHORT_WAIT = 1.0
FIRST_WAIT = 1.0
TICK = 5.0
"""seconds between progress messages about a provider batch"""
READS = 5
"""attempts to read incomplete results"""
UNCLEAR_SECONDS = 26 * 3600.0
"""a provider batch ends within a day; after this time, one with an unknown state has taken too long"""
LAST_LOOK_SECONDS = 10.0
"""how long a finished study waits for a provider batch that is no longer needed"""
GIVE_UP_SECONDS = 30.0
"""how long a batch that was given up may take to end, so that its results can be fetched"""
CANCEL_SECONDS = 600.0
"""maximum time for a provider batch to end after it was cancelled for taking too long"""
Overdue = Callable[[ProviderBatch], None]
_HEALING = (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a provider batch ended: with results, rejected as a whole, or lost."""

    results: dict[str, ProviderBatchResult] | None = None
    unread: bool = False
    """the results were only partly readable"""
    refusal: BatchRefused | None = None
    lost: str | None = None


class BatchLifecycle:
    """Uses one account's batch API."""

    def __init__(
        self,
        context: RunContext,
        account: Account,
        api: BatchApi,
        records: ProviderBatchBook,
    ) -> None:
        self.account = account
        self.api = api
        self._context = context
        self._records = records
        self._one_at_a_time = asyncio.Lock()
        """one creation in flight per account"""
        self._creations: set[asyncio.Task[str]] = set()
        self._foreign_ids: set[str] = set()
        """provider batches that looked like ours and were not"""

    # -- creating ----------------------------------------------------------------------------------------

    async def place(self, job: ProviderBatch) -> None:
        """Creates a provider batch. Raises BatchRefused."""
        async with self._one_at_a_time:
            await self._wait_where_closing()
            await self._intend(job)
            calls = [
                BatchedCall(custom_id(job.id, job.addresses[address]), pending.call, pending.seed)
                for address, pending in job.waiting.items()
            ]
            tries, since, patience = 0, time.monotonic(), self.patience or math.inf
            while tries <= self.account.settings.retries and (not tries or time.monotonic() - since < patience):
                tries += 1
                await self._upload(job, calls, since)
                if await self._created(job, calls, since):
                    self._changed(job, ProviderBatchPhase.CREATED)
                    return
        # A batch whose upload was deleted can no longer be created. Without an upload, only the list can tell.
        reason = f"it did not confirm the batch in {tries} attempts, and does not list it"
        raise BatchRefused(reason, doubtful=not job.withdrawn)

    async def _intend(self, job: ProviderBatch) -> None:
        job.ticket, job.since = replace(job.ticket, created_at=time.time()), time.monotonic()
        reserved, ticket = sum(pending.reserved for pending in job.waiting.values()), job.ticket
        calls, details = list(job.addresses.items()), (ticket.wave, ticket.content_hash, reserved, ticket.created_at)
        self._records.intend(StoredProviderBatch(ticket.order_id, job.provider, job.group, calls, *details))
        await self._context.ledger.writer.committed(durable=True)

    async def _upload(self, job: ProviderBatch, calls: list[BatchedCall], since: float) -> None:
        if self.api.uploads:
            job.upload_id = await self._retry_refused(lambda: self.api.upload(job.ticket, calls), since)
            job.withdrawn = False
        self._records.creating(job.id, job.upload_id)
        await self._context.ledger.writer.committed(durable=True)

    async def _created(self, job: ProviderBatch, calls: list[BatchedCall], since: float) -> bool:
        """False: it is practically certain that nothing was created."""
        await self._wait_where_closing()
        try:
            job.remote_id = await self._retry_refused(lambda: self._create(job, calls), since)
            job.known = True
        except CreationUnclear as unclear:
            self._context.log(
                "warning",
                f"Creating a provider batch at {job.provider} was interrupted ({unclear}). It may exist, so its list is searched.",
            )
            if not await self._searched(job):
                self._context.log("info", f"{job.provider} has no such batch.")
                return False
        self._context.log(
            "info", f"Sent {len(calls):,} requests to {job.provider} as the provider batch {job.remote_id}."
        )
        return True

    async def _create(self, job: ProviderBatch, calls: list[BatchedCall]) -> str:
        """Creates the batch. A stop waits for the request, and for the row with its response."""
        creation = asyncio.ensure_future(self._create_and_record(job, calls))
        self._creations.add(creation)
        creation.add_done_callback(self._creations.discard)
        return await asyncio.shield(creation)

    async def _create_and_record(self, job: ProviderBatch, calls: list[BatchedCall]) -> str:
        remote_id = await self.api.create(job.ticket, calls, job.upload_id)
        self._records.created(job.id, remote_id, False)
        await self._context.ledger.writer.committed(durable=True)
        return remote_id

    async def _retry_refused(self, request: Callable[[], Awaitable[T]], since: float) -> T:
        """Repeats a request that certainly had no effect, for as long as an outage is waited for, counted from `since`. Without
        `outage_patience`, repeats it as often as a request is retried."""
        attempt, patience = 0, self.patience

        def pause_after(error: ProviderError) -> float | None:
            nonlocal attempt
            if error.fault is ErrorClass.FATAL:
                return None
            left = since + patience - time.monotonic() if patience else math.inf
            asked = error.retry_after or 0.0
            pause: float | None = max(asked, min(self._growing(attempt), LONGEST_PAUSE, left))
            if left <= 0 or asked > left or (not patience and attempt >= self.account.settings.retries):
                pause = None
            self.account.batch_failed(error, since, patience or math.inf, pause or 0.0)
            attempt += 1
            return pause

        try:
            return await retry(request, (ProviderError,), pause_after)
        except ProviderError as error:
            if error.fault is ErrorClass.FATAL:
                raise RunError(str(error)) from error
            raise BatchRefused(str(error)) from None
        finally:
            self.account.batch_answered()

    def _growing(self, failures: int) -> float:
        """Seconds that double with each failure."""
        return self.account.provider.backoff * 2.0 ** min(failures, 10)

    # -- after a crash or an interruption --------------------------------------------------------------------------

    async def recover(self, job: ProviderBatch) -> bool:
        """After a restart: finds a batch whose creation may have been requested. False: it was never created."""
        async with self._one_at_a_time:
            try:
                return await self._find_again(job, math.inf)
            except ProviderError as error:
                raise RunError(str(error)) from error
            except ProviderBatchGone as gone:
                self._log_unsearchable(job, gone)
                return False

    async def _searched(self, job: ProviderBatch) -> bool:
        """Searches after an interrupted creation. If the list cannot be searched, the batch may exist."""
        try:
            return await self._find_again(job, self.patience)
        except (ProviderError, ProviderBatchGone) as error:
            self._log_unsearchable(job, error)
            raise BatchRefused(
                f"it may have created the batch, and its list cannot be searched: {error}", doubtful=True
            ) from None

    def _log_unsearchable(self, job: ProviderBatch, error: Exception) -> None:
        self._context.log("warning", f"The list of provider batches at {job.provider} cannot be searched ({error}).")

    async def _find_again(self, job: ProviderBatch, longest: float) -> bool:
        """Searches, makes sure that no creation can still succeed, waits, and searches again."""
        interval = self.account.settings.poll_interval
        attempts, pause = (SEARCHES, interval) if job.age < SOON else (2, min(interval, SHORT_WAIT))
        for attempt in range(attempts):
            if attempt:
                await asyncio.sleep(pause)
            remote_id = await self._poll_until_seen(partial(self.find_once, job), longest=longest)
            if remote_id is not None:
                job.remote_id, job.unsure = remote_id, True
                self._records.created(job.id, remote_id, True)
                await self._context.ledger.writer.committed(durable=True)
                self._context.log("info", f"Found the provider batch {remote_id} at {job.provider} again.")
                return True
            if job.upload_id and not job.withdrawn:
                await self._poll_until_seen(lambda: self.api.withdraw(job.upload_id), longest=longest)
                job.withdrawn = True
        return False

    async def find_once(self, job: ProviderBatch) -> str | None:
        """Searches the provider's list once."""
        excluded = (self._records.remote_ids() | self._foreign_ids) - {job.remote_id or ""}
        return await self.api.find(job.ticket, excluded)

    # -- stopping ----------------------------------------------------------------------------------------

    async def finish_creations(self, seconds: float) -> None:
        """Before a stop: finishes a creation in flight and stores its response."""
        if self._creations:
            done, late = await asyncio.wait(self._creations, timeout=seconds)
            for creation in late:
                creation.cancel()
            await asyncio.gather(*done, *late, return_exceptions=True)

    async def _wait_where_closing(self) -> None:
        if self._context.run.closing:
            await wait_forever()

    # -- polling -----------------------------------------------------------------------------------------

    @property
    def patience(self) -> float:
        """Seconds to wait for a provider that answers only with errors."""
        return self.account.settings.outage_patience

    async def _poll_until_seen(
        self,
        request: Callable[[], Awaitable[T]],
        *,
        longest: float = math.inf,
        meanwhile: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """Polls until the provider answers. Raises ProviderBatchGone if the batch is missing for long, and ProviderError if
        an error is permanent, or if the provider answered only with errors for `longest`. A provider that does not answer at
        all may still have the batch, so that has no time limit."""
        unseen, troubled, since = 0, 0, time.monotonic()

        def pause_after(error: Exception) -> float | None:
            nonlocal unseen, troubled, since
            if isinstance(error, ProviderBatchGone):
                unseen += 1
                slowest = max(self.account.settings.poll_interval, self.account.provider.backoff)
                return min(self._growing(unseen - 1), slowest) if unseen < GONE_POLLS else None
            if not isinstance(error, ProviderError) or error.fault not in _HEALING:
                return None
            unanswered = error.no_reply in (NoReply.UNREACHABLE, NoReply.TIMEOUT)
            since = time.monotonic() if unanswered else since
            troubled += 1
            left = since + longest - time.monotonic()
            if left <= 0 and (longest or troubled >= GONE_POLLS):
                return None
            pause = self._growing(troubled - 1) if error.retry_after is None else error.retry_after
            pause = min(pause, max(self.account.settings.poll_interval, LONGEST_PAUSE))
            pause = min(pause, left) if left > 0 else pause
            self.account.batch_failed(error, since, math.inf if unanswered else longest, pause)
            return pause

        async def look() -> T:
            if meanwhile is not None and (unseen or troubled):
                await meanwhile()
            return await request()

        try:
            return await retry(look, (ProviderError, ProviderBatchGone), pause_after)
        finally:
            self.account.batch_answered()

    # -- following ---------------------------------------------------------------------------------------

    async def follow(self, job: ProviderBatch, overdue: Overdue) -> Ending:
        """Follows the batch until the provider is done. Calls `overdue` once if it takes too long and cannot be cancelled."""
        while True:
            try:
                state = await self._until_ended(job, overdue)
            except ProviderBatchGone as gone:
                return self._ending_of_unknown(job, str(gone))
            if state.failed_reason is not None:
                return Ending(refusal=BatchRefused(state.failed_reason, too_large=state.too_large))
            collection = await self._collected(job)
            if not job.unsure or not collection.is_foreign:
                return Ending(collection.by_key, collection.unread or collection.has_strayed)
            self._foreign_ids.add(job.remote_id or "")
            self._context.log(
                "info", f"The provider batch {job.remote_id} belongs to another study. The search continues."
            )
            if not await self.recover(job):
                return Ending(lost="it was never created")

    async def _until_ended(self, job: ProviderBatch, overdue: Overdue) -> ProviderBatchState:
        assert job.remote_id is not None
        remote_id, wait, unclear = job.remote_id, FIRST_WAIT, 0
        while True:
            try:
                state = await self._poll_until_seen(
                    lambda: self.api.poll(remote_id), meanwhile=lambda: self._hurry(job, overdue)
                )
            except ProviderError as error:
                raise RunError(str(error)) from error
            job.known = True
            self._changed(job, state.label)
            self._records.polled(job.id, state.label)
            if state.ended:
                return state
            unclear = unclear + 1 if state.unclear else 0
            if unclear == GONE_POLLS:
                self._context.log(
                    "warning",
                    f"{job.provider} reports an unknown state of the provider batch {remote_id} ({state.label!r}). It is "
                    f"polled further. To give it up, run `tidepool orders {self._context.run.run_id} --give-up {remote_id}`.",
                )
            await self._hurry(job, overdue, UNCLEAR_SECONDS if unclear >= GONE_POLLS else 0.0)
            interval = self.account.settings.poll_interval
            await self._wait(job, state.label, min(wait, interval))
            wait = min(wait * 1.5, interval)

    async def _wait(self, job: ProviderBatch, label: str, seconds: float) -> None:
        while seconds > 0:
            await asyncio.sleep(min(seconds, TICK))
            seconds -= TICK
            if seconds > 0:
                self._changed(job, label)

    async def _hurry(self, job: ProviderBatch, overdue: Overdue, longest: float = 0.0) -> None:
        """Cancels a batch that takes longer than `rescue_after`, so that its open requests can be sent live without paying
        twice. If even cancelling takes too long, they are sent live anyway."""
        after = self.account.settings.rescue_after or longest
        if not after or job.age < after:
            return
        if job.cancelled_at is None:
            job.cancelled_at = time.monotonic()
            self._context.log(
                "warning",
                f"A provider batch at {job.provider} takes longer than {after:g} s. It is cancelled, and its open "
                "requests are sent live.",
            )
            if not await self.cancel(job):
                job.cancelled_at = -math.inf
        if time.monotonic() - job.cancelled_at > min(CANCEL_SECONDS, max(after, 10.0)):
            overdue(job)

    def _ending_of_unknown(self, job: ProviderBatch, reason: str) -> Ending:
        """Providers keep results for about a month. If a younger batch was never seen by this run, the account is another one,
        and the batch is not lost."""
        if job.known:
            return Ending(lost=f"{job.provider} no longer knows it ({reason})")
        if job.age > RETENTION_SECONDS:
            return Ending(lost=f"{job.provider} no longer keeps it ({reason})")
        raise RunError(
            f"{job.provider} does not know the provider batch {job.remote_id} of this study ({reason}). Its requests are "
            "paid for, so they are not bought again. Set the key of the account that bought them, then resume. Or buy "
            f"them again: `tidepool orders {self._context.run.run_id} --give-up {job.remote_id}`."
        )

    # -- collecting --------------------------------------------------------------------------------------

    async def _collected(self, job: ProviderBatch) -> ResultCollection:
        """All readable results. The number of attempts is limited, since a broken file stays broken."""
        collection, reads = ResultCollection(job.ticket), 0

        def pause_after(error: Exception) -> float | None:
            nonlocal reads
            reads += 1
            enough = collection.is_whole or (collection.is_foreign and job.unsure)
            return None if enough or reads == READS else self._growing(reads - 1)

        try:
            read = partial(self._read_where_reached, job, collection)
            again = (ResultsIncomplete, ProviderBatchGone)
            await retry(lambda: self._poll_until_seen(read, longest=self.patience), again, pause_after)
        except (ResultsIncomplete, ProviderBatchGone, ProviderError) as error:
            if not collection.is_whole and not (collection.is_foreign and job.unsure):
                collection.unread = True
                self._context.log(
                    "warning",
                    f"The results of the provider batch {job.remote_id} at {job.provider} are incomplete ({error}): "
                    f"{len(collection.by_key):,} of {job.ticket.count:,} requests have one.",
                )
        if collection.foreign and not collection.is_foreign:
            words = f"{collection.foreign:,} results of the provider batch {job.remote_id} belong to none of its requests. They are ignored."
            self._context.log("warning", words)
        return collection

    async def _read_where_reached(self, job: ProviderBatch, found: ResultCollection) -> None:
        """Reads results. If the provider shows the batch but interrupts its results, it is not down, so the wait is limited."""
        assert job.remote_id is not None
        try:
            await self._read(job, found)
        except ProviderError as error:
            if error.no_reply is None:
                raise
            await self.api.poll(job.remote_id)
            raise ProviderError(error.fault, str(error)) from None

    async def _read(self, job: ProviderBatch, found: ResultCollection) -> None:
        assert job.remote_id is not None
        found.foreign = 0
        async for result in self.api.results(job.remote_id):
            found.add(result)

    # -- ending ------------------------------------------------------------------------------------------

    async def cancel(self, job: ProviderBatch) -> bool:
        if job.remote_id is None:
            return False
        try:
            await self.api.cancel(job.remote_id)
        except ProviderError as error:
            self._context.log("warning", f"The provider batch {job.remote_id} could not be cancelled: {error}")
            return False
        self._context.log("info", f"Cancelled the provider batch {job.remote_id}. Its finished results are kept.")
        return True

    async def wind_up(self, job: ProviderBatch, patience: float = 0.0) -> dict[str, ProviderBatchResult] | None:
        """Ends a batch that is no longer waited for: cancels it if it still runs, gives it `patience` to end, and fetches its
        results. None: it did not end, or never existed."""
        collection = ResultCollection(job.ticket)
        try:
            async with asyncio.timeout(LAST_LOOK_SECONDS + patience):
                if job.remote_id is None:  # the list does not prove whose batch it is, so it is read and not cancelled
                    job.known = True  # until a search shows that it does not exist
                    job.remote_id = await self.find_once(job)
                    job.known = job.remote_id is not None
                    ended = job.remote_id is not None and (await self.api.poll(job.remote_id)).ended
                else:
                    ended = await self._ends(job, job.remote_id, patience)
                if not ended:
                    return None
                await self._read(job, collection)
        except (TimeoutError, ProviderError, ProviderBatchGone, ResultsIncomplete) as error:
            text = f"The finished results of the provider batch {job.remote_id or job.id} are only partly known: {error or 'no answer'}"
            self._context.log("warning", text)
            return collection.by_key or None
        return collection.by_key

    async def _ends(self, job: ProviderBatch, remote_id: str, patience: float) -> bool:
        if (await self.api.poll(remote_id)).ended:
            return True
        await self.cancel(job)
        until = time.monotonic() + patience
        while not (await self.api.poll(remote_id)).ended:
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(min(FIRST_WAIT, self.account.settings.poll_interval))
        return True

    def _changed(self, job: ProviderBatch, state: str) -> None:
        self._context.emit(ProviderBatchChanged(job.id, job.provider, state, job.ticket.count, job.age))
