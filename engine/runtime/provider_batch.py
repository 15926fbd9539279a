"""A provider batch, and the decisions about it that need no provider: how to split a wave, and what to do with the rest.

`ResultCollection` merges several readings of its results: one result for each call, by its key.
"""

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b

from tidepool.engine.call import Call, Reply, expected_input
from tidepool.engine.errors import CallFailed
from tidepool.engine.events import ProviderBatchChanged
from tidepool.engine.providers.protocol import Answer, ProviderBatchBounds, ProviderBatchResult, ProviderBatchTicket
from tidepool.engine.providers.replies import explain_unusable, is_retryable
from tidepool.engine.runtime.accounts import Budget
from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.recording import MOST_EMPTY, CallRecorder, replay_mismatch
from tidepool.engine.runtime.unit import CollectedCall
from tidepool.storage.purchases import Address, ProviderBatchBook, Surplus, SurplusBook
from tidepool.storage.states import FinishReason, ProviderBatchPhase, Source, batch_number_of, sequence_number_of
from tidepool.storage.text import storable


def custom_id(order_id: str, key: str) -> str:
    """A call's id at the provider. Any single id identifies the provider batch that it belongs to."""
    return f"{order_id}_{key}"


SMALL_REMAINDER = 10
SMALL_SHARE = 0.02
WRAPPING = 400
"""bytes around the texts of a call in a provider batch"""
RETENTION_SECONDS = 28 * 86400.0
"""providers delete results after this time"""


@dataclass(slots=True, eq=False)
class ProviderBatch:
    """A job at a provider, in the memory of this process; the file has its row."""

    ticket: ProviderBatchTicket
    provider: str
    group: str
    addresses: dict[Address, str]
    """the open calls, each with the key of its request"""
    tokens: int = 0
    """input tokens that it is expected to hold at the provider"""
    upload_id: str = ""
    remote_id: str | None = None
    unsure: bool = False
    """it was recognized by its time and size, so its results must prove that it is ours"""
    known: bool = False
    """this run created it, saw it at the provider, or cannot rule out that it exists"""
    withdrawn: bool = False
    """its upload was deleted while its creation was unclear"""
    queued: int = 0
    """the part of the tokens that counts in the provider's queue"""
    held: float = 0.0
    """reserved for calls that no unit holds: from before a restart, or given up"""
    held_each: float = 0.0
    waiting: dict[Address, CollectedCall] = field(default_factory=dict)
    """the parked units by the call they wait for; after a restart they arrive one by one"""
    handler: "ResultHandler | None" = None
    """set when its outcome is known: handles the waiting units"""
    results: dict[str, ProviderBatchResult] | None = None
    """results by key; set when the provider is done"""
    unread: bool = False
    """its results were only partly readable"""
    booked: frozenset[Address] = frozenset()
    """calls whose unneeded replies were recorded before a restart"""
    abandoned: dict[Address, str] = field(default_factory=dict)
    """calls that were answered in another way since; a late answer is unneeded"""
    at_worst: dict[Address, Answer] = field(default_factory=dict)
    """the possible cost of those calls, if it never becomes known"""
    since: float = field(default_factory=time.monotonic)
    """when this run created or resumed it, by the monotonic clock"""
    older: float = 0.0
    """its age at that time"""
    cancelled_at: float | None = None
    """when it was cancelled for taking too long, by the same clock"""
    life: "asyncio.Task[None] | None" = None
    """the task that creates and follows it"""
    given_up: bool = False
    """the user gave it up"""

    @property
    def can_handle(self) -> bool:
        """Whether its outcome is known and all waiting units have arrived."""
        return self.handler is not None and len(self.waiting) == len(self.addresses)

    @property
    def is_over(self) -> bool:
        """Whether no unit waits for it any more."""
        return not self.addresses

    @property
    def id(self) -> str:
        return self.ticket.order_id

    @property
    def age(self) -> float:
        return self.older + time.monotonic() - self.since


ResultHandler = Callable[[ProviderBatch], Awaitable[None]]
"""handles the waiting units that have arrived, and is called again for later ones"""


