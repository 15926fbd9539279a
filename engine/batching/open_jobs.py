"""The provider batches under way: which calls each holds, what waits in the provider's queue, what is held for them.

A job is a provider batch from the moment its calls are chosen until it is closed, whatever way it ended.
"""

from collections import defaultdict
from collections.abc import Iterable

from tidepool.engine.batching.provider_batch import ProviderBatch, Queue
from tidepool.engine.core.budget import Budget
from tidepool.engine.core.context import RunContext
from tidepool.engine.core.pending import Gathered
from tidepool.engine.errors import ReplayMismatch
from tidepool.engine.events import ProviderBatchChanged
from tidepool.engine.providers.protocol import Answer
from tidepool.storage.purchases import Address, ProviderBatchBook, Surplus, SurplusBook
from tidepool.storage.states import ProviderBatchPhase, sequence_number_of
from tidepool.storage.text import storable

LOST = "lost"
"""the reason of a surplus: its provider batch was given up, or its provider knows or shows it no longer"""


class OpenJobs:
    """Keeps count of them, and writes their end."""

    def __init__(self, context: RunContext, book: ProviderBatchBook) -> None:
        self._context = context
        self._book = book
        self._queues: dict[tuple[str, str], Queue] = defaultdict(Queue)
        self.all: set[ProviderBatch] = set()
        self.by_address: dict[Address, ProviderBatch] = {}

    def keep(self, job: ProviderBatch) -> None:
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

    def free(self, pending: Gathered) -> None:
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

    def take_waiting(self, job: ProviderBatch) -> list[Gathered]:
        """Those that wait for the job, which holds their calls no longer."""
        waiting, job.waiting = job.waiting, {}
        for address in waiting:
            del job.addresses[address]
            del self.by_address[address]
        return list(waiting.values())

    def part(self, job: ProviderBatch, address: Address) -> None:
        """Whoever waits for this is not in memory from now on."""
        del job.waiting[address], job.addresses[address], self.by_address[address]

    def take_back(self, job: ProviderBatch, calls: Iterable[tuple[Address, str]]) -> None:
        """Whoever waits for these is about to come."""
        for address, key in calls:
            job.addresses[address] = key
            self.by_address[address] = job

    def abandon_waiting(self, job: ProviderBatch) -> list[Gathered]:
        """Those that wait for the job no longer: what it still brings for them is surplus, and stays paid for."""
        waiting, job.waiting = job.waiting, {}
        account = self._context.accounts[job.provider]
        for address, pending in waiting.items():
            job.abandoned[address] = job.addresses.pop(address)
            job.at_worst[address] = account.booked(pending.call, Answer("", usage_missing=True), batch=True)
            del self.by_address[address]
            job.held, pending.reserved = job.held + pending.reserved, 0.0
        return list(waiting.values())

    def leave_in_doubt(self, job: ProviderBatch) -> list[Gathered]:
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
        self._book.closed(job.id, phase)
        self._context.emit(ProviderBatchChanged(job.id, job.provider, phase, job.ticket.count, job.age))

    def record_surplus(self, job: ProviderBatch) -> None:
        """Answers that nobody waits for any more: paid for, recorded, not used. Where it was never seen to end, they are
        counted at what they may have cost."""
        for address, key in job.abandoned.items():
            result = (job.results or {}).get(key)
            if result is not None and result.answer is not None:
                self._book_surplus(job, address, result.answer)
            elif job.results is None and job.known and address in job.at_worst:
                self._book_surplus(job, address, job.at_worst[address], LOST)
        job.abandoned = {}

    def _book_surplus(self, job: ProviderBatch, address: Address, answer: Answer, reason: str | None = None) -> None:
        figures = (answer.input_tokens, answer.output_tokens, answer.cost_usd)
        late = Surplus(job.id, address, storable(answer.text), *figures, reason)
        SurplusBook(self._context.ledger_of(address[0])).add(late, usage_missing=answer.usage_missing)
        self.budget_of(job).settle(0.0, answer.cost_usd or 0.0)

    def budget_of(self, job: ProviderBatch) -> Budget:
        return self._context.accounts[job.provider].budget
