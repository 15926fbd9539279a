"""The services of the contract as a table: how many units advance at once, and by which transport."""

from dataclasses import dataclass
from enum import Enum

from tidepool.engine.config.sections import Limits, Service
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
    provider: str = ""
    """the provider it is named after, whose waves go by batch API whatever their size"""

    @property
    def batched(self) -> bool:
        return self.transport is Transport.BATCH


SERVICES = {
    "default": ServicePlan(Admission.LANES, Transport.LIVE),
    "live": ServicePlan(Admission.ALL, Transport.LIVE),
    "openai": ServicePlan(Admission.GROUPS, Transport.BATCH, "openai"),
    "anthropic": ServicePlan(Admission.GROUPS, Transport.BATCH, "anthropic"),
    "openai-conversation": ServicePlan(Admission.ALL, Transport.BATCH, "openai"),
    "anthropic-conversation": ServicePlan(Admission.ALL, Transport.BATCH, "anthropic"),
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


def groups_of(units: int, size: int | None) -> int:
    """How many groups of so many units follow one another, each waiting for the end of the one before."""
    return 1 if size is None else max(1, -(-units // size))


def batch_from(service: Service, provider: str, limits: Limits) -> int:
    """How many calls a wave of the provider must be expected to have to go by its batch API.

    Whoever names a provider's batch API has decided. Simulated models stand in for those of the provider that is named.
    """
    batch_provider = SERVICES[service.name].provider
    family = getattr(limits, "like", None) or provider
    return 0 if batch_provider and family in (batch_provider, "simulated") else limits.batch_from
