"""A provider batch, and the decisions about it that need no provider: how to cut a wave, what to do with what remains.

The ids of its calls, and of the units that wait for it without being in memory, take a few bytes each, since there may be a
million. `ResultCollection` brings the readings of its results together: one result for each call, by its key.
"""

import asyncio
import json
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b

from tidepool.engine.call import Call, expected_input
from tidepool.engine.providers.protocol import Answer, ProviderBatchBounds, ProviderBatchResult, ProviderBatchTicket
from tidepool.engine.providers.replies import is_retryable
from tidepool.engine.runtime.unit import CollectedCall
from tidepool.storage.purchases import Address

KEY_BYTES = 16


def custom_id(order_id: str, key: str) -> str:
    """A call's id at the provider: any single one of them tells which provider batch it belongs to."""
    return f"{order_id}_{key}"


def split_custom_id(name: str) -> tuple[str, str]:
    """(id of its provider batch, key) in the id of a result."""
    order_id, _, key = name.rpartition("_")
    return order_id, key


class CallNames:
    """The ids of all calls of a provider batch."""

    __slots__ = ("_keys", "_order_id")

    def __init__(self, order_id: str, keys: Iterable[str]) -> None:
        self._order_id = order_id
        self._keys = b"".join(sorted(map(bytes.fromhex, keys)))

    def __len__(self) -> int:
        return len(self._keys) // KEY_BYTES

    def __getitem__(self, place: int) -> bytes:
        return self._keys[place * KEY_BYTES : (place + 1) * KEY_BYTES]

    def __contains__(self, name: object) -> bool:
        order_id, key = split_custom_id(str(name))
        try:
            digest = bytes.fromhex(key)
        except ValueError:
            return False
        place = bisect_left(self, digest)
        return order_id == self._order_id and place < len(self) and self[place] == digest and key == digest.hex()


class SuspendedUnits:
    """Units whose calls a provider batch holds and whose stories are not in memory; one entry a call."""

    __slots__ = ("_ids",)

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._ids = array("q", sorted(ids))

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, unit_id: int) -> bool:
        place = bisect_left(self._ids, unit_id)
        return place < len(self._ids) and self._ids[place] == unit_id

    def add(self, ids: Iterable[int]) -> None:
        self._ids = array("q", sorted([*self._ids, *ids]))

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def between(self, first: int, last: int) -> list[int]:
        return sorted(set(self._ids[bisect_left(self._ids, first) : bisect_right(self._ids, last)]))

    def discard(self, ids: "set[int]") -> None:
        """These are in memory again."""
        self._ids = array("q", [one for one in self._ids if one not in ids])


SMALL_REMAINDER = 10
SMALL_SHARE = 0.02
WRAPPING = 400
"""bytes around the texts of a call in a provider batch"""
RETENTION_SECONDS = 28 * 86400.0
"""after this the providers no longer keep results"""


@dataclass(slots=True, eq=False)
class ProviderBatch:
    """A job at a provider, as this process knows it; the file keeps its row."""

    ticket: ProviderBatchTicket
    provider: str
    group: str
    addresses: dict[Address, str]
    """the calls that are still open, each with the key of what is asked; those of suspended units are in its row only"""
    tokens: int = 0
    """input tokens it is expected to hold at the provider"""
    upload_id: str = ""
    remote_id: str | None = None
    unsure: bool = False
    """it was recognised by its looks: its results must prove that it is ours"""
    known: bool = False
    """this run has created it, was shown it by the provider, or cannot rule out that it exists"""
    withdrawn: bool = False
    """its upload was taken back while its creation was unclear"""
    queued: int = 0
    """the part of them that counts in the provider's queue"""
    held: float = 0.0
    """reserved for calls that no story holds: before a restart, or given up waiting for"""
    held_each: float = 0.0
    waiting: dict[Address, CollectedCall] = field(default_factory=dict)
    """the parked stories by what they wait for; after a restart they come one by one"""
    suspended: SuspendedUnits = field(default_factory=SuspendedUnits)
    """units that are not in memory, and are replayed when it has results"""
    handler: "ResultHandler | None" = None
    """set when it has come to something: what becomes of those who wait"""
    results: dict[str, ProviderBatchResult] | None = None
    """set when the provider is done: by key"""
    unread: bool = False
    """its results could be read in part only"""
    booked: frozenset[Address] = frozenset()
    """calls of which it brought, before a restart, what is counted as surplus"""
    abandoned: dict[Address, str] = field(default_factory=dict)
    """calls that were answered another way since: a late answer is surplus"""
    at_worst: dict[Address, Answer] = field(default_factory=dict)
    """what those may have cost, where nobody ever learns it"""
    since: float = field(default_factory=time.monotonic)
    """when this run made it or took it up, by a clock that nobody sets"""
    older: float = 0.0
    """how old it was then"""
    cancelled_at: float | None = None
    """when it was cancelled because it took too long, by the same clock"""
    life: "asyncio.Task[None] | None" = None
    """what creates and follows it"""
    bringing_back: bool = False
    """the next suspended units are about to be replayed"""
    reads: bool = False
    """its results are those that may be in memory"""
    given_up: bool = False
    """somebody did not want to wait for it any more"""

    @property
    def can_handle(self) -> bool:
        """It has come to something, and whoever waits for it has come."""
        return self.handler is not None and len(self.waiting) == len(self.addresses)

    @property
    def is_over(self) -> bool:
        """Nobody waits for it any more."""
        return not self.addresses and not self.suspended

    @property
    def id(self) -> str:
        return self.ticket.order_id

    @property
    def age(self) -> float:
        return self.older + time.monotonic() - self.since


