"""A provider that does what a test says: answers, faults, and a batch API whose orders outlive a run."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidepool.engine.call import FREE, Call, PriceTag
from tidepool.engine.providers.protocol import (
    Answer,
    BatchApi,
    BatchedCall,
    ErrorClass,
    Notices,
    ProviderBatchBounds,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
)


@dataclass(frozen=True, slots=True)
class Asked:
    call: Call
    seed: int
    attempt: int


Script = Callable[[Asked], Awaitable[Answer]]


def words_of(call: Call, seed: int) -> str:
    return f"{call.step} says {seed % 10_000}"


async def plain(asked: Asked) -> Answer:
    return Answer(words_of(asked.call, asked.seed), 10, 5, 0.0)


class ScriptedProvider:
    name = "simulated"
    simulated = True
    backoff = 0.001

    def __init__(
        self, script: Script = plain, batches: "ScriptedBatches | None" = None, tag: PriceTag | None = FREE
    ) -> None:
        self.script = script
        self.batches: BatchApi | None = batches
        self.tag = tag
        self.asked: list[Asked] = []
        self.refusal: str | None = None
        self.closed = False
        self.settings: Any = None
        self.notices = Notices()

    def serve(self, batch_id: str) -> None: ...

    def concurrency(self, max_concurrent: int) -> int:
        return max_concurrent

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        asked = Asked(call, seed, attempt)
        self.asked.append(asked)
        return await self.script(asked)

    def price(self, model_name: str) -> PriceTag | None:
        return self.tag

    async def check(self, model_names: Sequence[str]) -> None:
        if self.refusal:
            raise ProviderError(ErrorClass.FATAL, self.refusal)

    async def close(self) -> None:
        self.closed = True


@dataclass
class TakenOrder:
    remote_id: str
    ticket: ProviderBatchTicket
    calls: list[BatchedCall]
    cancelled: bool = False
    polls: int = 0


def answered(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult | None:
    return ProviderBatchResult(ordered.custom_id, Answer(words_of(ordered.call, ordered.seed), 10, 5, 0.0))


@dataclass
class ScriptedBatches:
    """Faults are plain attributes: a test sets what shall go wrong, and reads `taken` for what was bought."""

    bounds: ProviderBatchBounds = field(default_factory=lambda: ProviderBatchBounds(max_calls=1000, max_bytes=10**9))
    taken: list[TakenOrder] = field(default_factory=list)
    before_taking: Callable[[ProviderBatchTicket, Sequence[BatchedCall]], None] = lambda ticket, calls: None
    """raises where the provider refuses, or is not reached"""
    after_taking: Callable[[TakenOrder], None] = lambda order: None
    """raises where the answer to a creation that worked is lost"""
    state: Callable[[TakenOrder], ProviderBatchState] = lambda order: ProviderBatchState(True, "ended")
    result: Callable[[TakenOrder, BatchedCall], ProviderBatchResult | None] = answered
    """None: missing"""
    seen: asyncio.Event = field(default_factory=asyncio.Event)
    """set when an order was taken"""

    cancels_refused: int = 0
    """how many of the first cancellations do not work"""
    uploads: bool = False
    group: Callable[[Call], str] = lambda call: ""

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        return ""

    async def withdraw(self, upload_id: str) -> None: ...

    async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
        self.before_taking(ticket, calls)
        order = TakenOrder(f"remote-{len(self.taken) + 1}", ticket, list(calls))
        self.taken.append(order)
        self.seen.set()
        self.after_taking(order)
        return order.remote_id

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        return next((order.remote_id for order in self.taken if order.ticket.order_id == ticket.order_id), None)

    async def poll(self, remote_id: str) -> ProviderBatchState:
        order = self.order(remote_id)
        order.polls += 1
        return ProviderBatchState(True, "cancelled") if order.cancelled else self.state(order)

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        order = self.order(remote_id)
        for ordered in reversed(order.calls):
            await asyncio.sleep(0)
            if (result := self.result(order, ordered)) is not None:
                yield result

    async def cancel(self, remote_id: str) -> None:
        self.cancels_refused -= 1
        if self.cancels_refused >= 0:
            raise ProviderError(ErrorClass.TRANSIENT, "not now")
        self.order(remote_id).cancelled = True

    def order(self, remote_id: str) -> TakenOrder:
        return next(order for order in self.taken if order.remote_id == remote_id)

    def bought(self) -> list[str]:
        """The custom id of every call of every order, once for each time it was ordered."""
        return [ordered.custom_id for order in self.taken for ordered in order.calls]
