"""How a provider batch comes to be: exactly once.

    intended ─► creating ─► created        each step committed before the next is taken

Creating is the only step that costs money, and it is never repeated blindly. After a crash, a timeout or a server
error the provider's list is searched, several times over a while; where the provider lets us, what was uploaded is
taken back first, so that a creation still on its way cannot succeed behind our back. Only then is it created anew.
A batch API that does not recover within a while is left for live calls; where it never said that it took nothing, it
is looked at once more before the run ends, and on a resume.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tidepool.engine.errors import RunError
from tidepool.engine.providers.protocol import (
    BatchApi,
    BatchedCall,
    BatchRefused,
    CreationUnclear,
    ErrorClass,
    NoReply,
    ProviderBatchGone,
    ProviderError,
)
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.outage import LONGEST_PAUSE
from tidepool.engine.runtime.provider_batch import ProviderBatch, custom_id
from tidepool.engine.runtime.tasks import wait_forever
from tidepool.storage.purchases import ProviderBatchBook, StoredProviderBatch

T = TypeVar("T")

GONE_POLLS = 12
"""how often in a row a provider may not know a provider batch before it counts as gone"""
LOG_EVERY = 10 * GONE_POLLS
"""looks in vain after which that is told again"""


class ProviderPoller:
    """The looks at one account's provider batches."""

    def __init__(self, context: RunContext, account: Account) -> None:
        self._context = context
        self._account = account

    @property
    def patience(self) -> float:
        """Seconds for which a provider that answers with nothing but faults is waited for."""
        return self._account.settings.outage_patience

    async def poll_until_seen(
        self,
        request: Callable[[], Awaitable[T]],
        *,
        longest: float = math.inf,
        meanwhile: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """Raises ProviderBatchGone where there is nothing for long, and ProviderError where a fault does not heal, or
        where the provider answered with faults alone for `longest`. Nothing is known of one that does not answer at
        all, so that is waited for without an end."""
        wait, unseen, troubled, since = self._account.provider.backoff, 0, 0, time.monotonic()
        try:
            while True:
                try:
                    return await request()
                except ProviderBatchGone:
                    unseen += 1
                    if unseen >= GONE_POLLS:
                        raise
                    pause = wait
                except ProviderError as error:
                    if error.fault not in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED):
                        raise
                    unanswered = error.no_reply in (NoReply.UNREACHABLE, NoReply.TIMEOUT)
                    since = time.monotonic() if unanswered else since
                    troubled += 1
                    left = since + longest - time.monotonic()
                    if left <= 0 and (longest or troubled >= GONE_POLLS):
                        raise
                    pause = min(self._account.provider.backoff * 2.0 ** min(troubled - 1, 10), self._slowest)
                    pause = pause if error.retry_after is None else min(error.retry_after, self._slowest)
                    pause = min(pause, left) if left > 0 else pause
                    self._account.batch_failed(error, since, math.inf if unanswered else longest, pause)
                    self._log_trouble(troubled, error)
                if meanwhile is not None:
                    await meanwhile()
                await asyncio.sleep(pause)
                wait = min(wait * 2, max(self._account.settings.poll_interval, self._account.provider.backoff))
        finally:
            self._account.batch_answered()

    @property
    def _slowest(self) -> float:
        """Seconds between two looks that fail, at most."""
        return max(self._account.settings.poll_interval, LONGEST_PAUSE)

    def _log_trouble(self, troubled: int, error: ProviderError) -> None:
        if troubled == GONE_POLLS or not troubled % LOG_EVERY:
            self._context.log(
                "warning",
                f"Looking after provider batches does not work ({error}); trying on. `tidepool orders "
                f"{self._context.run.run_id}` shows them, and gives one up.",
            )


SEARCHES = 4
"""how often a list is searched, a poll interval apart, before a provider batch counts as never created"""
SOON = 3600.0
"""seconds after which a creation that was cut off is no longer on its way: one look more is enough"""
SHORT_WAIT = 1.0