class ResultStatus(Enum):
    """The outcome of a provider batch for one call."""

    ANSWERED = "answered"
    FAILED = "failed for good"
    UNANSWERED = "missing, expired, empty, or failed in a way that asking again may heal"


def status_of(result: ProviderBatchResult | None) -> ResultStatus:
    if result is None or (result.answer is None and result.heals):
        return ResultStatus.UNANSWERED
    if result.answer is None:
        return ResultStatus.FAILED
    if result.answer.usable:
        return ResultStatus.ANSWERED
    return ResultStatus.UNANSWERED if is_retryable(result.answer) else ResultStatus.FAILED


def content_hash(keys: Iterable[str]) -> str:
    digest = blake2b(digest_size=16)
    for key in keys:
        digest.update(bytes.fromhex(key))
    return digest.hexdigest()


def order_id(batch_id: str, content: str, repetition: int) -> str:
    """The same provider batch of the same study always has the same id."""
    return blake2b(f"{batch_id}/{content}/{repetition}".encode(), digest_size=12).hexdigest()


def is_small(remainder: int, sent: int) -> bool:
    """Whether a remainder is sent live; a large one gets a new provider batch."""
    return remainder <= max(SMALL_REMAINDER, int(sent * SMALL_SHARE))


def call_bytes(call: Call) -> int:
    """An upper bound of the bytes of the call in a provider batch."""
    texts = [call.system, *(message.text for message in call.messages)]
    return WRAPPING + sum(len(json.dumps(text)) + 40 for text in texts)


def split(pendings: Sequence[CollectedCall], most: int, bounds: ProviderBatchBounds) -> list[list[CollectedCall]]:
    """Splits a wave into parts of at most `most` calls, within the provider's bounds and in the order of asking. Equal requests
    of two batches without a cache go into two parts, since a result is identified by its request."""
    chunks: list[list[CollectedCall]] = []
    size, keys = 0, set[bytes]()
    for pending in pendings:
        weight = call_bytes(pending.call)
        full = not chunks or len(chunks[-1]) >= min(most, bounds.max_calls) or size + weight > bounds.max_bytes
        if full or pending.key in keys:
            chunks.append([])
            size, keys = 0, set()
        chunks[-1].append(pending)
        keys.add(pending.key)
        size += weight
    return chunks


@dataclass(slots=True)
class Queue:
    """The tokens that may wait at the provider in open provider batches of one group, learned from its errors."""

    allowed: float = float("inf")
    waiting: int = 0

    def count_fitting(self, calls: Sequence[Call]) -> int:
        """The length of the longest prefix of the calls that fits now."""
        if self.allowed == float("inf"):
            return len(calls)
        tokens = self.waiting
        for count, call in enumerate(calls):
            tokens += expected_input(call)
            if tokens > self.allowed:
                return count
        return len(calls)

    def refused(self, tokens: int) -> None:
        """Records that a batch with this many tokens did not fit next to the others, whose tokens are a safe limit."""
        self.allowed = self.waiting if self.waiting else tokens / 2

    def served(self) -> None:
        self.allowed *= 1.5


class ResultCollection:
    """The results of a provider batch. An answer replaces an error, and the first of two answers is kept."""

    def __init__(self, ticket: ProviderBatchTicket) -> None:
        self._ticket = ticket
        self.by_key: dict[str, ProviderBatchResult] = {}
        self.unread = False
        """it was incomplete in every reading"""
        self.foreign = 0
        """results of the last reading that belong to none of our calls"""

    def add(self, result: ProviderBatchResult) -> None:
        name = result.custom_id
        if name not in self._ticket.custom_ids:
            self.foreign += 1
            return
        key = name.rpartition("_")[2]
        known = self.by_key.get(key)
        if known is None or _rank(result) > _rank(known):
            self.by_key[key] = result

    @property
    def is_whole(self) -> bool:
        """Whether every call has its answer, so that other lines in the files do not matter."""
        return len(self.by_key) == self._ticket.count and all(one.answer is not None for one in self.by_key.values())

    @property
    def has_strayed(self) -> bool:
        """Whether there are results with unknown ids and calls without a result, which may belong together."""
        return self.foreign > 0 and len(self.by_key) < self._ticket.count

    @property
    def is_foreign(self) -> bool:
        """Whether there are results, and none of them is ours."""
        return self.foreign > 0 and not self.by_key


