"""How many genomes and requests run at once: the presets, their effect on [service], and the pace of one run.

The evolution's own sizes limit live evaluation: the number of genomes at once, and of requests for each. A group is an upper
bound, not a barrier. The next genome or problem starts as soon as one is done, so a slow request does not delay the others.
With a batch API the sizes must not split waves, so they do not apply. They do not apply with `dynamic` either, which leaves
everything to the adaptive limiter.
"""

from tidepool.engine.config.sections import Service
from tidepool.engine.studies.evolution.config import EvolutionSettings

_SIZES = (
    *("async_batch_size", "max_concurrent_requests", "genome_batch_size", "max_concurrent_genomes"),
    "rate_limit_per_minute",
)
PRESETS: dict[str, dict[str, int]] = {
    "balanced": dict(zip(_SIZES, (20, 10, 10, 5, 3500), strict=True)),
    "conservative": dict(zip(_SIZES, (10, 5, 5, 3, 2000), strict=True)),
    "aggressive": dict(zip(_SIZES, (30, 15, 15, 8, 3500), strict=True)),
}
DYNAMIC_CONCURRENT = 100
"""where the adaptive limiter starts if there is no ceiling"""
TIMEOUT = 30.0
"""timeout of a request in seconds, by default"""


Pace = tuple[int | None, int | None]
"""genomes at once, and requests of each at once; None: unlimited"""


def with_sizes(settings: EvolutionSettings) -> EvolutionSettings:
    """Makes the sizes explicit: the preset's if the config sets none, and an elite that leaves room for children."""
    sizes = {name: size for name, size in PRESETS[settings.preset].items() if getattr(settings, name) is None}
    if settings.dynamic and "rate_limit_per_minute" in sizes:
        sizes["rate_limit_per_minute"] = 0
    if settings.elite_size >= settings.population_size:
        sizes["elite_size"] = settings.population_size // 2
    return settings.model_copy(update=sizes)


def with_limits(service: Service, settings: EvolutionSettings) -> Service:
    """Applies the sizes to all requests; explicit values in [service] are a ceiling."""
    stated = service.model_fields_set
    genomes, calls = pace_of(settings, gathers=False)
    bounds = [
        genomes * calls if genomes and calls else None,
        service.max_concurrent if "max_concurrent" in stated else None,
    ]
    timeouts = [settings.async_timeout, service.timeout if "timeout" in stated else None]
    rates = [rate for rate in (service.requests_per_minute, settings.rate_limit_per_minute) if rate]
    limits: dict[str, object] = {
        "max_concurrent": min((bound for bound in bounds if bound is not None), default=DYNAMIC_CONCURRENT),
        "requests_per_minute": min(rates, default=0),
        "timeout": min((timeout for timeout in timeouts if timeout is not None), default=TIMEOUT),
    }
    if not settings.enable_async_evaluation:
        limits["name"] = "live"
    return service.model_copy(update=limits)


def pace_of(settings: EvolutionSettings, *, gathers: bool) -> Pace:
    """`gathers`: requests use a batch API."""
    if not settings.enable_async_evaluation:
        return 1, 1
    if gathers or settings.dynamic:
        return None, None
    settings = with_sizes(settings)
    assert settings.genome_batch_size and settings.max_concurrent_genomes
    assert settings.async_batch_size and settings.max_concurrent_requests
    calls_of_a_group = settings.samples * len(settings.solvers()) * settings.async_batch_size
    genomes = min(settings.genome_batch_size, settings.max_concurrent_genomes)
    return genomes, min(calls_of_a_group, settings.max_concurrent_requests)