class BatchCreation:
    """Creates the provider batches of one account."""

    def __init__(
        self, context: RunContext, account: Account, api: BatchApi, records: ProviderBatchBook, poller: ProviderPoller
    ) -> None:
        self._context = context
        self._account = account
        self._api = api
        self._records = records
        self._poller = poller
        self._one_at_a_time = asyncio.Lock()
        """one creation in flight per account"""
        self._creations: set[asyncio.Task[str]] = set()
        self.foreign_ids: set[str] = set()
        """provider batches that looked like ours and were not"""

    async def place(self, job: ProviderBatch) -> None:
        """From intent to creation. Raises BatchRefused."""
        async with self._one_at_a_time:
            await self._wait_where_closing()
            await self._intend(job)
            calls = [
                BatchedCall(custom_id(job.id, job.addresses[address]), pending.call, pending.seed)
                for address, pending in job.waiting.items()
            ]
            tries, since, patience = 0, time.monotonic(), self._poller.patience or math.inf
            while tries <= self._account.settings.retries and (not tries or time.monotonic() - since < patience):
                tries += 1
                await self._upload(job, calls, since)
                if await self._created(job, calls, since):
                    return
        # What was taken back can no longer be made; where nothing could be, the list is all there is to go by.
        reason = f"it did not say whether it took it, {tries} times over, and does not show it"
        raise BatchRefused(reason, doubtful=not job.withdrawn)

    async def _intend(self, job: ProviderBatch) -> None:
        job.ticket, job.since = replace(job.ticket, created_at=time.time()), time.monotonic()
        reserved, ticket = sum(pending.reserved for pending in job.waiting.values()), job.ticket
        calls, details = list(job.addresses.items()), (ticket.wave, ticket.content_hash, reserved, ticket.created_at)
        self._records.intend(StoredProviderBatch(ticket.order_id, job.provider, job.group, calls, *details))
        await self._context.ledger.writer.committed(durable=True)

    async def _upload(self, job: ProviderBatch, calls: list[BatchedCall], since: float) -> None:
        if self._api.uploads:
            job.upload_id = await self._retry_refused(lambda: self._api.upload(job.ticket, calls), since)
            job.withdrawn = False
        self._records.creating(job.id, job.upload_id)
        await self._context.ledger.writer.committed(durable=True)

    async def _created(self, job: ProviderBatch, calls: list[BatchedCall], since: float) -> bool:
        """False: it is as good as certain that nothing was created."""
        await self._wait_where_closing()
        try:
            job.remote_id = await self._retry_refused(lambda: self._create(job, calls), since)
            job.known = True
        except CreationUnclear as unclear:
            self._context.log(
                "warning",
                f"Creating a provider batch at {job.provider} was cut off ({unclear}): it may exist, so its list is searched.",
            )
            if not await self._searched(job):
                self._context.log("info", f"{job.provider} has no such batch.")
                return False
        self._context.log("info", f"Sent {len(calls):,} calls to {job.provider} as the provider batch {job.remote_id}.")
        return True

    async def _create(self, job: ProviderBatch, calls: list[BatchedCall]) -> str:
        """A stop waits for the request, and for the row that remembers its answer."""
        creation = asyncio.ensure_future(self._create_and_record(job, calls))
        self._creations.add(creation)
        creation.add_done_callback(self._creations.discard)
        return await asyncio.shield(creation)

    async def _create_and_record(self, job: ProviderBatch, calls: list[BatchedCall]) -> str:
        remote_id = await self._api.create(job.ticket, calls, job.upload_id)
        self._records.created(job.id, remote_id, False)
        await self._context.ledger.writer.committed(durable=True)
        return remote_id

    async def _retry_refused(self, request: Callable[[], Awaitable[T]], since: float) -> T:
        """Repeats what was certainly not taken for as long as an outage is waited for, counted from `since`; without
        `outage_patience`, as often as a call is retried."""
        attempt, patience = 0, self._poller.patience
        try:
            while True:
                try:
                    return await request()
                except ProviderError as error:
                    if error.fault is ErrorClass.FATAL:
                        raise RunError(str(error)) from error
                    left = since + patience - time.monotonic() if patience else math.inf
                    pause = self._pause(attempt, error.retry_after or 0.0, left)
                    self._account.batch_failed(error, since, patience or math.inf, pause or 0.0)
                    if pause is None:
                        raise BatchRefused(str(error)) from None
                attempt += 1
                await asyncio.sleep(pause)
        finally:
            self._account.batch_answered()

    def _pause(self, attempt: int, asked: float, left: float) -> float | None:
        """Seconds before the next attempt; None where it would come too late. `asked` is what the provider wants."""
        if left <= 0 or asked > left or (math.isinf(left) and attempt >= self._account.settings.retries):
            return None
        growing = self._account.provider.backoff * 2.0 ** min(attempt, 10)
        return max(asked, min(growing, LONGEST_PAUSE, left))

    # -- after a crash or a cut --------------------------------------------------------------------------

    async def recover(self, job: ProviderBatch) -> bool:
        """After a restart: finds the batch whose creation may have been asked for. False: it was never created."""
        async with self._one_at_a_time:
            try:
                return await self._find_again(job, math.inf)
            except ProviderError as error:
                raise RunError(str(error)) from error
            except ProviderBatchGone as gone:
                self._log_unsearchable(job, gone)
                return False

    async def _searched(self, job: ProviderBatch) -> bool:
        """After a creation that was cut off. A list that cannot be searched leaves a doubt."""
        try:
            return await self._find_again(job, self._poller.patience)
        except (ProviderError, ProviderBatchGone) as error:
            self._log_unsearchable(job, error)
            raise BatchRefused(
                f"it may have taken it, and its list cannot be searched: {error}", doubtful=True
            ) from None

    def _log_unsearchable(self, job: ProviderBatch, error: Exception) -> None:
        self._context.log("warning", f"The list of provider batches at {job.provider} cannot be searched ({error}).")

    async def _find_again(self, job: ProviderBatch, longest: float) -> bool:
        """In doubt: look, make sure that nothing more can come, wait, and look again."""
        interval = self._account.settings.poll_interval
        attempts, pause = (SEARCHES, interval) if job.age < SOON else (2, min(interval, SHORT_WAIT))
        for attempt in range(attempts):
            if attempt:
                await asyncio.sleep(pause)
            remote_id = await self._poller.poll_until_seen(partial(self.find_once, job), longest=longest)
            if remote_id is not None:
                job.remote_id, job.unsure = remote_id, True
                self._records.created(job.id, remote_id, True)
                await self._context.ledger.writer.committed(durable=True)
                self._context.log("info", f"Found the provider batch {remote_id} at {job.provider} again.")
                return True
            if job.upload_id and not job.withdrawn:
                await self._poller.poll_until_seen(lambda: self._api.withdraw(job.upload_id), longest=longest)
                job.withdrawn = True
        return False

    async def find_once(self, job: ProviderBatch) -> str | None:
        """One search of the provider's list."""
        excluded = (self._records.remote_ids() | self.foreign_ids) - {job.remote_id or ""}
        return await self._api.find(job.ticket, excluded)

    # -- stopping ----------------------------------------------------------------------------------------

    async def finish(self, seconds: float) -> None:
        """A creation in flight is finished, and its answer remembered, before a stop."""
        if self._creations:
            done, late = await asyncio.wait(self._creations, timeout=seconds)
            for creation in late:
                creation.cancel()
            await asyncio.gather(*done, *late, return_exceptions=True)

    async def _wait_where_closing(self) -> None:
        if self._context.run.closing:
            await wait_forever()
