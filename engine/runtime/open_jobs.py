"""The provider batches under way: which calls each holds, what waits in the provider's queue, what is held for them.

A job is a provider batch from the moment its calls are chosen until it is closed, whatever way it ended.

`Settlement` says what the results come to for each call: an answer, a failure, or being asked again; and the money. What a
provider may have charged for counts as bought: replies that are no answers, and calls whose results cannot be read. Those that
it says it did not do are free.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from tidepool.engine.call import Reply
from tidepool.engine.errors import CallFailed, ReplayMismatch
from tidepool.engine.events import ProviderBatchChanged
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.providers.replies import explain_unusable
from tidepool.engine.runtime.budget import Budget
from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.live import MOST_EMPTY
from tidepool.engine.runtime.provider_batch import ProviderBatch, Queue, ResultStatus, status_of
from tidepool.engine.runtime.recording import CallRecorder
from tidepool.engine.runtime.unit import CollectedCall
from tidepool.storage.purchases import Address, ProviderBatchBook, Surplus, SurplusBook
from tidepool.storage.states import FinishReason, ProviderBatchPhase, Source, batch_number_of, sequence_number_of
from tidepool.storage.text import storable

LOST = "lost"
"""the reason of a surplus: its provider batch was given up, or its provider knows or shows it no longer"""


class OpenJobs:
    """Keeps count of them, and writes their end."""

    def __init__(self, context: RunContext, records: ProviderBatchBook) -> None:
        self._context = context
        self._records = records
        self._queues: dict[tuple[str, str], Queue] = defaultdict(Queue)
        self.all: set[ProviderBatch] = set()
        self.by_address: dict[Address, ProviderBatch] = {}

    def add(self, job: ProviderBatch) -> None:
        self.all.add(job)
        job.queued = job.tokens
        self.queue_of(job).waiting += job.queued
        for address in job.addresses:
            self.by_address[address] = job

    def key_at(self, address: Address) -> bytes | None:
        """Of what one of them holds there: what was asked in this run before need not be hashed again."""
        job = self.by_address.get(address)
        return None if job is None else bytes.fromhex(job.addresses[address])

    def check(self, address: Address, key: bytes) -> None:
        """A resumed story must ask what one of them holds at its address."""
        job = self.by_address.get(address)
        if job is not None and job.addresses[address] != key.hex():
            unit, step = sequence_number_of(address[0]), address[1]
            raise ReplayMismatch(
                f"Unit {unit} now asks something else at {step!r} than what was sent there. The batch was made by another "
                "version of Tidepool or its file was changed; run it anew instead of resuming."
            )

    def free(self, pending: CollectedCall) -> None:
        """Gives back what was reserved for a call that does not go this way."""
        self._context.accounts[pending.call.provider].budget.settle(pending.reserved, 0.0)
        pending.reserved = 0.0

    def queue(self, provider: str, group: str) -> Queue:
        return self._queues[provider, group]

    def queue_of(self, job: ProviderBatch) -> Queue:
        return self._queues[job.provider, job.group]

    def leave_queue(self, job: ProviderBatch) -> None:
        """It holds no place at the provider any more."""
        self.queue_of(job).waiting -= job.queued
        job.queued = 0

    def take_waiting(self, job: ProviderBatch) -> list[CollectedCall]:
        """Those that wait for the job, which holds their calls no longer."""
        waiting, job.waiting = job.waiting, {}
        for address in waiting:
            del job.addresses[address]
            del self.by_address[address]
        return list(waiting.values())

    def detach(self, job: ProviderBatch, address: Address) -> None:
        """Whoever waits for this is not in memory from now on."""
        del job.waiting[address], job.addresses[address], self.by_address[address]

    def reattach(self, job: ProviderBatch, calls: Iterable[tuple[Address, str]]) -> None:
        """Whoever waits for these is about to come."""
        for address, key in calls:
            job.addresses[address] = key
            self.by_address[address] = job

    def abandon_waiting(self, job: ProviderBatch) -> list[CollectedCall]:
        """Those that wait for the job no longer: what it still brings for them is surplus, and stays paid for."""
        waiting, job.waiting = job.waiting, {}
        account = self._context.accounts[job.provider]
        for address, pending in waiting.items():
            job.abandoned[address] = job.addresses.pop(address)
            job.at_worst[address] = account.booked(pending.call, Answer("", usage_missing=True), batch=True)
            del self.by_address[address]
            job.held, pending.reserved = job.held + pending.reserved, 0.0
        return list(waiting.values())

    def abandon_unseen(self, job: ProviderBatch) -> list[CollectedCall]:
        """Those whose provider batch was never seen: they go another way, and should it exist, it brings surplus."""
        pendings = self.abandon_waiting(job)
        self.leave_queue(job)
        self.budget_of(job).settle(job.held, 0.0)
        job.held = 0.0
        return pendings

    def close(self, job: ProviderBatch, phase: ProviderBatchPhase) -> None:
        self.all.discard(job)
        self.leave_queue(job)
        for address in job.addresses:
            self.by_address.pop(address, None)
        self.budget_of(job).settle(job.held, 0.0)
        job.held = 0.0
        self._records.closed(job.id, phase)
        self._context.emit(ProviderBatchChanged(job.id, job.provider, phase, job.ticket.count, job.age))

    def record_surplus(self, job: ProviderBatch) -> None:
        """Answers that nobody waits for any more: paid for, recorded, not used. Where it was never seen to end, they are
        counted at what they may have cost."""
        for address, key in job.abandoned.items():
            result = (job.results or {}).get(key)
            if result is not None and result.answer is not None:
                self._add_surplus(job, address, result.answer)
            elif job.results is None and job.known and address in job.at_worst:
                self._add_surplus(job, address, job.at_worst[address], LOST)
        job.abandoned = {}

    def _add_surplus(self, job: ProviderBatch, address: Address, answer: Answer, reason: str | None = None) -> None:
        figures = (answer.input_tokens, answer.output_tokens, answer.cost_usd)
        surplus = Surplus(job.id, address, storable(answer.text), *figures, reason)
        SurplusBook(self._context.ledger_of(address[0])).add(surplus, usage_missing=answer.usage_missing)
        self.budget_of(job).settle(0.0, answer.cost_usd or 0.0)

    def budget_of(self, job: ProviderBatch) -> Budget:
        return self._context.accounts[job.provider].budget


UNREADABLE = "unreadable"
"""the reason of a surplus: the provider was done with it, and its result cannot be read"""


class Settlement:
    """Judges results one by one, and books them."""

    def __init__(
        self,
        context: RunContext,
        recorders: Mapping[int, CallRecorder],
        open_jobs: OpenJobs,
        returned: Counter[Address],
    ) -> None:
        self._context = context
        self._recorders = recorders
        """by the number of the batch"""
        self._open = open_jobs
        self._returned = returned
        self._unusable: Counter[Address] = Counter()

    def _recorder(self, pending: CollectedCall) -> CallRecorder:
        """Of the batch whose call it is."""
        return self._recorders[batch_number_of(pending.unit_id)]

    def judge(self, job: ProviderBatch, pending: CollectedCall) -> ResultStatus:
        """A reply that is no answer and may become one is paid for, and its call is open again: an empty one once, one
        that was broken off as often as a server's fault."""
        assert job.results is not None
        result, address = job.results.get(pending.key.hex()), pending.address
        status = status_of(result)
        if status is not ResultStatus.UNANSWERED or address in job.booked:
            return status
        account = self._context.accounts[job.provider]
        if result is None:
            if job.unread:
                self._recorder(pending).possibly_paid(pending, account, UNREADABLE, job.id)
        elif result.answer is not None:
            self._unusable[address] += 1
            most = MOST_EMPTY if result.answer.finish is FinishReason.EMPTY else account.settings.retries
            if self._unusable[address] > most:
                return ResultStatus.FAILED
            self._recorder(pending).unusable(pending, account, self._booked(job, pending, result.answer), job.id)
        return status

    def record_lost(self, job: ProviderBatch, pendings: Iterable[CollectedCall]) -> None:
        """It existed, and nothing of it comes back: its calls may be charged all the same."""
        for pending in pendings:
            self._recorder(pending).possibly_paid(pending, self._context.accounts[job.provider], LOST, job.id)

    async def record(self, job: ProviderBatch, pending: CollectedCall) -> Reply | CallFailed:
        assert job.results is not None
        result = job.results[pending.key.hex()]
        attempts = 1 + self._returned.get(pending.address, 0)
        answer = None if result.answer is None else self._booked(job, pending, result.answer)
        self._open.budget_of(job).settle(pending.reserved, (answer.cost_usd if answer is not None else None) or 0.0)
        if answer is None or not answer.usable:
            kind, error_text = "unusable reply", explain_unusable(answer) if answer is not None else ""
            if answer is None:
                kind, error_text = "rejected request", result.error or "no answer"
            return await self._recorder(pending).record_failure(pending, kind, error_text, attempts, job.id, answer)
        return await self._recorder(pending).record(
            pending, answer, seconds=job.age, source=Source.BATCH, attempts=attempts, order_id=job.id
        )

    def _booked(self, job: ProviderBatch, pending: CollectedCall, answer: Answer) -> Answer:
        account = self._context.accounts[job.provider]
        return account.booked(pending.call, answer, batch=True) if answer.usage_missing else answer
