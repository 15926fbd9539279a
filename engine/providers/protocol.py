"""The interface of a provider, live and through a batch API. Providers classify errors; the engine decides."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Container, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.sections import ProviderSettings
from tidepool.storage.states import FinishReason


class ErrorClass(Enum):
    TRANSIENT = "transient"
    """a fault of the network or the server: a retry helps"""
    RATE_LIMITED = "rate_limited"
    """too many requests (429): sending slower helps"""
    CLIENT = "client"
    """this request cannot be answered: it fails, with the provider's words"""
    FATAL = "fatal"
    """no request can be answered: missing key, unknown model, spend limit. The batch stops, with advice"""


class NoReply(Enum):
    """How it came that a provider said nothing at all."""

    UNREACHABLE = "unreached"
    """no connection was made: certainly nothing was bought"""
    TIMEOUT = "timeout"
    """no answer in time: it may have been bought"""
    BROKEN = "broken"
    """what came was not whole, or is nothing that can be read: it may have been bought"""
    LOST = "lost"
    """who carried it is gone: it may have been bought, and nothing is known of the provider"""


class ProviderError(Exception):
    def __init__(
        self, fault: ErrorClass, message: str, retry_after: float | None = None, no_reply: NoReply | None = None
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.retry_after = retry_after
        self.no_reply = no_reply
        """None: the provider answered"""

    def __reduce__(self) -> tuple[Any, ...]:
        """It travels from workers as it is, without what caused it."""
        return ProviderError, (self.fault, str(self), self.retry_after, self.no_reply)

    @property
    def kind(self) -> str:
        """Its class in a few words: logs and reports count errors by it."""
        return _NO_REPLY_KINDS[self.no_reply] if self.no_reply is not None else _FAULTS[self.fault]


_NO_REPLY_KINDS = {
    NoReply.UNREACHABLE: "failed connection",
    NoReply.TIMEOUT: "timeout",
    NoReply.BROKEN: "broken reply",
    NoReply.LOST: "lost worker",
}
_FAULTS = {
    ErrorClass.TRANSIENT: "server error",
    ErrorClass.RATE_LIMITED: "rate limit error",
    ErrorClass.CLIENT: "rejected request",
    ErrorClass.FATAL: "fatal error",
}


class BatchRefused(Exception):
    """The batch API does not take this provider batch: its calls go live, and the log says why."""

    def __init__(self, message: str, *, too_large: bool = False, doubtful: bool = False) -> None:
        super().__init__(message)
        self.too_large = too_large
        """smaller provider batches may pass"""
        self.doubtful = doubtful
        """it never said that it took it, and may have all the same: it is looked for again later"""


class CreationUnclear(Exception):
    """Creating a provider batch was cut off: it may or may not exist. Look before asking again."""


class ProviderBatchGone(Exception):
    """The provider does not know the batch, or keeps its results no longer. A fresh one may need a moment to show."""


class ResultsIncomplete(Exception):
    """The results of a provider batch can be read in part only: what was readable has been given."""


class Notices:
    """What the user should know, each thing once: kept until the batch's log listens."""

    def __init__(self) -> None:
        self._messages: dict[str, None] = {}
        self._listener: Callable[[str], None] | None = None

    def __call__(self, message: str) -> None:
        if message not in self._messages:
            self._messages[message] = None
            if self._listener is not None:
                self._listener(message)

    def listen(self, listener: Callable[[str], None]) -> None:
        self._listener = listener
        for message in self._messages:
            listener(message)


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


_NO_ANSWERS = (FinishReason.FILTERED, FinishReason.EMPTY, FinishReason.ERROR)


class Answer(NamedTuple):
    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    truth: str | None = None
    limits: RateLimits | None = None
    seconds: float | None = None
    """how long it took, where the provider knows better than a clock around it"""
    finish: FinishReason | None = FinishReason.COMPLETE
    """None: it was answered before that was recorded"""
    served_model: str | None = None
    """the model that the provider says has answered"""
    thought: str | None = None
    """reasoning that came with the reply: never said aloud"""
    reasoning_tokens: int = 0
    """a part of the output tokens"""
    usage_missing: bool = False
    """the provider gave no believable usage: the engine books the worst case"""

    @property
    def usable(self) -> bool:
        """Whether it is an answer: something was said, and neither withheld nor broken off."""
        return bool(self.text) and self.finish not in _NO_ANSWERS


@dataclass(frozen=True, slots=True)
class BatchedCall:
    """One call of a provider batch, with the id under which its result comes back."""

    custom_id: str
    call: Call
    seed: int


@dataclass(frozen=True, slots=True)
class ProviderBatchTicket:
    """What identifies a provider batch at its provider: enough to find it again after a crash."""

    order_id: str
    content_hash: str
    count: int
    created_at: float
    """when it was intended, by our clock"""
    batch_id: str = ""
    wave: int = 0
    custom_ids: Container[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProviderBatchState:
    ended: bool
    label: str
    """the provider's own word, for people"""
    done: int | None = None
    failed_reason: str | None = None
    """the provider refused the whole batch after taking it"""
    too_large: bool = False
    """the refusal was about size: smaller provider batches may pass"""
    unclear: bool = False
    """what the provider says of it means nothing to us: it may be anything"""


@dataclass(frozen=True, slots=True)
class ProviderBatchResult:
    """An answer or an error; an id that has neither is missing: expired, cancelled or lost."""

    custom_id: str
    answer: Answer | None = None
    error: str | None = None
    heals: bool = False
    """the error is one that asking again may heal"""


@dataclass(frozen=True, slots=True)
class ProviderBatchBounds:
    max_calls: int
    max_bytes: int


class BatchApi(Protocol):
    bounds: ProviderBatchBounds
    uploads: bool = False
    """what is to be bought is brought to the provider in a step of its own, which buys nothing"""

    def group(self, call: Call) -> str:
        """Calls of one group may share a provider batch."""

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        """Brings the calls to the provider and returns the id of what is there now. Harmless to repeat."""
        return ""

    async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
        """Submits once; returns the provider's id. Raises BatchRefused, CreationUnclear, or a ProviderError where
        it certainly created nothing."""

    async def withdraw(self, upload_id: str) -> None:
        """Takes an upload back, so that a creation which is still on its way can no longer succeed."""
        return

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        """Searches the provider's list for a provider batch whose creation is unclear; `others` are known to be none."""

    async def poll(self, remote_id: str) -> ProviderBatchState:
        """Raises ProviderBatchGone where the provider does not know it."""

    def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        """All results of an ended provider batch, in any order. Raises ResultsIncomplete after the last of them where
        some could not be read."""

    async def cancel(self, remote_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """How a provider is declared: what its section [providers.NAME] may hold, and how it is opened."""

    settings: type[ProviderSettings]
    open: "Callable[..., Provider]"
    """Takes the settings, with the limits of [service] where it has none of its own; a family that endpoints of other
    names are like takes the name as well."""
    models: tuple[str, ...] = ()
    """what is listed where nobody can be asked"""
    keys: tuple[str, ...] = ()
    """environment variables that may hold a key: never shown, and told before a key goes to a strange server"""


class Provider(ABC):
    """To be derived from: a provider of another package needs `name` and `complete`."""

    name: str
    simulated = False
    backoff = 0.5
    """seconds before the first retry of a healing fault"""
    batches: BatchApi | None = None

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings: Any = settings
        """replaced when a limit changes while running"""
        self.notices = Notices()

    def serve(self, batch_id: str) -> None:
        """Tells which batch the calls belong to, before the first of them."""
        return

    def concurrency(self, max_concurrent: int) -> int:
        """How many live calls a configured `max_concurrent` allows in all."""
        return max_concurrent

    @abstractmethod
    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        """One live call, within its timeout. Raises ProviderError."""

    def price(self, model_name: str) -> PriceTag | None:
        """None: unknown. Then costs are unknown too, and a budget is refused. `FREE` says what it says."""
        return None

    async def check(self, model_names: Sequence[str]) -> None:
        """Raises a systemic ProviderError where no call could succeed, before anything is spent."""
        return

    async def close(self) -> None:
        return None
