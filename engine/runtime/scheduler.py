"""Gathers calls into waves, sends waves as provider batches, and returns the answers to the units.

A wave is sent when no task can continue by itself, up to the budget and the provider's queue. The rest follows when some
requests are settled. Requests are not stored: a resumed unit asks again under the same address, and is attached to the
provider batch that holds the request. A small unanswered remainder is sent live, and a large one as another provider
batch. An answer for a call that was answered in another way is recorded as surplus and not used.
"""

import asyncio
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from tidepool.engine.call import expected_input
from tidepool.engine.errors import FileError, RunError
from tidepool.engine.providers.protocol import BatchRefused, ProviderBatchTicket
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.batch_lifecycle import GIVE_UP_SECONDS, BatchLifecycle, Ending
from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.provider_batch import (
    OpenJobs,
    ProviderBatch,
    ResultHandler,
    ResultStatus,
    Settlement,
    content_hash,
    custom_id,
    is_small,
    order_id,
    split,
)
from tidepool.engine.runtime.recording import CallRecorder
from tidepool.engine.runtime.unit import CollectedCall
from tidepool.storage.purchases import Address, ProviderBatchBook, StoredProviderBatch
from tidepool.storage.states import ProviderBatchPhase

# -- sending -----------------------------------------------------------------------------------------------------------


REMOTE_ID = re.compile(r"(?!.*\.\.)[\w.:-]{1,200}", re.ASCII)
"""valid ids, which become parts of URLs"""


def reserve_affordable(account: Account, pendings: list[CollectedCall]) -> list[CollectedCall]:
    """The part of a wave that the budget covers now; it is reserved."""
    budget = account.budget
    if not budget.capped or not pendings:
        return pendings
    amounts = [account.worst_cost(pending.call, batch=True) or 0.0 for pending in pendings]
    count = budget.affordable(amounts)
    if not count and budget.is_exhausted(amounts[0]):
        budget.on_exhausted()
    for pending, amount in zip(pendings[:count], amounts, strict=False):
        pending.reserved = amount
    return pendings[:count]


class BatchAssembly:
    """Gives each provider batch its ticket, with an id that follows from its content."""

    def __init__(self, batch_id: str, records: ProviderBatchBook) -> None:
        self._batch_id = batch_id
        self._records = records
        self._repetitions = records.made_so_far()
        """number of batches so far, by content, since equal content becomes another provider batch"""

    def new(self, provider: str, group: str, pendings: list[CollectedCall]) -> ProviderBatch:
        addresses = {pending.address: pending.key.hex() for pending in pendings}
        content = content_hash(addresses.values())
        self._repetitions[content] += 1
        name = order_id(self._batch_id, content, self._repetitions[content])
        return ProviderBatch(
            self._ticket(name, content, list(addresses.values()), max(pending.call.wave for pending in pendings)),
            provider,
            group,
            addresses,
            tokens=sum(expected_input(pending.call) for pending in pendings),
            waiting={pending.address: pending for pending in pendings},
        )

    def restored(self, stored: StoredProviderBatch) -> ProviderBatch:
        """A stored provider batch, with its open calls and those that were answered in another way since."""
        remote_names = (stored.remote_id, stored.upload_id or None)
        if not all(name is None or REMOTE_ID.fullmatch(name) for name in remote_names):
            raise FileError(
                "A provider batch of this file has an invalid id. The file was changed, so do not trust its content."
            )
        answered = self._records.answered(address for address, _ in stored.calls)
        recorded = self._records.surplus_of(stored.order_id)
        keys = [key for _, key in stored.calls]
        return ProviderBatch(
            self._ticket(stored.order_id, stored.content_hash, keys, stored.wave, stored.created_at),
            stored.provider,
            stored.group,
            {address: key for address, key in stored.calls if address not in answered},
            upload_id=stored.upload_id,
            remote_id=stored.remote_id,
            unsure=stored.unsure,
            older=max(0.0, time.time() - stored.created_at),
            held=stored.reservation_usd,
            held_each=stored.reservation_usd / max(1, len(stored.calls)),
            booked=frozenset(recorded),
            abandoned={
                address: key
                for address, key in stored.calls
                if answered.get(address, stored.order_id) != stored.order_id and address not in recorded
            },
        )

    def _ticket(
        self, name: str, content: str, keys: list[str], wave: int, created_at: float = 0.0
    ) -> ProviderBatchTicket:
        names = frozenset(custom_id(name, key) for key in keys)
        return ProviderBatchTicket(name, content, len(keys), created_at, self._batch_id, wave, names)


