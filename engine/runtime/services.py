"""The services of the contract as a table, and the expected number of calls of a provider at the same moment.

The plan knows the size of each wave before anything is sent. So the decision for a provider batch does not depend on which answer comes
first, on the budget, or on the cache. A study that cannot know the sizes in advance announces them wave by wave."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tidepool.engine.config.sections import FrozenConfig, Limits, ProviderSettings, Service
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint

if TYPE_CHECKING:
    from tidepool.engine.runtime.plans import Plan


class Admission(Enum):
    ALL = "all together"
    LANES = "each to its end, so many at a time"
    GROUPS = "so many at a time, together"


@dataclass(frozen=True, slots=True)
class ServicePlan:
    admission: Admission
    batched: bool
    """through each provider's batch API if it has one, else live"""
    provider: str = ""
    """the provider in its name, whose waves always use the batch API"""


SERVICES = {
    "default": ServicePlan(Admission.LANES, batched=False),
    "live": ServicePlan(Admission.ALL, batched=False),
    "openai": ServicePlan(Admission.GROUPS, batched=True, provider="openai"),
    "anthropic": ServicePlan(Admission.GROUPS, batched=True, provider="anthropic"),
    "openai-conversation": ServicePlan(Admission.ALL, batched=True, provider="openai"),
    "anthropic-conversation": ServicePlan(Admission.ALL, batched=True, provider="anthropic"),
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


def groups_of(units: int, size: int | None) -> int:
    """The number of sequential groups of `size` units, each of which waits for the one before."""
    return 1 if size is None else max(1, -(-units // size))


def batch_from(service: Service, provider: str, limits: Limits) -> int:
    """The minimum size of a wave for the provider's batch API.

    A service named after a provider always uses its batch API. Simulated models replace those of the named provider.
    """
    batch_provider = SERVICES[service.name].provider
    family = getattr(limits, "like", None) or provider
    return 0 if batch_provider and family in (batch_provider, "simulated") else limits.batch_from


@dataclass(frozen=True, slots=True)
class _PlannedWaves:
    """The waves of one provider, in order."""

    numbers: list[int]
    sizes: list[float]
    for_each_unit: list[float]


class ExpectedWaves:
    def __init__(self, plan: "Plan", of_all: "Plan | None" = None) -> None:
        """`of_all`: the plan of all batches in the same run, whose waves are sent together."""
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
        """number of calls in each wave, if it is known"""
        for planned in plan.calls if plan.exact else ():
            self._calls[planned.wave] += planned.calls

    def calls_in(self, wave: int) -> int | None:
        """Requests of the batch in a wave; None if the plan only estimates them."""
        return self._calls.get(wave)

    def announce(self, wave: int, calls: Mapping[str, int]) -> None:
        """Sets the calls of a wave, by model."""
        by_provider: Counter[str] = Counter()
        for model, count in calls.items():
            by_provider[model.partition(":")[0]] += count
        for provider, count in by_provider.items():
            self._announced[provider, wave] = count

    def size(self, provider: str, wave: int, units: int = 0) -> float:
        """The size of the wave with this number, or of the next planned one. `units`: the number of units with the same
        timing; 0: all units of the wave."""
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
    """The calls of other batches in the same wave, if they have at least as many rounds, since the rest ends earlier."""
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


MOST_GROUPS = 8
LEAST_IN_GROUP = 100
"""units in a group if any wave uses the batch API"""


@dataclass(frozen=True, slots=True)
class Stages:
    size: int
    """units in flight, or in a group"""
    gathered: bool
    """a group starts together and ends before the next"""


def stages_of(config: FrozenConfig, models: Iterable[str], units: int) -> Stages:
    """The stages of a batch with a [stop] rule and these models."""
    limits = _limits(config, models)
    least = _least_gathered(config, limits)
    at_once = sum(settings.max_concurrent * max(1, len(settings.hosts)) for settings in limits.values())
    window = at_once + at_once // 4  # so that a unit waits for each place that becomes free
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
    """The minimum size of a wave for the batch API; None: no wave uses it."""
    if not SERVICES[config.service.name].batched:
        return None
    sizes = []
    for name, settings in limits.items():
        if endpoint_of(name, settings).has_batches if is_endpoint(name, settings) else settings.batch_api:
            sizes.append(batch_from(config.service, name, settings))
    return min(sizes, default=None)


def units_at_a_time(config: FrozenConfig, models: Iterable[str], units: int) -> int | None:
    """The number of units that start together before others do, which does not affect live calls; None: all."""
    if not SERVICES[config.service.name].batched:
        return None
    if config.stop is None or _least_gathered(config, _limits(config, models)) is None:
        return units_at_once(config.service)
    return stages_of(config, models, units).size


def stop_notes(config: FrozenConfig, models: Iterable[str], units: int) -> Iterator[str]:
    """Notes of a plan about the [stop] rule."""
    if config.stop is None:
        return
    yield "The batch may stop early ([stop]). All numbers are for the full length."
    stages = stages_of(config, models, units)
    if stages.gathered:
        groups = -(-units // stages.size)
        yield (
            f"With the batch API, it checks after each of {groups} groups of {stages.size:,}, which run one after another. "
            f"This takes up to {groups} times as "
            'long as one group. With service.name = "live", it checks sooner, at the price of live requests.'
        )
    else:
        yield f"Up to {3 * stages.size:,} units that start before the rule stops the batch are finished and kept."
