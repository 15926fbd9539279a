"""How many genomes and calls go at once: the presets, what they mean for [service], and the pace of one run.

The evolution's own sizes shape live evaluation: so many genomes at once, each with so many calls. Through a batch
API they must not cut waves, so there they do not apply; nor where `dynamic` leaves it all to the adaptive limiter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.config import Service
from engine.evolution.config import EvolutionSettings

Thing = TypeVar("Thing")

PRESETS: dict[str, dict[str, int]] = {
    "balanced": {
        "async_batch_size": 20,
        "max_concurrent_requests": 10,
        "genome_batch_size": 10,
        "max_concurrent_genomes": 5,
        "rate_limit_per_minute": 3500,
    },
    "conservative": {
        "async_batch_size": 10,
        "max_concurrent_requests": 5,
        "genome_batch_size": 5,
        "max_concurrent_genomes": 3,
        "rate_limit_per_minute": 2000,
    },
    "aggressive": {
        "async_batch_size": 30,
        "max_concurrent_requests": 15,
        "genome_batch_size": 15,
        "max_concurrent_genomes": 8,
        "rate_limit_per_minute": 3500,
    },
}
DYNAMIC_CONCURRENT = 100
"""where the adaptive limiter starts when nothing states a ceiling"""


@dataclass(frozen=True, slots=True)
class Pace:
    """None: no bound."""

    genome_group: int | None = None
    genomes_at_once: int | None = None
    problem_group: int | None = None
    calls_at_once: int | None = None


UNBOUND = Pace()
ONE_BY_ONE = Pace(genomes_at_once=1, calls_at_once=1)


def with_sizes(settings: EvolutionSettings) -> EvolutionSettings:
    """The sizes written out: the preset's where the config says nothing, and elites that leave room for children."""
    sizes = {name: size for name, size in PRESETS[settings.preset].items() if getattr(settings, name) is None}
    if settings.dynamic and "rate_limit_per_minute" in sizes:
        sizes["rate_limit_per_minute"] = 0
    if settings.elite_size >= settings.population_size:
        sizes["elite_size"] = settings.population_size // 2
    return settings.model_copy(update=sizes)


def with_limits(service: Service, settings: EvolutionSettings) -> Service:
    """What the sizes mean for all calls; what [service] states is a ceiling."""
    stated = service.model_fields_set
    bounds = [_at_once(settings), service.max_concurrent if "max_concurrent" in stated else None]
    rates = [rate for rate in (service.requests_per_minute, settings.rate_limit_per_minute) if rate]
    limits: dict[str, object] = {
        "max_concurrent": min((bound for bound in bounds if bound is not None), default=DYNAMIC_CONCURRENT),
        "requests_per_minute": min(rates, default=0),
        "timeout": min(service.timeout, settings.async_timeout) if "timeout" in stated else settings.async_timeout,
    }
    if not settings.enable_async_evaluation:
        limits["name"] = "live"
    return service.model_copy(update=limits)


def pace_of(settings: EvolutionSettings, *, gathers: bool) -> Pace:
    """`gathers`: calls leave through a batch API."""
    if not settings.enable_async_evaluation:
        return ONE_BY_ONE
    if gathers or settings.dynamic:
        return UNBOUND
    return Pace(
        settings.genome_batch_size,
        settings.max_concurrent_genomes,
        settings.async_batch_size,
        settings.max_concurrent_requests,
    )


def groups(things: Sequence[Thing], size: int | None) -> Iterator[Sequence[Thing]]:
    size = size or max(1, len(things))
    return (things[start : start + size] for start in range(0, len(things), size))


def _at_once(settings: EvolutionSettings) -> int | None:
    """The most calls that the sizes let be in flight; None: they do not say."""
    if not settings.enable_async_evaluation:
        return 1
    if settings.dynamic or not settings.max_concurrent_genomes or not settings.max_concurrent_requests:
        return None
    return settings.max_concurrent_genomes * settings.max_concurrent_requests
