"""The services of the contract as a table: how many units advance at once, and by which transport."""

from dataclasses import dataclass
from enum import Enum

from tidepool.engine.config.sections import Service
from tidepool.storage.states import Transport


class Admission(Enum):
    ALL = "all together"
    LANES = "each to its end, so many at a time"
    GROUPS = "so many at a time, together"


@dataclass(frozen=True, slots=True)
class ServicePlan:
    admission: Admission
    transport: Transport
    """batch: by each provider's batch API where it has one"""

    @property
    def batched(self) -> bool:
        return self.transport is Transport.BATCH


SERVICES = {
    "default": ServicePlan(Admission.LANES, Transport.LIVE),
    "live": ServicePlan(Admission.ALL, Transport.LIVE),
    "openai": ServicePlan(Admission.GROUPS, Transport.BATCH),
    "anthropic": ServicePlan(Admission.GROUPS, Transport.BATCH),
    "openai-conversation": ServicePlan(Admission.ALL, Transport.BATCH),
    "anthropic-conversation": ServicePlan(Admission.ALL, Transport.BATCH),
    "auto": ServicePlan(Admission.ALL, Transport.BATCH),
}


def units_at_once(service: Service) -> int | None:
    """None: all of them."""
    match SERVICES[service.name].admission:
        case Admission.ALL:
            return None
        case Admission.LANES:
            return service.max_concurrent
        case Admission.GROUPS:
            return service.batch_size