ResultHandler = Callable[[ProviderBatch], Awaitable[None]]
"""what is done with those who wait for it and are there; again for those who come later"""


class ResultStatus(Enum):
    """What a provider batch did for one call."""

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
    """The same provider batch of the same study has the same id, whoever makes it."""
    return blake2b(f"{batch_id}/{content}/{repetition}".encode(), digest_size=12).hexdigest()


def is_small(remainder: int, sent: int) -> bool:
    """A small remainder goes live; a large one is worth a provider batch of its own."""
    return remainder <= max(SMALL_REMAINDER, int(sent * SMALL_SHARE))


def call_bytes(call: Call) -> int:
    """No fewer bytes than the call has in a provider batch."""
    texts = [call.system, *(message.text for message in call.messages)]
    return WRAPPING + sum(len(json.dumps(text)) + 40 for text in texts)


def split(pendings: Sequence[CollectedCall], most: int, bounds: ProviderBatchBounds) -> list[list[CollectedCall]]:
    """Cuts a wave into parts of at most `most` calls, within the provider's bounds, in the order of asking. What is asked
    twice, by two batches of a study that use no cache, goes into two of them: a result is known by what was asked."""
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
    """How many tokens may wait at the provider in open provider batches of one group: learned from its refusals."""

    allowed: float = float("inf")
    waiting: int = 0

    def count_fitting(self, calls: Sequence[Call]) -> int:
        """How many of the calls, taken in order, fit now."""
        if self.allowed == float("inf"):
            return len(calls)
        tokens = self.waiting
        for count, call in enumerate(calls):
            tokens += expected_input(call)
            if tokens > self.allowed:
                return count
        return len(calls)

    def refused(self, tokens: int) -> None:
        """One of so many tokens did not fit beside the others: what those hold is a safe measure."""
        self.allowed = self.waiting if self.waiting else tokens / 2

    def served(self) -> None:
        self.allowed *= 1.5


class ResultCollection:
    """An answer wins over an error, whichever came first, and of two answers the first."""

    def __init__(self, ticket: ProviderBatchTicket) -> None:
        self._ticket = ticket
        self.by_key: dict[str, ProviderBatchResult] = {}
        self.unread = False
        """it could not be read whole, however often"""
        self._read: set[str] = set()
        self.foreign = 0
        """results of the last reading that belong to no call of ours"""
        self.repeated = 0
        """results of the last reading whose call had one already"""

    def begin_reading(self) -> None:
        self._read = set()
        self.foreign = self.repeated = 0

    def add(self, result: ProviderBatchResult) -> None:
        name = result.custom_id
        if name not in self._ticket.custom_ids:
            self.foreign += 1
            return
        self.repeated += name in self._read
        self._read.add(name)
        _, key = split_custom_id(name)
        known = self.by_key.get(key)
        if known is None or _rank(result) > _rank(known):
            self.by_key[key] = result

    @property
    def is_whole(self) -> bool:
        """Every call has its answer: whatever else stands in the files does not matter."""
        return len(self.by_key) == self._ticket.count and all(one.answer is not None for one in self.by_key.values())

    @property
    def has_strayed(self) -> bool:
        """Results came that cannot be told whose they are, and calls have none: those may be theirs."""
        return self.foreign > 0 and len(self.by_key) < self._ticket.count

    @property
    def is_foreign(self) -> bool:
        """There are results, and none of them is ours."""
        return self.foreign > 0 and not self.by_key


def _rank(result: ProviderBatchResult) -> int:
    """An answer is worth more than a reply that is none, and that more than an error."""
    return 0 if result.answer is None else 1 + result.answer.usable
