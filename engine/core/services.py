"""The services of the contract as a table: how many units advance at once, and by which transport."""

from dataclasses import dataclass
from enum import Enum

from tidepool.engine.config.sections import Service


class Admission(Enum):
    ALL = "all together"
    LANES = "each to its end, so many at a time"
    GROUPS = "so many at a time, together"


@dataclass(frozen=True, slots=True)
class ServicePlan:
    admission: Admission
    batched: bool
    """by each provider's batch API where it has one"""


SERVICES = {
    "default": ServicePlan(Admission.LANES, batched=False),
    "live": ServicePlan(Admission.ALL, batched=False),
    "openai": ServicePlan(Admission.GROUPS, batched=True),
    "anthropic": ServicePlan(Admission.GROUPS, batched=True),
    "openai-conversation": ServicePlan(Admission.ALL, batched=True),
    "anthropic-conversation": ServicePlan(Admission.ALL, batched=True),
    "auto": ServicePlan(Admission.ALL, batched=True),
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
