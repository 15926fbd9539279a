"""How many units a batch with a stop rule begins at a time: known from its config, so that its plan says the same.

Live it is a window that keeps the limits busy. Where calls go by batch API it is a group of units, since every look costs
the time of the provider batches before it: at most eight groups, and none so small that its waves would not be worth a
provider batch.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidepool.engine.config.sections import FrozenConfig, ProviderSettings
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.engine.runtime.services import SERVICES, Admission, batch_from, units_at_once

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


class Ends:
    """The ends of blocks, made as far as they are asked for."""

    def __init__(self, ends: Iterator[int], units: int) -> None:
        self._remaining, self._units = ends, units
        self._read_ends: list[int] = []

    def from_unit(self, unit: int) -> int:
        """The last unit of the block that has this one; of all, where it is in none."""
        while not self._read_ends or self._read_ends[-1] < unit:
            if (end := next(self._remaining, None)) is None:
                return self._units
            self._read_ends.append(end)
        return self._read_ends[bisect_left(self._read_ends, unit)]
