"""Waves: how many calls of a provider are expected to be ready at the same moment, and how waves and runs went.

The plan says how large a wave will be before anything is called, so that the decision for a provider batch does not depend on
which answer comes first, on what the budget lets go, or on what the cache knew. A study that only finds out as it goes tells
it wave by wave. Studies never read the clock; the log of time, pace, cache, tokens and money is written here.
"""

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from tidepool.engine.results.blocks import money, number, span
from tidepool.engine.runtime.context import RunContext
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


def _calls_of_others(plan: Plan, of_all: Plan) -> dict[tuple[str, int], float]:
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


class PerformanceLog:
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._since = time.monotonic()
        self._before = context.ledger.tally.so_far()

    def write(self, scope: str) -> None:
        """Of all that happened since it was last told."""
        before, since = self._before, self._since
        now = self._before = self._context.ledger.tally.so_far()
        self._since = time.monotonic()
        seconds = max(1e-9, self._since - since)
        calls, live = now.calls - before.calls, now.call_seconds - before.call_seconds
        cached, bought = now.cached - before.cached, now.bought - before.bought
        tokens = now.input_tokens + now.output_tokens - before.input_tokens - before.output_tokens
        peak = sum(account.limiter.peak for account in self._context.accounts.values())
        figures = [
            f"{span(seconds)}",
            f"{calls:,} calls ({number(calls / seconds, 1)}/s)",
            f"{number(live / seconds, 1)} in flight on average, peak {peak:,}",
            *([f"mean latency {span(live / bought)}"] if live and bought else []),
            f"{cached:,} from the cache ({100 * cached / calls if calls else 0:.0f} %)",
            f"{now.retried - before.retried:,} retried",
            f"{now.failed - before.failed:,} failed",
            f"{tokens:,} tokens ({tokens / seconds:,.0f}/s)",
            money(None if now.unpriced > before.unpriced else now.cost_usd - before.cost_usd),
        ]
        self._context.log("info", f"Performance of {scope}: {', '.join(figures)}.")


EVERY_WAVE = 20
"""waves of a run of which each is logged; of later ones the 32nd, the 64th and so on, since a run may have 100,000"""


class WaveLog:
    """Logs the start and the end of each wave: requests, seconds, mean per message.

    A wave ends with the last request that the study expects in it. Where it does not know their number, the waves follow
    one another, and the start of the next one is its end. What is open at the end of the run ends with it.
    """

    def __init__(self, context: RunContext, expected: ExpectedWaves) -> None:
        self._context = context
        self._expected = expected
        self.started: set[int] = set()
        self._open: set[int] = set()
        context.ledger.tally.on_wave = self._recorded

    def start(self, wave: int) -> None:
        """The first request of a wave that this run makes."""
        self.started.add(wave)
        for earlier in sorted(self._open):
            if self._expected.calls_in(earlier) is None and earlier < wave:
                self._end(earlier)
        number = len(self.started)
        if number <= EVERY_WAVE or not number & (number - 1):
            self._open.add(wave)
            calls = self._expected.calls_in(wave)
            planned = "" if calls is None else f": {calls:,} request{'s' * (calls != 1)} planned"
            self._context.log("info", f"Wave {wave:,} started{planned}.")

    def close(self) -> None:
        for wave in sorted(self._open):
            self._end(wave)

    def _recorded(self, wave: int, calls: int) -> None:
        if wave in self._open and (expected := self._expected.calls_in(wave)) is not None and calls >= expected:
            try:
                self._end(wave)
            except Exception as error:  # of a listener: the writer calls this, and must go on
                self._context.fail(error)

    def _end(self, wave: int) -> None:
        self._open.discard(wave)
        calls, failed, seconds = self._context.ledger.tally.wave_figures(wave)
        mean = f", {span(seconds / calls)} per message" if calls else ""
        failures = f", {failed:,} lost" if failed else ""
        requests = f"{calls:,} request{'s' * (calls != 1)}"
        self._context.log("info", f"Wave {wave:,} ended: {requests} in {span(seconds)}{mean}{failures}.")
