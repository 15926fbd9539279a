"""Events for listeners inside the process. Watchers in other processes read the file."""

from collections.abc import Callable
from dataclasses import dataclass

from tidepool.storage.states import BatchStatus


@dataclass(frozen=True, slots=True)
class BatchStarted:
    batch_id: str
    kind: str
    name: str
    resumed: bool


@dataclass(frozen=True, slots=True)
class ServersNamed:
    """Sent before any request, if the config sends calls to unusual servers or with another key."""

    words: tuple[str, ...]
    """one line for each server: its models, its address, the variable of the key"""


@dataclass(frozen=True, slots=True)
class TransportPlanned:
    words: tuple[str, ...]
    """one line for each provider: live or batch API, number of provider batches, which are sequential, waiting time"""


@dataclass(frozen=True, slots=True)
class CallsExpected:
    """The number of calls in the plan, sent once."""

    total: int
    exact: bool
    """otherwise it is an estimate"""


@dataclass(frozen=True, slots=True)
class UnitsExpected:
    total: int


@dataclass(frozen=True, slots=True)
class CallAnswered:
    unit: int
    step: str
    wave: int
    source: str
    """live, batch, cache or replay"""
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class CallLost:
    unit: int
    step: str
    wave: int
    error: str


@dataclass(frozen=True, slots=True)
class CallRetried:
    unit: int
    step: str
    error: str


@dataclass(frozen=True, slots=True)
class UnitEnded:
    unit: int
    error: str | None


@dataclass(frozen=True, slots=True)
class ProviderBatchChanged:
    order_id: str
    provider: str
    state: str
    calls: int
    waited: float


@dataclass(frozen=True, slots=True)
class Resting:
    """Why nothing is sent to a provider, and until when, by the wall clock, so that other processes can count down."""

    why: str
    since: float
    until: float
    down: bool
    """it fails, and the time of its return is unknown; `until` is when waiting ends"""


@dataclass(frozen=True, slots=True)
class ProvidersRest:
    """Sent at every heartbeat while nothing is sent to some provider, and once more when all continue."""

    resting: tuple[tuple[str, Resting], ...]


@dataclass(frozen=True, slots=True)
class Logged:
    level: str
    message: str


@dataclass(frozen=True, slots=True)
class BatchEnded:
    status: BatchStatus
    reason: str | None


Event = (
    BatchStarted
    | ServersNamed
    | TransportPlanned
    | CallsExpected
    | UnitsExpected
    | CallAnswered
    | CallLost
    | CallRetried
    | UnitEnded
    | ProviderBatchChanged
    | ProvidersRest
    | Logged
    | BatchEnded
)
Listener = Callable[[Event], None]