BatchGroup = tuple[str, str]
"""a provider, and a group of calls that may share one of its batches"""


class WaveSender:
    """Holds gathered calls until they are sent."""

    def __init__(
        self,
        context: RunContext,
        assembly: BatchAssembly,
        open_jobs: OpenJobs,
        lifecycle_at: Callable[[str], BatchLifecycle | None],
        send: Callable[[ProviderBatch, BatchLifecycle], None],
        go_live: Callable[[list[CollectedCall]], None],
    ) -> None:
        self._context = context
        self._assembly = assembly
        self._open = open_jobs
        self._lifecycle_at = lifecycle_at
        """returns the lifecycle of a provider whose batch API accepts batches"""
        self._send = send
        self._go_live = go_live
        self._gathered: dict[BatchGroup, list[CollectedCall]] = defaultdict(list)
        self._full: dict[BatchGroup, int] = {}
        """the number of gathered calls at which some are sent"""
        self._most_calls: dict[str, int] = {}

    def add(self, pending: CollectedCall) -> None:
        """Adds a call, and sends a provider batch when enough calls are gathered."""
        provider = pending.call.provider
        lifecycle = self._lifecycle_at(provider)
        group = provider, lifecycle.api.group(pending.call) if lifecycle is not None else ""
        gathered = self._gathered[group]
        gathered.append(pending)
        if lifecycle is not None and len(gathered) >= (self._full.get(group) or self._most(lifecycle.account)):
            self._send_full(group, lifecycle)

    def add_all(self, pendings: Iterable[CollectedCall]) -> None:
        for pending in pendings:
            self.add(pending)

    def halve(self, provider: str, count: int) -> None:
        """Records that a provider batch with this many calls is too large."""
        self._most_calls[provider] = count // 2
        self._full = {}

    def send_all(self) -> bool:
        """Sends as many calls as possible. Returns whether any were sent."""
        gathered, self._gathered, self._full = self._gathered, defaultdict(list), {}
        for group, pendings in gathered.items():
            lifecycle = self._lifecycle_at(group[0])
            if lifecycle is None:
                self._go_live(pendings)
            elif pendings:
                self._send_together(group, lifecycle, list(pendings))
        return sum(map(len, self._gathered.values())) < sum(map(len, gathered.values()))

    @property
    def is_empty(self) -> bool:
        return not any(self._gathered.values())

    def _most(self, account: Account) -> int:
        most = account.settings.batch_size
        return max(2, min(most, self._most_calls.get(account.name, most)))

    def _send_full(self, group: BatchGroup, lifecycle: BatchLifecycle) -> None:
        run = self._context.run
        if run.closing or run.paused:
            return
        pendings = self._gathered.pop(group)
        ready = self._reserve_fitting(group, lifecycle, pendings)
        most, chunks = self._most(lifecycle.account), split(ready, self._most(lifecycle.account), lifecycle.api.bounds)
        remainder: list[CollectedCall] = []
        if len(ready) == len(pendings) and chunks and len(chunks[-1]) < most:
            remainder = chunks.pop()
            for pending in remainder:
                self._open.free(pending)
        for chunk in chunks:
            self._send_chunk(group, lifecycle, chunk)
        self._gathered[group] = remainder + pendings[len(ready) :]
        # Calls that could not be sent now are not tried again with every new call.
        self._full[group] = len(self._gathered[group]) + most if len(ready) < len(pendings) else most

    def _send_together(self, group: BatchGroup, lifecycle: BatchLifecycle, pendings: list[CollectedCall]) -> None:
        account = lifecycle.account
        pendings.sort(key=lambda pending: pending.call.wave)
        if len(pendings) == 1:
            self._context.log("info", f"A wave of one request to {account.name} is sent live.")
            self._go_live(pendings)
            return
        queue = self._open.queues[group]
        if not queue.waiting and queue.count_fitting([pending.call for pending in pendings]) < 2:
            warning = (
                f"{account.name} cannot queue {len(pendings)} more requests for its batch API. They are sent live."
            )
            self._context.log("warning", warning)
            self._go_live(pendings)
            return
        ready = self._reserve_fitting(group, lifecycle, pendings)
        self._gathered[group] = pendings[len(ready) :]
        for chunk in split(ready, self._most(account), lifecycle.api.bounds):
            self._send_chunk(group, lifecycle, chunk)

    def _reserve_fitting(
        self, group: BatchGroup, lifecycle: BatchLifecycle, pendings: list[CollectedCall]
    ) -> list[CollectedCall]:
        """The calls that fit into the queue and the budget; they are reserved."""
        fitting = self._open.queues[group].count_fitting([pending.call for pending in pendings])
        return reserve_affordable(lifecycle.account, pendings[:fitting]) if fitting > 1 else []

    def _send_chunk(self, group: BatchGroup, lifecycle: BatchLifecycle, chunk: list[CollectedCall]) -> None:
        job = self._assembly.new(*group, chunk)
        self._open.add(job)
        self._send(job, lifecycle)


