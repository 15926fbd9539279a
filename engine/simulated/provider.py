"""The embedded provider: offline, deterministic by seed and request, live and with its own batch API.

It can be slow, faulty, limited and expensive, so every path of the engine can run without a key or a network. All its replies
are simulated, and Tidepool labels them so wherever they appear.
"""

import asyncio
import json
import math
import os
import re
import tempfile
import time
import zlib
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from random import Random

from tidepool.engine.answers import made_up
from tidepool.engine.call import Call, Message, PriceTag, expected_input, expected_tokens, seed_of
from tidepool.engine.config.sections import SimulatedSettings
from tidepool.engine.providers.protocol import (
    Answer,
    BatchApi,
    BatchedCall,
    BatchRefused,
    ErrorClass,
    NoReply,
    Provider,
    ProviderBatchBounds,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchState,
    ProviderBatchTicket,
    ProviderError,
    ProviderSpec,
)
from tidepool.engine.registries import load_place
from tidepool.engine.simulated.base import Responder, SimulatedReply
from tidepool.storage.file import replace_file, state_folder

MINUTE = 60.0


class SimulatedProvider(Provider):
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
        if call.form.startswith("{"):  # an answer of a study of the user's own
            spoken = SimulatedReply(made_up(call.form, Random(seed)))
        else:
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
    """A batch API like the real ones: create, poll, partial failure, expiry, cancel."""

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
        if not 0 <= age < self._settings.batch_seconds:  # below zero if the clock was set back
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
    """A factor with mean 1, log-normal, so that some calls are much slower than most."""
    if not jitter:
        return 1.0
    first, second = _share(seed, "latency", attempt), _share(seed, "latency2", attempt)
    normal = math.sqrt(-2 * math.log(max(first, 1e-12))) * math.cos(2 * math.pi * second)
    return math.exp(jitter * normal - jitter * jitter / 2)


PROVIDER = ProviderSpec(SimulatedSettings, SimulatedProvider)


# -- Purchases ---------------------------------------------------------------------------------------------------------


FOLDER_VARIABLE = "TIDEPOOL_SELLER"
STORED = 7
"""fields of a call that determine an answer, from its step to its `max_tokens`"""

_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""valid name of an order; one from an untrusted file may be a path"""


def seller_folder() -> Path:
    """TIDEPOOL_SELLER, else the user's state folder; a temporary folder if that is not writable."""
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else state_folder() / "seller"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / "tidepool-seller"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True, slots=True)
class SoldBatch:
    created_at: float
    cancelled_at: float | None
    count: int


class PurchaseLog:
    """The simulated provider's own record of its sales, kept outside the batch's process and file.

    A kill of the batch cannot hide a double purchase. Live sales are lines appended to a file. A provider batch counts as sold
    once its file with the suffix `.sold` exists. All files are in the seller's folder. Studies never read them.
    """

    def __init__(self, batch_id: str) -> None:
        self._batch_id = batch_id
        self._descriptor: int | None = None

    @cached_property
    def folder(self) -> Path:
        """Created with the first sale, so that a plan leaves no files."""
        return seller_folder()

    # -- live sales --------------------------------------------------------------------------------------

    def sell(self, seed: int) -> None:
        """Appends one line for each answer sold live; the seed is the hashed address of the call."""
        if self._descriptor is None:
            self._descriptor = os.open(
                self.folder / f"{self._batch_id}.sales", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
            )
        os.write(self._descriptor, b"%016x\n" % seed)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    # -- provider batches --------------------------------------------------------------------------------

    def add_order(self, order_id: str, calls: Iterable[tuple[str, int, Call]]) -> str:
        """A provider batch is bought when it is accepted, as with real providers."""
        listed = [(name, seed, [*call[:STORED], call.form]) for name, seed, call in calls]
        remote_id = f"simbatch_{order_id}_{time.time_ns():x}"
        replace_file(self.folder / f"{remote_id}.requests", zlib.compress(json.dumps(listed).encode(), 1))
        replace_file(self.folder / f"{remote_id}.sold", json.dumps([time.time(), len(listed)]).encode())
        return remote_id

    def find(self, order_id: str) -> str | None:
        sold = self.folder.glob(f"simbatch_{order_id}_*.sold") if _NAME.fullmatch(order_id) else ()
        return min((path.stem for path in sold), default=None)

    def look_up(self, remote_id: str) -> SoldBatch | None:
        if not _NAME.fullmatch(remote_id) or not (path := self.folder / f"{remote_id}.sold").exists():
            return None
        created_at, count = json.loads(path.read_bytes())
        cancelled = self.folder / f"{remote_id}.cancelled"
        return SoldBatch(created_at, float(cancelled.read_text()) if cancelled.exists() else None, count)

    def requests_of(self, remote_id: str) -> list[tuple[str, int, Call]]:
        listed = json.loads(zlib.decompress((self.folder / f"{remote_id}.requests").read_bytes()))
        return [
            (name, seed, Call(step, wave, model, tuple(Message(*one) for one in messages), *rest)._replace(form=form))
            for name, seed, (step, wave, model, messages, *rest, form) in listed
        ]

    def cancel(self, remote_id: str) -> None:
        if (sold := self.look_up(remote_id)) is not None and sold.cancelled_at is None:
            replace_file(self.folder / f"{remote_id}.cancelled", str(time.time()).encode())


# -- Responders --------------------------------------------------------------------------------------------------------


RESPONDERS: dict[str, tuple[str, ...]] = {
    "filler": ("provider:FILLER",),
    **dict.fromkeys(("solver", "solver-small", "solver-large", "solver-planted", "flat-solver"), ("solver:SOLVER",)),
    "persona": ("simulation:PERSONA",),
    "encoder": ("mutation:ENCODER",),
    "target": ("mutation:TARGET",),
    "rewriter": ("rewriter:REWRITER", "mutation:REWRITER"),
    "judge": ("simulation:JUDGE", "mutation:JUDGE", "secret_game:JUDGE", "rewriter:JUDGE"),
}
"""model name → responders, as module:name in this package; any other name is a persona of the secret game.

`rewriter` and `judge` serve several kinds of study. Their responders are chosen by the system prompt that each `recognises`. The
first one answers prompts that none recognises."""
PLAYER = "secret_game:PLAYER"

_FILLER_LENGTH = 300
_SENTENCE = "the tide comes in and the tide goes out "
_FILLER = (_SENTENCE * (_FILLER_LENGTH // len(_SENTENCE) + 1))[: _FILLER_LENGTH - 20]


def fill(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    """For measurements: three hundred characters that vary by seed and are fast to make."""
    return SimulatedReply(f"{seed:020d}{_FILLER}")


FILLER = Responder(fill)


def responder_for(call: Call) -> Responder:
    """The responder that answers a call."""
    responders = _responders(call.model_name)
    return responders[0] if len(responders) == 1 else _recognised(call.model_name, call.system)


@cache
def _responders(model_name: str) -> list[Responder]:
    return [load_place(f"{__package__}.{place}") for place in RESPONDERS.get(model_name, (PLAYER,))]


@lru_cache(maxsize=1024)
def _recognised(model_name: str, system: str) -> Responder:
    responders = _responders(model_name)
    return next((responder for responder in responders if responder.recognises(system)), responders[0])
