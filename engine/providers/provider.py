"""What the engine asks of a provider, live and through a batch API. Providers classify errors; the engine decides."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from engine.call import Call
from engine.prices import PriceTag


class Fault(Enum):
    HEALS = "heals"
    """a fault of the network or the server: trying again helps"""
    REFUSED = "refused"
    """too many requests (429): slower helps"""
    OURS = "ours"
    """this request cannot be answered: it fails, with the provider's words"""
    SYSTEMIC = "systemic"
    """no request can be answered: missing key, unknown model, spend limit. The batch stops, with advice"""


class ProviderError(Exception):
    def __init__(self, fault: Fault, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.fault = fault
        self.retry_after = retry_after


class BatchRefused(Exception):
    """The batch API does not take this order, or any: its calls go live, and the log says why."""


class CreationUnclear(Exception):
    """Creating a provider batch was cut off: it may or may not exist. Look before asking again."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What the provider's headers say of its limits; None where they say nothing."""

    requests_per_minute: int | None = None
    requests_left: int | None = None
    requests_reset: float | None = None
    """seconds until the count starts anew"""
    tokens_per_minute: int | None = None
    tokens_left: int | None = None
    tokens_reset: float | None = None


class Answer(NamedTuple):
    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    truth: str | None = None
    limits: RateLimits | None = None


@dataclass(frozen=True, slots=True)
class Ordered:
    """One call of a provider batch, with the id under which its result comes back."""

    custom_id: str
    call: Call
    seed: int


@dataclass(frozen=True, slots=True)
class OrderSlip:
    """What identifies an order at a provider: enough to find it again after a crash."""

    order_id: str
    content_hash: str
    count: int
    created_at: float
    custom_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OrderState:
    ended: bool
    label: str
    """the provider's own word, for people"""
    done: int | None = None
    failed_reason: str | None = None
    """the provider refused the whole batch after taking it"""
    too_large: bool = False
    """the refusal was about size: smaller orders may pass"""


@dataclass(frozen=True, slots=True)
class OrderResult:
    """An answer or an error; an id that has neither is missing: expired, cancelled or lost."""

    custom_id: str
    answer: Answer | None = None
    error: str | None = None
    heals: bool = False
    """the error is one that asking again may heal"""


@dataclass(frozen=True, slots=True)
class OrderBounds:
    max_calls: int
    max_bytes: int
    max_tokens: int = 0
    """enqueued tokens; 0 = not known"""


class BatchApi(Protocol):
    bounds: OrderBounds

    async def create(self, slip: OrderSlip, calls: Sequence[Ordered]) -> str:
        """Submits once; returns the provider's id. Raises BatchRefused or CreationUnclear."""

    async def find(self, slip: OrderSlip) -> str | None:
        """Searches the provider's list for an order whose creation is unclear."""

    async def poll(self, remote_id: str) -> OrderState: ...

    def results(self, remote_id: str, expected: int) -> AsyncIterator[OrderResult]:
        """All results of an ended order, in any order."""

    async def cancel(self, remote_id: str) -> None: ...


class Provider(Protocol):
    name: str
    simulated: bool
    backoff: float
    """seconds before the first retry of a healing fault"""
    batches: BatchApi | None

    def serve(self, batch_id: str) -> None:
        """Tells which batch the calls belong to, before the first of them."""

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        """One live call, within its timeout. Raises ProviderError."""

    def price(self, model_name: str) -> PriceTag | None:
        """None: unknown."""

    async def check(self, model_names: Sequence[str]) -> None:
        """Raises a systemic ProviderError where no call could succeed, before anything is spent."""

    async def close(self) -> None: ...