def _rank(result: ProviderBatchResult) -> int:
    """An answer ranks above an unusable reply, and a reply above an error."""
    return 0 if result.answer is None else 1 + result.answer.usable


# -- open provider batches ---------------------------------------------------------------------------------------------


LOST = "lost"
"""the reason for an unneeded reply: its provider batch was given up, or the provider no longer knows or shows it"""


class OpenJobs:
    """Tracks open provider batches, and writes their end."""

    def __init__(self, context: RunContext, records: ProviderBatchBook) -> None:
        self._context = context
        self._records = records
        self.queues: dict[tuple[str, str], Queue] = defaultdict(Queue)
        """by provider and group"""
        self.all: set[ProviderBatch] = set()
        self.by_address: dict[Address, ProviderBatch] = {}

    def add(self, job: ProviderBatch) -> None:
        self.all.add(job)
        job.queued = job.tokens
        self.queue_of(job).waiting += job.queued
        for address in job.addresses:
            self.by_address[address] = job

    def check(self, address: Address, key: bytes) -> None:
        """Checks that a resumed unit asks what an open provider batch has at its address."""
        job = self.by_address.get(address)
        if job is not None and job.addresses[address] != key.hex():
            raise replay_mismatch(sequence_number_of(address[0]), address[1])

    def free(self, pending: CollectedCall) -> None:
        """Releases the reservation of a call that is not sent this way."""
        self._context.accounts[pending.call.provider].budget.settle(pending.reserved, 0.0)
        pending.reserved = 0.0

    def queue_of(self, job: ProviderBatch) -> Queue:
        return self.queues[job.provider, job.group]

    def leave_queue(self, job: ProviderBatch) -> None:
        """Removes the batch from the provider's queue."""
        self.queue_of(job).waiting -= job.queued
        job.queued = 0

    def take_waiting(self, job: ProviderBatch) -> list[CollectedCall]:
        """Removes and returns the waiting calls of the job."""
        waiting, job.waiting = job.waiting, {}
        for address in waiting:
            del job.addresses[address]
            del self.by_address[address]
        return list(waiting.values())

    def abandon_waiting(self, job: ProviderBatch) -> list[CollectedCall]:
        """Removes and returns waiting calls. Their later results are unneeded, but stay paid for."""
        waiting, job.waiting = job.waiting, {}
        account = self._context.accounts[job.provider]
        for address, pending in waiting.items():
            job.abandoned[address] = job.addresses.pop(address)
            job.at_worst[address] = account.booked(pending.call, Answer("", usage_missing=True), batch=True)
            del self.by_address[address]
            job.held, pending.reserved = job.held + pending.reserved, 0.0
        return list(waiting.values())

    def abandon_unseen(self, job: ProviderBatch) -> list[CollectedCall]:
        """Removes and returns the calls of a provider batch that was never seen. If it exists, its replies are unneeded."""
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
        """Records unneeded answers, which are paid for and not used. If the batch was never seen to end, they count with their
        maximum cost."""
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
"""the reason for an unneeded reply: the provider finished it, and its result cannot be read"""


class Settlement:
    """Judges results one by one, and records them."""

    def __init__(
        self,
        context: RunContext,
        recorders: Mapping[int, CallRecorder],
        open_jobs: OpenJobs,
        returned: Counter[Address],
    ) -> None:
        self._context = context
        self._recorders = recorders
        """recorders by the number of the batch"""
        self._open = open_jobs
        self._returned = returned
        self._unusable: Counter[Address] = Counter()

    def _recorder(self, pending: CollectedCall) -> CallRecorder:
        """The recorder of the call's batch."""
        return self._recorders[batch_number_of(pending.unit_id)]

    def judge(self, job: ProviderBatch, pending: CollectedCall) -> ResultStatus:
        """Judges one result. An unusable reply that a retry may fix is paid for, and its call stays open: an empty reply is
        retried once, an interrupted one as often as a server error."""
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
        """Records calls of a batch that existed and returned nothing, which may be billed."""
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
