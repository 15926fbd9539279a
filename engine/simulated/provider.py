"""The embedded provider: offline, deterministic by seed and request, live and with a batch API of its own.

It can be made slow, faulty, limited and expensive, so every path of the engine runs without a key or a network.
Whatever it says is simulated, and Tidepool labels it so wherever it shows.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Collection, Sequence
from random import Random

from tidepool.engine.call import Call, PriceTag, expected_input, expected_tokens, seed_of
from tidepool.engine.config.sections import SimulatedSettings
from tidepool.engine.providers.protocol import (
    Answer,
    BatchApi,
    BatchedCall,
    BatchRefused,
    ErrorClass,
    LiveProvider,
    NoReply,
    ProviderBatchBounds,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
    ProviderSpec,
)
from tidepool.engine.simulated.purchase_log import PurchaseLog
from tidepool.engine.simulated.responders import responder_for

MINUTE = 60.0


class SimulatedProvider(LiveProvider):
    name = "simulated"
    simulated = True
    settings: SimulatedSettings

    def __init__(self, settings: SimulatedSettings, batch_id: str = "no-batch") -> None:
        super().__init__(settings)
        self.seller = PurchaseLog(batch_id)
        self.backoff = max(0.01, settings.latency)
        self.batches = SimulatedBatches(self) if settings.batch_api else None
        self._tag = PriceTag(settings.price_input / 1e6, settings.price_output / 1e6)
        self._recent: deque[float] = deque()
        self._faulty = settings.error_rate > 0 or settings.fatal_rate > 0

    def serve(self, batch_id: str) -> None:
        self.seller = PurchaseLog(batch_id)

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        if self.settings.enforced_per_minute:
            self._enforce()
        if self.settings.latency:
            await self._take_time(seed, attempt)
        if self._faulty:
            self._fail_sometimes(seed, attempt)
        answer = self.answer(call, seed)
        self.seller.sell(seed)
        return answer

    def answer(self, call: Call, seed: int, *, batch: bool = False) -> Answer:
        spoken = responder_for(call).speak(call.model_name, call.system, call.messages, seed)
        input_tokens, output_tokens = expected_input(call), min(call.max_tokens, expected_tokens(spoken.text))
        cost = self._tag.cost(input_tokens, output_tokens, batch=batch)
        return Answer(spoken.text, input_tokens, output_tokens, cost, spoken.truth)

    def price(self, model_name: str) -> PriceTag | None:
        return self._tag

    async def close(self) -> None:
        self.seller.close()

    async def _take_time(self, seed: int, attempt: int) -> None:
        latency = self.settings.latency * latency_factor(seed, attempt, self.settings.jitter)
        await asyncio.sleep(min(latency, self.settings.timeout))
        if latency > self.settings.timeout:
            text = f"no answer within {self.settings.timeout:g} s (simulated)"
            raise ProviderError(ErrorClass.TRANSIENT, text, no_reply=NoReply.TIMEOUT)

    def _enforce(self) -> None:
        now = time.monotonic()
        while self._recent and self._recent[0] <= now - MINUTE:
            self._recent.popleft()
        if len(self._recent) >= self.settings.enforced_per_minute:
            wait = self._recent[0] + MINUTE - now
            raise ProviderError(ErrorClass.RATE_LIMITED, "too many requests (simulated)", retry_after=min(wait, 1.0))
        self._recent.append(now)

    def _fail_sometimes(self, seed: int, attempt: int) -> None:
        if _share(seed, "fatal") < self.settings.fatal_rate:
            raise ProviderError(ErrorClass.CLIENT, "this request cannot be answered (simulated)")
        if _share(seed, "error", attempt) < self.settings.error_rate:
            raise ProviderError(ErrorClass.TRANSIENT, "server error (simulated)")


class SimulatedBatches(BatchApi):
    """A batch API as the real ones have it: take, poll, partial failure, expiry, cancel."""

    bounds = ProviderBatchBounds(max_calls=50_000, max_bytes=200_000_000)

    def __init__(self, provider: SimulatedProvider) -> None:
        self._provider = provider
        self._settings = provider.settings

    def group(self, call: Call) -> str:
        return ""

    async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
        if self._settings.batch_refuse:
            raise BatchRefused("this account has no batches (simulated)")
        requests = [(batched.custom_id, batched.seed, batched.call) for batched in calls]
        return self._provider.seller.add_order(ticket.order_id, requests)

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        return self._provider.seller.find(ticket.order_id)

    async def poll(self, remote_id: str) -> ProviderBatchState:
        sold = self._provider.seller.look_up(remote_id)
        if sold is None:
            raise ProviderBatchGone(f"{remote_id} is not known (simulated)")
        if sold.cancelled_at is not None:
            return ProviderBatchState(True, "cancelled")
        age = time.time() - sold.created_at
        if not 0 <= age < self._settings.batch_seconds:  # below zero: the clock was set back since
            return ProviderBatchState(True, "ended", sold.count)
        return ProviderBatchState(False, "in_progress", int(sold.count * age / self._settings.batch_seconds))

    async def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        sold = self._provider.seller.look_up(remote_id)
        requests = self._provider.seller.requests_of(remote_id)
        Random(remote_id).shuffle(requests)
        finished = len(requests)
        if sold is not None and sold.cancelled_at is not None and self._settings.batch_seconds:
            finished = int(finished * min(1.0, (sold.cancelled_at - sold.created_at) / self._settings.batch_seconds))
        for count, (name, seed, call) in enumerate(requests):
            if not count % 500:
                await asyncio.sleep(0)
            if count < finished and _share(seed, "expire", remote_id) >= self._settings.batch_expire_rate:
                yield self._result(name, seed, call, remote_id)

    def _result(self, name: str, seed: int, call: Call, remote_id: str) -> ProviderBatchResult:
        if _share(seed, "fatal") < self._settings.fatal_rate:
            return ProviderBatchResult(name, error="this request cannot be answered (simulated)")
        if _share(seed, "batch", remote_id) < self._settings.batch_error_rate:
            return ProviderBatchResult(name, error="server error (simulated)", heals=True)
        return ProviderBatchResult(name, self._provider.answer(call, seed, batch=True))

    async def cancel(self, remote_id: str) -> None:
        self._provider.seller.cancel(remote_id)


def _share(seed: int, *address: object) -> float:
    return seed_of(seed, *address) / 2**63


def latency_factor(seed: int, attempt: int, jitter: float) -> float:
    """A factor with mean 1: log-normal, so that some calls are much slower than most."""
    if not jitter:
        return 1.0
    first, second = _share(seed, "latency", attempt), _share(seed, "latency2", attempt)
    normal = math.sqrt(-2 * math.log(max(first, 1e-12))) * math.cos(2 * math.pi * second)
    return math.exp(jitter * normal - jitter * jitter / 2)


PROVIDER = ProviderSpec(SimulatedSettings, SimulatedProvider)
