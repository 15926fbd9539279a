"""The interface of a provider, live and through a batch API. Providers classify errors, and the engine decides."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Container, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol

from typing_extensions import TypeVar

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.sections import ProviderSettings
from tidepool.storage.states import FinishReason

P = TypeVar("P", bound=ProviderSettings, default=Any)


class ErrorClass(Enum):
    """Each value is the class in a few words."""

    TRANSIENT = "server error"
    """a temporary error of the network or the server; a retry helps"""
    RATE_LIMITED = "rate limit error"
    """too many requests (429); sending more slowly helps"""
    CLIENT = "rejected request"
    """this request cannot be answered; it fails with the provider's message"""
    FATAL = "fatal error"
    """no request can be answered: missing key, unknown model, spend limit; the batch stops, with advice"""


class NoReply(Enum):
    """Why there was no reply."""

    UNREACHABLE = "unreached"
    """no connection was made; certainly not billed"""
    TIMEOUT = "timeout"
    """no answer in time; possibly billed"""
    BROKEN = "broken"
    """the response was incomplete or unreadable; possibly billed"""
    LOST = "lost"
    """the worker that sent it is gone; possibly billed, and nothing is known about the provider"""


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
        """Pickles without the cause, for transfer from workers."""
        return ProviderError, (self.fault, str(self), self.retry_after, self.no_reply)

    @property
    def kind(self) -> str:
        """The class of the error in a few words. Logs and reports count errors by it."""
        return _NO_REPLY_KINDS[self.no_reply] if self.no_reply is not None else self.fault.value


_NO_REPLY_KINDS = {
    NoReply.UNREACHABLE: "failed connection",
    NoReply.TIMEOUT: "timeout",
    NoReply.BROKEN: "broken reply",
    NoReply.LOST: "lost worker",
}


class BatchRefused(Exception):
    """The batch API rejects this provider batch. Its requests are sent live, and the log has the reason."""

    def __init__(self, message: str, *, too_large: bool = False, doubtful: bool = False) -> None:
        super().__init__(message)
        self.too_large = too_large
        """smaller provider batches may be accepted"""
        self.doubtful = doubtful
        """the provider may have accepted it without saying so; it is looked for again later"""


class CreationUnclear(Exception):
    """Creating a provider batch was interrupted, so it may or may not exist. Check before trying again."""


class ProviderBatchGone(Exception):
    """The provider does not know the batch, or has deleted its results. A new batch may take a moment to appear."""


class ResultsIncomplete(Exception):
    """The results of a provider batch are only partly readable. All readable results were returned."""


class Notices:
    """Messages for the user, each reported once. They are stored until the batch's log is connected."""

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
    """The rate limits in a provider's headers; None for missing values."""

    requests_per_minute: int | None = None
    requests_left: int | None = None
    requests_reset: float | None = None
    """seconds until the count is reset"""
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
    """duration, if the provider measures it better than a clock around the request"""
    finish: FinishReason | None = FinishReason.COMPLETE
    """None: the answer is older than this column"""
    served_model: str | None = None
    """the model that answered, as the provider reports it"""
    thought: str | None = None
    """reasoning that came with the reply, which is not part of the message"""
    reasoning_tokens: int = 0
    """part of the output tokens"""
    usage_missing: bool = False
    """the provider reported no plausible usage, so the engine books the maximum"""

    @property
    def usable(self) -> bool:
        """Whether the reply has text, and was neither withheld nor interrupted."""
        return bool(self.text) and self.finish not in _NO_ANSWERS


@dataclass(frozen=True, slots=True)
class BatchedCall:
    """One request of a provider batch, with the id of its result."""

    custom_id: str
    call: Call
    seed: int


@dataclass(frozen=True, slots=True)
class ProviderBatchTicket:
    """Identifies a provider batch at its provider, so that it can be found again after a crash."""

    order_id: str
    content_hash: str
    count: int
    created_at: float
    """when the creation was planned, by our clock"""
    batch_id: str = ""
    wave: int = 0
    custom_ids: Container[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProviderBatchState:
    ended: bool
    label: str
    """the provider's own word, for display"""
    done: int | None = None
    failed_reason: str | None = None
    """the provider rejected the whole batch after accepting it"""
    too_large: bool = False
    """it was rejected for its size; smaller provider batches may be accepted"""
    unclear: bool = False
    """the provider's status is unknown to Tidepool"""


@dataclass(frozen=True, slots=True)
class ProviderBatchResult:
    """An answer or an error. An id with neither is missing: expired, cancelled or lost."""

    custom_id: str
    answer: Answer | None = None
    error: str | None = None
    heals: bool = False
    """a retry may fix the error"""


@dataclass(frozen=True, slots=True)
class ProviderBatchBounds:
    max_calls: int
    max_bytes: int


class BatchApi(Protocol):
    bounds: ProviderBatchBounds
    uploads: bool = False
    """the content is uploaded in a separate step, which is free"""

    def group(self, call: Call) -> str:
        """Requests of one group may share a provider batch."""

    async def upload(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall]) -> str:
        """Uploads the requests and returns the id of the upload. Safe to repeat."""
        return ""

    async def create(self, ticket: ProviderBatchTicket, calls: Sequence[BatchedCall], upload_id: str) -> str:
        """Creates a batch once and returns the provider's id. Raises BatchRefused, CreationUnclear, or a ProviderError if
        it certainly created nothing."""

    async def withdraw(self, upload_id: str) -> None:
        """Deletes an upload, so that a creation that is still in progress can no longer succeed."""
        return

    async def find(self, ticket: ProviderBatchTicket, others: Collection[str]) -> str | None:
        """Searches the provider's list for a batch whose creation is unclear. `others` are known to be other batches."""

    async def poll(self, remote_id: str) -> ProviderBatchState:
        """Raises ProviderBatchGone if the provider does not know it."""

    def results(self, remote_id: str) -> AsyncIterator[ProviderBatchResult]:
        """All results of an ended provider batch, in any order. Raises ResultsIncomplete after the last of them if some could
        not be read."""

    async def cancel(self, remote_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """Declares a provider: the keys of its section [providers.NAME], and how to open it."""

    settings: type[ProviderSettings]
    open: "Callable[..., Provider]"
    """Takes the settings, completed with the limits of [service]. A family that other endpoints use with `like` also
    takes the name."""
    models: tuple[str, ...] = ()
    """models to list if the provider cannot be asked"""
    keys: tuple[str, ...] = ()
    """environment variables that may hold a key; never shown, and named before a key is sent to an unknown server"""


class Provider(ABC, Generic[P]):
    """The base class of providers. A provider of another package needs `name` and `complete`. `P` is the type of its settings."""

    name: str
    simulated = False
    backoff = 0.5
    """seconds before the first retry of a temporary error"""
    batches: BatchApi | None = None

    def __init__(self, settings: P) -> None:
        self.settings = settings
        """replaced when a limit changes while running"""
        self.notices = Notices()

    def serve(self, batch_id: str) -> None:
        """Sets the batch that the requests belong to, before the first of them."""
        return

    def concurrency(self, max_concurrent: int) -> int:
        """The maximum number of live requests in total for a configured `max_concurrent`."""
        return max_concurrent

    @abstractmethod
    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        """Sends one live request, within its timeout. Raises ProviderError."""

    def price(self, model_name: str) -> PriceTag | None:
        """The price of a model. None: unknown, so costs are unknown too and a budget is rejected. `FREE` is a price of zero."""
        return None

    async def check(self, model_names: Sequence[str]) -> None:
        """Raises a fatal ProviderError if no request could succeed, before anything is spent."""
        return

    async def close(self) -> None:
        return None
