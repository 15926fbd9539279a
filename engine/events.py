"""What a watcher inside the process is told. Watchers in other processes read the file."""

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
    """Told before anything is sent, where the config has calls go elsewhere than usual, or with another key."""

    words: tuple[str, ...]
    """one line for each server: its models, its address, the variable of the key"""


@dataclass(frozen=True, slots=True)
class TransportPlanned:
    words: tuple[str, ...]
    """one line for each provider: live or by batch API, how many provider batches, which follow one another, the wait"""


@dataclass(frozen=True, slots=True)
class CallsExpected:
    """By the plan, told once."""

    total: int
    exact: bool
    """else it is an estimate"""


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
    """Why nothing leaves for a provider, and until when, by the wall clock, so that other processes can count down."""

    why: str
    since: float
    until: float
    down: bool
    """it fails, and it is not known when it will answer; `until` is when waiting ends"""


@dataclass(frozen=True, slots=True)
class ProvidersRest:
    """Told at every heartbeat while nothing leaves for some provider, and once more when all go on again."""

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
