"""The services of the contract as a table, and how many calls of a provider are expected to be ready at the same moment.

The plan says how large a wave will be before anything is called, so that the decision for a provider batch does not depend on which answer
comes first, on what the budget lets go, or on what the cache knew. A study that only finds out as it goes announces it wave by wave."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tidepool.engine.config.sections import FrozenConfig, Limits, ProviderSettings, Service
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.storage.states import Transport

if TYPE_CHECKING:
    from tidepool.engine.runtime.plans import Plan


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


@dataclass(frozen=True, slots=True)
class _PlannedWaves:
    """Of one provider, in their order."""

    numbers: list[int]
    sizes: list[float]
    for_each_unit: list[float]


class ExpectedWaves:
    def __init__(self, plan: "Plan", of_all: "Plan | None" = None) -> None:
        """`of_all`: what all batches of the same run ask, whose waves leave together."""
        self._extra_calls = _calls_of_others(plan, of_all) if of_all is not None and of_all is not plan else {}
        sizes: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        totals: Counter[tuple[str, int]] = Counter()
        for planned in plan.calls:
            provider = planned.model.partition(":")[0]
            sizes[provider][planned.wave] += planned.together
            totals[provider, planned.wave] += planned.calls
        self._planned: dict[str, _PlannedWaves] = {}
        for provider, of_waves in sizes.items():
            numbers = sorted(of_waves)
            shares = [totals[provider, number] / max(1, plan.units) for number in numbers]
            self._planned[provider] = _PlannedWaves(numbers, [of_waves[number] for number in numbers], shares)
        self._announced: dict[tuple[str, int], int] = {}
        self._calls: Counter[int] = Counter()
        """in each wave, where that is known"""
        for planned in plan.calls if plan.exact else ():
            self._calls[planned.wave] += planned.calls

    def calls_in(self, wave: int) -> int | None:
        """Requests of the batch in a wave; None where the plan only estimates them."""
        return self._calls.get(wave)

    def announce(self, wave: int, calls: Mapping[str, int]) -> None:
        """What a wave will hold after all, by model."""
        by_provider: Counter[str] = Counter()
        for model, count in calls.items():
            by_provider[model.partition(":")[0]] += count
        for provider, count in by_provider.items():
            self._announced[provider, wave] = count

    def size(self, provider: str, wave: int, units: int = 0) -> float:
        """Of the wave with this number, or of the next one that the plan names. `units`: so many go at the same pace;
        0: all that the plan has in the wave."""
        own = self._own_size(provider, wave, units)
        return own + self._extra_calls.get((provider, wave), 0.0) if self._extra_calls else own

    def _own_size(self, provider: str, wave: int, units: int) -> float:
        if (announced := self._announced.get((provider, wave))) is not None:
            return announced
        planned = self._planned.get(provider)
        if planned is None:
            return 0.0
        place = min(bisect_left(planned.numbers, wave), len(planned.numbers) - 1)
        return planned.for_each_unit[place] * units if units else planned.sizes[place]


def _calls_of_others(plan: "Plan", of_all: "Plan") -> dict[tuple[str, int], float]:
    """How many calls of others leave with those of a wave: of whoever has no fewer rounds, since others go on without."""
    rounds: dict[tuple[str, int], int] = {}
    extra: dict[tuple[str, int], float] = defaultdict(float)
    for planned in plan.calls:
        place = planned.model.partition(":")[0], planned.wave
        rounds[place] = max(rounds.get(place, 0), planned.rounds)
        extra[place] -= planned.together
    for planned in of_all.calls:
        place = planned.model.partition(":")[0], planned.wave
        if planned.rounds >= rounds.get(place, planned.rounds):
            extra[place] += planned.together
    return {place: max(0.0, calls) for place, calls in extra.items()}


# -- Stages of a batch with a stop rule --------------------------------------------------------------------------------


MOST_GROUPS = 8
LEAST_IN_GROUP = 100
"""units, where any wave goes by batch API"""


@dataclass(frozen=True, slots=True)
class Stages:
    size: int
    """units in flight, or in a group"""
    gathered: bool
    """a group is begun together and ends before the next"""


def stages_of(config: FrozenConfig, models: Iterable[str], units: int) -> Stages:
    """Of a batch that has a stop rule and asks these models."""
    limits = _limits(config, models)
    least = _least_gathered(config, limits)
    at_once = sum(settings.max_concurrent * max(1, len(settings.hosts)) for settings in limits.values())
    window = at_once + at_once // 4  # so that somebody waits for each place that becomes free
    if least is None:
        one_by_one = SERVICES[config.service.name].admission is Admission.LANES
        return Stages(config.service.max_concurrent if one_by_one else window, gathered=False)
    groups = min(MOST_GROUPS, units // (least or LEAST_IN_GROUP))
    if groups > 1:
        return Stages(min(-(-units // groups), units_at_once(config.service) or units), gathered=True)
    if least:
        return Stages(max(1, min(window, least - 1)), gathered=False)
    return Stages(max(1, -(-units // 2)), gathered=True)


def _limits(config: FrozenConfig, models: Iterable[str]) -> dict[str, ProviderSettings]:
    return {name: config.limits_for(name) for name in {model.partition(":")[0] for model in models}}


def _least_gathered(config: FrozenConfig, limits: dict[str, ProviderSettings]) -> int | None:
    """How large a wave must be to go by batch API; None: none does."""
    if not SERVICES[config.service.name].batched:
        return None
    sizes = []
    for name, settings in limits.items():
        if endpoint_of(name, settings).has_batches if is_endpoint(name, settings) else settings.batch_api:
            sizes.append(batch_from(config.service, name, settings))
    return min(sizes, default=None)


def units_at_a_time(config: FrozenConfig, models: Iterable[str], units: int) -> int | None:
    """How many units are begun together before others are, which makes no difference to live calls; None: all."""
    if not SERVICES[config.service.name].batched:
        return None
    if config.stop is None or _least_gathered(config, _limits(config, models)) is None:
        return units_at_once(config.service)
    return stages_of(config, models, units).size


def stop_notes(config: FrozenConfig, models: Iterable[str], units: int) -> Iterator[str]:
    """What a plan says of the rule."""
    if config.stop is None:
        return
    yield "It may stop earlier, when it is sure ([stop]); all figures are those of the most that it may take."
    stages = stages_of(config, models, units)
    if stages.gathered:
        groups = -(-units // stages.size)
        yield (
            f"By batch API it looks after each of {groups} groups of {stages.size:,}, one after another: up to {groups} times the "
            'waiting of one. service.name = "live" looks sooner, at the price of live calls.'
        )
    else:
        yield f"Up to {3 * stages.size:,} that were begun before it is sure are finished and kept."