# -- scheduler ---------------------------------------------------------------------------------------------------------


STOP_SECONDS = 30.0
"""how long a stop waits for a creation in flight"""


class BatchScheduler:
    """Decides when gathered calls are sent, in which provider batches, and how each call continues afterwards."""

    def __init__(self, context: RunContext) -> None:
        """`context` is that of the batch whose rows and log describe provider batches; other batches of the run join."""
        self._context = context
        self._run = context.run
        self._recorders: dict[int, CallRecorder] = {}
        self._records = ProviderBatchBook(context.ledger)
        self._assembly = BatchAssembly(context.run.run_id, self._records)
        self.jobs = OpenJobs(context, self._records)
        self._lifecycles: dict[str, BatchLifecycle] = {}
        self._departures = WaveSender(
            context, self._assembly, self.jobs, self._lifecycle_taking, self._send, self._go_live
        )
        self._lives: set[asyncio.Task[None]] = set()
        """tasks that create and follow provider batches"""
        self._returned: Counter[Address] = Counter()
        """number of times that open calls came back from a provider batch"""
        self._settlement = Settlement(context, self._recorders, self.jobs, self._returned)
        self._refused: set[str] = set()
        """providers whose batch API accepts nothing"""
        self._losers: set[str] = set()
        self._sending_handle: asyncio.Handle | None = None
        self._run.give_up = self.give_up
        self._run.tasks.on_idle = self.consider_sending

    def join(self, batch_number: int, recorder: CallRecorder) -> None:
        """Adds a batch of the run, whose calls may be gathered from now on."""
        self._recorders[batch_number] = recorder

    # -- gathering ---------------------------------------------------------------------------------------

    def holds(self, unit_id: int, step: str) -> bool:
        return (unit_id, step) in self.jobs.by_address

    def gathers_for(self, account: Account) -> bool:
        """Whether calls of this account are gathered: it has a batch API that has not rejected batches."""
        return account.provider.batches is not None and account.name not in self._refused

    def gather(self, pending: CollectedCall) -> None:
        """Holds a parked call until its wave is sent, or attaches it to the provider batch that already has it."""
        job = self.jobs.by_address.get(pending.address)
        if job is None:
            self._departures.add(pending)
            return
        pending.reserved = min(job.held_each, job.held)
        job.held -= pending.reserved
        job.waiting[pending.address] = pending
        if job.can_handle:
            self._handle_results(job)

    # -- sending -----------------------------------------------------------------------------------------

    def consider_sending(self) -> None:
        """Sends gathered calls if no task can continue by itself, after the event loop is idle."""
        if not self._run.tasks.busy and self._sending_handle is None:
            self._sending_handle = asyncio.get_running_loop().call_soon(self._send_if_idle)

    def _send_if_idle(self) -> None:
        self._sending_handle = None
        run = self._run
        if not (run.tasks.busy or run.closing or run.paused):
            self._send_gathered()

    def _send_gathered(self) -> None:
        """Sends as many gathered calls as possible."""
        if ready := [
            job for job in self.jobs.all if job.handler is not None and job.waiting
        ]:  # even if some are missing
            for job in ready:
                self._handle_results(job)
            return
        if self._departures.send_all():
            return
        waiting = self.jobs.all or self._lives or not self._departures.is_empty
        busy = any(tasks.busy for tasks in self._run.all_tasks)
        if not (waiting or busy or self._run.finished):
            self._context.fail(
                RunError("Deadlock: every task is waiting. This is a bug in the study; please report it.")
            )

    def _send(self, job: ProviderBatch, lifecycle: BatchLifecycle) -> None:
        job.life = self._start(self._life_of(job, lifecycle))

    # -- a provider batch's life -------------------------------------------------------------------------

    async def _life_of(self, job: ProviderBatch, lifecycle: BatchLifecycle) -> None:
        try:
            await lifecycle.place(job)
        except BatchRefused as refusal:
            self._refuse(job, refusal)
            return
        finally:
            self.consider_sending()
        await self._see_through(job, lifecycle)

    async def _see_through(self, job: ProviderBatch, lifecycle: BatchLifecycle) -> None:
        ending = await lifecycle.follow(job, self._give_up_waiting)
        self.jobs.leave_queue(job)
        if ending.results is not None:
            self._collect(job, ending)
        elif ending.refusal is not None and not job.withdrawn:
            self._refuse(job, ending.refusal)
        else:
            self._lose(job, ending.lost or str(ending.refusal))

    def _lose(self, job: ProviderBatch, reason: str) -> None:
        """Handles a lost batch. It may be billed if it was seen. An API that loses a second batch is no longer used."""
        after = (
            "its requests, and all later ones, are sent live"
            if job.provider in self._losers
            else "its requests are sent again"
        )
        self._refused |= self._losers & {job.provider}
        self._losers.add(job.provider)
        self._context.log("warning", f"A provider batch at {job.provider} is lost ({reason}), so {after}.")
        small = is_small(len(job.waiting), job.ticket.count)
        live = small or job.provider in self._refused
        self._conclude(job, partial(self._dissolve, phase=ProviderBatchPhase.LOST, live=live, paid=job.known))

    def _collect(self, job: ProviderBatch, ending: Ending) -> None:
        job.results, job.unread = ending.results, ending.unread
        if job.unread and not job.results:
            self._refused.add(job.provider)
            warning = f"No result of a provider batch at {job.provider} can be read"
            self._context.log("warning", f"{warning}. Its requests, and all later ones, are sent live.")
        self.jobs.queue_of(job).served()
        self.jobs.record_surplus(job)
        self._conclude(job, self._settle)

    def _conclude(self, job: ProviderBatch, handler: ResultHandler) -> None:
        """Sets the handler of a batch whose outcome is known. It runs now, or when all waiting units have arrived."""
        job.handler = handler
        if job.can_handle:
            self._handle_results(job)

    def _handle_results(self, job: ProviderBatch) -> None:
        """Starts the handler. No wave is sent before its answers are in the ledger."""
        assert job.handler is not None
        self._run.tasks.spawn(job.handler(job), self._run.tasks.ending(self._context.fail_if_raised))

    async def _settle(self, job: ProviderBatch) -> None:
        """Gives each waiting unit its answer, all together. Unanswered calls are sent live or in another batch."""
        assert job.results is not None
        settled: list[CollectedCall] = []
        remainder: list[CollectedCall] = []
        for pending in self.jobs.take_waiting(job):
            status = self._settlement.judge(job, pending)
            (remainder if status is ResultStatus.UNANSWERED else settled).append(pending)
        outcomes = await asyncio.gather(*(self._settlement.record(job, pending) for pending in settled))
        in_time = job.cancelled_at is None and not job.given_up
        self._close_if_over(job, ProviderBatchPhase.COLLECTED if in_time else ProviderBatchPhase.CANCELLED)
        self._resend(job, remainder)
        for pending, outcome in zip(settled, outcomes, strict=True):
            self._returned.pop(pending.address, None)
            self._run.tasks.release(pending.future, outcome)

    def _close_if_over(self, job: ProviderBatch, phase: ProviderBatchPhase) -> None:
        if job.is_over:
            self.jobs.close(job, phase)

    def _resend(self, job: ProviderBatch, remainder: list[CollectedCall]) -> None:
        """Sends missing, expired and late calls again: a small remainder live, a large one as another provider batch."""
        if not remainder:
            return
        for pending in remainder:
            self._returned[pending.address] += 1
            self._context.ledger_of(pending.unit_id).tally.retried()
            self.jobs.free(pending)
        retries = self._context.accounts[job.provider].settings.retries
        hurried = job.cancelled_at is not None or is_small(len(remainder), job.ticket.count)
        hurried = hurried or job.provider in self._refused
        live: list[CollectedCall] = []
        to_resend: list[CollectedCall] = []
        for pending in remainder:
            worn = self._returned[pending.address] > retries
            (live if hurried or worn else to_resend).append(pending)
        self._context.log(
            "warning",
            f"{len(remainder):,} of {job.ticket.count:,} requests came back unanswered from a provider batch at "
            f"{job.provider}: {len(live):,} are sent live, {len(to_resend):,} in another provider batch.",
        )
        self._departures.add_all(to_resend)
        self._go_live(live)

    def _refuse(self, job: ProviderBatch, refusal: BatchRefused) -> None:
        """Handles a rejected batch: sends its calls live, or in smaller provider batches if it was too large."""
        count, provider = job.ticket.count, job.provider
        smaller = refusal.too_large and count > 2
        if smaller and job.remote_id is not None:
            self.jobs.queue_of(job).refused(job.tokens)
            warning = f"{provider} has no room for a batch of {count:,} ({refusal}). Its requests are sent in smaller batches."
        elif smaller:
            self._departures.halve(provider, count)
            warning = f"{provider} rejected a provider batch of {count:,} requests as too large ({refusal}). They are sent in smaller ones."
        else:
            self._refused.add(provider)
            warning = f"{provider} rejected a provider batch ({refusal}): {count:,} requests are sent live."
        self._context.log("warning", warning)
        if refusal.doubtful:
            self._go_live(self.jobs.abandon_unseen(job))
            return
        self._conclude(job, partial(self._dissolve, phase=ProviderBatchPhase.REFUSED, live=not smaller))

    async def _dissolve(self, job: ProviderBatch, *, phase: ProviderBatchPhase, live: bool, paid: bool = False) -> None:
        """Releases the calls of a provider batch that no longer exists. `paid`: they may be billed."""
        pendings = self.jobs.take_waiting(job)
        if paid:
            self._settlement.record_lost(job, pendings)
        self._close_if_over(job, phase)
        for pending in pendings:
            self._returned[pending.address] += 1
            self.jobs.free(pending)
        if live:
            self._go_live(pendings)
        else:
            self._departures.add_all(pendings)

    def _give_up_waiting(self, job: ProviderBatch) -> None:
        """Stops waiting for a batch that takes too long, even to cancel. Its calls are sent live, and its results are unneeded."""
        count = len(job.waiting)
        if job.handler is None and count:
            self._context.log("warning", f"The provider batch still runs. Its {count:,} requests are sent live now.")
            self._conclude(job, self._abandon)

    async def _abandon(self, job: ProviderBatch) -> None:
        self._go_live(self.jobs.abandon_waiting(job))
        if job.is_over:
            job.handler = None

    def give_up(self, order_id: str) -> None:
        """Gives up a provider batch, by its id here or at its provider."""
        job = next((job for job in self.jobs.all if order_id in (job.id, job.remote_id)), None)
        if job is None or job.results is not None or (job.remote_id is None and job.waiting):
            state = "is just being created" if job is not None and job.results is None else "is not open"
            self._context.log("info", f"The provider batch {order_id} {state}. Nothing was given up.")
            return
        self._start(self._give_up_job(job))

    async def _give_up_job(self, job: ProviderBatch) -> None:
        """Cancels the batch if possible. Finished results are used, and other calls are sent again."""
        self._context.log("info", f"Giving up the provider batch {job.remote_id or job.id} at {job.provider}.")
        if job.life is not None:
            job.life.cancel()
            await asyncio.gather(job.life, return_exceptions=True)
        if job.results is not None or job not in self.jobs.all:
            return  # it ended in the same moment
        results = await self._lifecycles[job.provider].wind_up(job, GIVE_UP_SECONDS)
        self.jobs.leave_queue(job)
        job.given_up = True
        if results is None:
            self._lose(job, "it was given up, and its remaining results may be billed")
        else:
            self._collect(job, Ending(results))

    # -- units -----------------------------------------------------------------------------------------

    def _go_live(self, pendings: list[CollectedCall]) -> None:
        """Returns the calls to their units, which send them live from now on."""
        for pending in pendings:
            self._returned.pop(pending.address, None)
            self._run.tasks.release(pending.future, None)

    # -- restarts and stops ------------------------------------------------------------------------------

    def resume(self) -> None:
        """After a restart: follows the open provider batches of the file."""
        for stored in self._records.open():
            job = self._assembly.restored(stored)
            lifecycle = self._lifecycle_at(stored.provider)
            if lifecycle is None:
                raise RunError(
                    f"The batch has an open provider batch at {stored.provider}, but the changed config no longer "
                    "uses its batch API. Resume it without that change."
                )
            if stored.phase == ProviderBatchPhase.INTENDED:
                job.addresses = {}
                self.jobs.close(job, ProviderBatchPhase.LOST)
                continue
            self.jobs.add(job)
            if stored.given_up:
                self._start(self._give_up_job(job))
            elif not job.is_over or job.abandoned:
                job.life = self._start(self._resume_job(job, lifecycle))
            else:
                self.jobs.close(job, ProviderBatchPhase.COLLECTED)

    async def _resume_job(self, job: ProviderBatch, lifecycle: BatchLifecycle) -> None:
        if job.remote_id is None and not await lifecycle.recover(job):
            words = (
                f"A provider batch planned at {job.provider} was never created. Its requests are sent in another one."
            )
            self._context.log("info", words)
            self._conclude(job, partial(self._dissolve, phase=ProviderBatchPhase.LOST, live=False))
            return
        await self._see_through(job, lifecycle)

    async def stop(self, *, cancel: bool) -> None:
        """Finishes a creation in flight. Never waits for a provider batch."""
        await self._end_tasks()
        for job in self.jobs.all:
            if cancel:
                await self._lifecycles[job.provider].cancel(job)
            elif job.remote_id is not None:
                words = (
                    f"The provider batch {job.remote_id} keeps running at {job.provider}. A resume continues with it."
                )
                self._context.log("info", words)

    async def finish(self) -> None:
        """Ends open provider batches after the study: their results are unneeded, and cancelling avoids the cost of requests
        that have not started."""
        await self._end_tasks()
        for job in list(self.jobs.all):
            job.abandoned |= job.addresses
            if job.results is None:
                job.results = await self._lifecycles[job.provider].wind_up(job)
            self.jobs.record_surplus(job)
            self.jobs.close(job, ProviderBatchPhase.LOST if job.remote_id is None else ProviderBatchPhase.CANCELLED)

    # -- tasks -------------------------------------------------------------------------------------------

    def _lifecycle_at(self, provider: str) -> BatchLifecycle | None:
        account = self._context.accounts.get(provider)
        if account is None or (api := account.provider.batches) is None:
            return None
        if provider not in self._lifecycles:
            lifecycle = BatchLifecycle(self._context, account, api, self._records)
            self._lifecycles[provider] = lifecycle
        return self._lifecycles[provider]

    def _lifecycle_taking(self, provider: str) -> BatchLifecycle | None:
        return None if provider in self._refused else self._lifecycle_at(provider)

    async def _end_tasks(self) -> None:
        await asyncio.gather(*(at.finish_creations(STOP_SECONDS) for at in self._lifecycles.values()))
        lives = list(self._lives)
        for life in lives:
            life.cancel()
        await asyncio.gather(*lives, return_exceptions=True)

    def _start(self, life: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(life)
        self._lives.add(task)
        task.add_done_callback(self._life_ended)
        return task

    def _life_ended(self, task: "asyncio.Task[None]") -> None:
        self._lives.discard(task)
        self._context.fail_if_raised(task)
        self.consider_sending()
