"""How many calls of a provider are expected to be ready at the same moment: what decides whether a wave is worth a
provider batch.

The plan says so before anything is called, so that the decision does not depend on which answer comes first, on what
the budget lets go, or on what the cache knew. A study that only finds out as it goes tells it wave by wave.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from tidepool.engine.studies.planned_calls import Plan


@dataclass(frozen=True, slots=True)
class _PlannedWaves:
    """Of one provider, in their order."""

    numbers: list[int]
    sizes: list[float]
    for_each_unit: list[float]


class ExpectedWaves:
    def __init__(self, plan: Plan, of_all: Plan | None = None) -> None:
        """`of_all`: what all batches of the same run ask, whose waves leave together."""
        self._beside = _beside(plan, of_all) if of_all is not None and of_all is not plan else {}
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
        self._told: dict[tuple[str, int], int] = {}
        self._calls: Counter[int] = Counter()
        """in each wave, where that is known"""
        for planned in plan.calls if plan.exact else ():
            self._calls[planned.wave] += planned.calls

    def calls_in(self, wave: int) -> int | None:
        """Requests of the batch in a wave; None where the plan only estimates them."""
        return self._calls.get(wave)

    def tell(self, wave: int, calls: Mapping[str, int]) -> None:
        """What a wave will hold after all, by model."""
        by_provider: Counter[str] = Counter()
        for model, count in calls.items():
            by_provider[model.partition(":")[0]] += count
        for provider, count in by_provider.items():
            self._told[provider, wave] = count

    def size(self, provider: str, wave: int, units: int = 0) -> float:
        """Of the wave with this number, or of the next one that the plan names. `units`: so many go at the same pace;
        0: all that the plan has in the wave."""
        own = self._own_size(provider, wave, units)
        return own + self._beside.get((provider, wave), 0.0) if self._beside else own

    def _own_size(self, provider: str, wave: int, units: int) -> float:
        if (told := self._told.get((provider, wave))) is not None:
            return told
        planned = self._planned.get(provider)
        if planned is None:
            return 0.0
        place = min(bisect_left(planned.numbers, wave), len(planned.numbers) - 1)
        return planned.for_each_unit[place] * units if units else planned.sizes[place]


def _beside(plan: Plan, of_all: Plan) -> dict[tuple[str, int], float]:
    """How many calls of others leave with those of a wave: of whoever has no fewer rounds, since others go on without."""
    rounds: dict[tuple[str, int], int] = {}
    beside: dict[tuple[str, int], float] = defaultdict(float)
    for planned in plan.calls:
        place = planned.model.partition(":")[0], planned.wave
        rounds[place] = max(rounds.get(place, 0), planned.rounds)
        beside[place] -= planned.together
    for planned in of_all.calls:
        place = planned.model.partition(":")[0], planned.wave
        if planned.rounds >= rounds.get(place, planned.rounds):
            beside[place] += planned.together
    return {place: max(0.0, calls) for place, calls in beside.items()}
