"""What a batch will take, worked out before anything is called: waves, calls, tokens, money, time and transport.

A wave goes by batch API where its provider is expected to be asked enough calls at the same moment (`batch_from`). Rounds that
wait for one another are waves of their own: a game of many rounds may take thousands of small ones."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidepool.engine.call import Call, PriceTag, worst_price
from tidepool.engine.config.endpoints import refuse_retired, resolve_model
from tidepool.engine.config.sections import FrozenConfig, Limits
from tidepool.engine.providers.catalogue import open_provider
from tidepool.engine.providers.protocol import BatchApi, Provider
from tidepool.engine.results.blocks import judge_notes, span
from tidepool.engine.runtime.services import SERVICES, batch_from, units_at_once
from tidepool.engine.studies.planned_calls import Plan, PlannedCalls, merged

# -- transport ---------------------------------------------------------------------------------------------------------


UNKNOWN_WAIT = "minutes to 24 h each"
"""what hosted providers promise of a provider batch"""


@dataclass(frozen=True, slots=True)
class ProviderTransport:
    """How the calls of one provider go."""

    provider: str
    calls_live: int
    calls_batch: int
    provider_batches: int
    one_after_another: int
    """of the provider batches: those that leave at the same moment count once"""
    largest_wave: int
    """most calls that are expected at the same moment"""
    batch_from: int | None
    """how many it takes to go by batch API; None: all go live, however many"""
    wait: str
    """how long a provider batch takes"""

    def in_words(self, *, at_most: bool) -> str:
        if not self.calls_batch:
            if not self.batch_from or self.largest_wave >= self.batch_from:
                return f"{self.provider} live"
            waves = f"waves of {_counted(self.largest_wave, 'call')} at most"
            return f"{self.provider} live: {waves} (batch API from {self.batch_from:,}, service.batch_from)"
        live = f"; {_counted(self.calls_live, 'call')} of small waves live" if self.calls_live else ""
        batches = f"{_counted(self.provider_batches, 'provider batch', 'es')}, "
        if self.provider_batches < 2:
            batches += self.wait.removesuffix(" each")
        else:
            together = "all at once" if self.one_after_another < 2 else f"{self.one_after_another:,} one after another"
            batches += f"{together}, {self.wait}"
        return f"{self.provider} by batch API: {'at most ' if at_most else ''}{batches}{live}"


@dataclass(frozen=True, slots=True)
class TransportPlan:
    providers: tuple[ProviderTransport, ...]
    provider_batches: int
    one_after_another: int
    at_most: bool
    """stories go on live between their provider batches, so that some of those leave together"""
    batched: tuple[int, ...]
    """for each entry of the plan, how many of its calls go by batch API"""

    @property
    def words(self) -> tuple[str, ...]:
        """One line for each provider: the same wherever the plan is shown."""
        return tuple(provider.in_words(at_most=self.at_most) for provider in self.providers)

    def as_json(self) -> dict[str, Any]:
        return {
            "provider_batches": self.provider_batches,
            "one_after_another": self.one_after_another,
            "at_most": self.at_most,
            "providers": [asdict(provider) for provider in self.providers],
            "words": list(self.words),
        }


def transport_plan(
    plan: Plan, config: FrozenConfig, apis: Mapping[str, BatchApi | None], *, several: bool = False
) -> TransportPlan:
    """`apis`: the batch API of each provider, None where it has none. `several`: of batches that run side by side, of which
    one may go live where another has enough calls."""
    by_provider: dict[str, list[_Entry]] = defaultdict(list)
    for place, planned in enumerate(plan.calls):
        by_provider[planned.model.partition(":")[0]].append((place, planned))
    tallies = [_ProviderTally(name, config, apis.get(name)) for name in sorted(by_provider)]
    for tally in tallies:
        tally.count(by_provider[tally.name])
    waves = {wave for tally in tallies for wave, times in tally.moments.items() if times}
    for tally in tallies:
        tally.count_joining(by_provider[tally.name], waves)
    batched = Counter[int]()
    for tally in tallies:
        batched += tally.batched
    transports = tuple(tally.summary(by_provider[tally.name]) for tally in tallies)
    return TransportPlan(
        transports,
        sum(one.provider_batches for one in transports),
        sum(max(tally.moments[wave] for tally in tallies) for wave in waves),
        any(one.calls_batch for one in transports) and (several or any(one.calls_live for one in transports)),
        tuple(batched[place] for place in range(len(plan.calls))),
    )


_Entry = tuple[int, PlannedCalls]
"""with its place in the plan"""


class _ProviderTally:
    """Goes through what is planned for one provider, wave by wave."""

    def __init__(self, name: str, config: FrozenConfig, api: BatchApi | None) -> None:
        self.name = name
        self._api = api if SERVICES[config.service.name].batched else None
        self._limits = config.limits_for(name)
        self._least = batch_from(config.service, name, self._limits)
        self.provider_batches = 0
        self.batched: Counter[int] = Counter()
        """calls that go by batch API, by the place of their entry"""
        self.moments: Counter[int] = Counter()
        """by wave: how often, one after another, something leaves by batch API"""
        self._sizes: dict[tuple[int, str], int] = {}
        """by wave and group: how many calls leave together, each time"""

    def count(self, entries: Iterable[_Entry]) -> None:
        """Waves that a story waits for."""
        for wave, members in self._by_wave(entries, joining=False).items():
            for times, same_time in _by_company(members):
                groups = self._groups(same_time)
                for group, calls in groups.items():
                    self._sizes[wave, group] = _size(calls)
                    self._leave(calls, times, self._batches_of(_size(calls)))
                self.moments[wave] += times if groups else 0

    def count_joining(self, entries: Iterable[_Entry], leaving: Collection[int]) -> None:
        """What leaves with the first wave of the next round; or, where that goes live, all at the end."""
        for members in self._by_wave(entries, joining=True).values():
            for group, calls in self._groups(members).items():
                (_, first), *_ = calls
                existing = self._sizes.get((first.joins, group), 0)
                more = self._batches_of(existing + _size(calls)) - self._batches_of(existing)
                self._leave(calls, first.rounds, more if first.joins in leaving else 0)

    def _by_wave(self, entries: Iterable[_Entry], *, joining: bool) -> dict[int, list[_Entry]]:
        waves: dict[int, list[_Entry]] = defaultdict(list)
        for place, planned in entries:
            if planned.operation == "chat" and bool(planned.joins) == joining:
                waves[planned.wave].append((place, planned))
        return waves

    def _groups(self, same_time: Iterable[_Entry]) -> dict[str, list[_Entry]]:
        """Those of one moment that may share provider batches, where they go by batch API at all."""
        groups: dict[str, list[_Entry]] = defaultdict(list)
        if self._api is not None and _size(same_time) >= self._least:
            for place, planned in same_time:
                groups[self._api.group(Call("", planned.wave, planned.model, ()))].append((place, planned))
        return {group: members for group, members in groups.items() if _size(members) > 1}

    def _leave(self, calls: Iterable[_Entry], times: int, provider_batches: int) -> None:
        self.provider_batches += times * provider_batches
        for place, planned in calls:
            self.batched[place] += round(times * planned.together)

    def _batches_of(self, calls: int) -> int:
        most = (
            self._limits.batch_size if self._api is None else min(self._limits.batch_size, self._api.bounds.max_calls)
        )
        return math.ceil(calls / max(2, most))

    def summary(self, entries: Iterable[_Entry]) -> ProviderTransport:
        planned = [entry for _, entry in entries]
        batched = self.batched.total()
        sizes: dict[tuple[int, int], float] = defaultdict(float)
        for entry in planned:
            sizes[entry.joins, entry.wave] += entry.together
        wait, seconds = UNKNOWN_WAIT, getattr(self._limits, "batch_seconds", None)
        if seconds is not None:
            wait = f"{span(seconds)} each" if seconds else "an instant each"
        return ProviderTransport(
            self.name,
            sum(entry.calls for entry in planned) - batched,
            batched,
            self.provider_batches,
            self.moments.total(),
            round(max(sizes.values())),
            None if self._api is None else self._least,
            wait,
        )


def _size(entries: Iterable[_Entry]) -> int:
    """How many calls are asked at the same moment."""
    return round(sum(planned.together for _, planned in entries))


def _by_company(members: Sequence[_Entry]) -> Iterator[tuple[int, list[_Entry]]]:
    """Those of one wave side by side, with how often they are: who has more rounds goes on without the others."""
    done = 0
    for rounds in sorted({planned.rounds for _, planned in members}):
        yield rounds - done, [(place, planned) for place, planned in members if planned.rounds >= rounds]
        done = rounds


def _counted(count: int, what: str, plural: str = "s") -> str:
    return f"{count:,} {what}{plural if count != 1 else ''}"


# -- prices ------------------------------------------------------------------------------------------------------------


__all__ = ["Plan", "PlannedCalls", "merged", "priced"]

TYPICAL_SECONDS = 2.0
"""what a live call of a model over the network is taken to last, where nothing better is known"""


def priced(plan: Plan, config: FrozenConfig, *, several: bool = False) -> dict[str, Any]:
    """The plan with money and time, as `--dry-run --json` prints it. Unknown prices give null, never 0.

    All figures are what is expected; `at_most` has those that are not exceeded. `several`: of batches side by side.
    """
    names = {planned.model.partition(":")[0] for planned in (*plan.calls, *plan.at_most)}
    providers = {name: open_provider(name, config.limits_for(name)) for name in names}
    for model in {planned.model for planned in plan.calls}:
        refuse_retired(resolve_model(model))
    transport = transport_plan(
        plan, config, {name: provider.batches for name, provider in providers.items()}, several=several
    )
    live, batched, expected = _Cost(), _Cost(), _Cost()
    for planned, by_batch in zip(plan.calls, transport.batched, strict=True):
        tag, tokens = _price(planned, providers), (planned.input_tokens, planned.output_tokens)
        by_live, by_api = (tag.cost(*tokens), tag.cost(*tokens, batch=True)) if tag else (None, None)
        has_batches = providers[planned.model.partition(":")[0]].batches is not None
        live.add(by_live, planned.calls)
        batched.add(by_api if has_batches else by_live, planned.calls)
        expected.add(by_live, planned.calls - by_batch)
        expected.add(by_api, by_batch)
    waves = _waves(plan)
    return {
        "name": config.batch.name,
        "kind": config.batch.kind,
        "units": plan.units,
        "units_at_once": units_at_once(config.service) or plan.units,
        "waves": waves,
        "calls": sum(planned.calls for planned in plan.calls),
        "tokens": {
            "input": sum(wave["input_tokens"] for wave in waves),
            "output": sum(wave["output_tokens"] for wave in waves),
        },
        "cost_usd": expected.dollars,
        "cost_usd_live": live.dollars,
        "cost_usd_batch": batched.dollars,
        "at_most": _at_most(plan, providers),
        "seconds_live": _live_seconds(plan, config),
        "transport": transport.as_json(),
        "service": config.service.name,
        "budget_usd": config.service.budget_usd,
        "notes": [*plan.notes, *judge_notes(config.batch.kind, (planned.model for planned in plan.calls))],
        "warnings": list(plan.warnings),
    }


def _price(planned: PlannedCalls, providers: Mapping[str, Provider]) -> PriceTag | None:
    provider, _, model_name = resolve_model(planned.model).partition(":")
    return providers[provider].price(model_name)


def _at_most(plan: Plan, providers: Mapping[str, Provider]) -> dict[str, Any] | None:
    """The worst case: every reply as long as it may be, all of it live, nothing out of a cache. None: the kind does not say."""
    if plan.calls_at_most is None:
        return None
    cost = _Cost()
    for planned in plan.at_most:
        tag = _price(planned, providers)
        price = None if tag is None else worst_price(tag, planned.input_tokens, planned.output_tokens)
        cost.add(price, planned.calls)
    return {
        "calls": plan.calls_at_most,
        "tokens": {
            "input": sum(planned.calls * planned.input_tokens for planned in plan.at_most),
            "output": sum(planned.calls * planned.output_tokens for planned in plan.at_most),
        },
        "cost_usd": cost.dollars,
    }


@dataclass(slots=True)
class _Cost:
    dollars: float | None = 0.0
    """None: the price of a model is not known"""

    def add(self, price: float | None, calls: int) -> None:
        """`price`: of one call."""
        self.dollars = None if price is None or self.dollars is None else self.dollars + calls * price


def _waves(plan: Plan) -> list[dict[str, Any]]:
    waves: dict[int, dict[str, Any]] = {}
    rounds: dict[int, dict[int, int]] = defaultdict(dict)
    for planned in plan.calls:
        new = {"index": planned.wave, "calls": 0, "rounds": 1, "input_tokens": 0, "output_tokens": 0}
        wave = waves.setdefault(planned.wave, new)
        wave["calls"] += planned.calls
        rounds[planned.wave][planned.joins] = max(rounds[planned.wave].get(planned.joins, 0), planned.rounds)
        wave["rounds"] = sum(rounds[planned.wave].values())
        wave["input_tokens"] += planned.calls * planned.input_tokens
        wave["output_tokens"] += planned.calls * planned.output_tokens
    return list(waves.values())


def _live_seconds(plan: Plan, config: FrozenConfig) -> float:
    """Wave after wave, each as long as its slowest provider takes; or as long as the pace asks for, if that is more."""
    by_wave: dict[int, dict[str, list[PlannedCalls]]] = defaultdict(lambda: defaultdict(list))
    totals: Counter[str] = Counter()
    for planned in plan.calls:
        provider = resolve_model(planned.model).partition(":")[0]
        totals[provider] += planned.calls
        if not planned.joins:  # else it goes beside a wave that is counted
            by_wave[planned.wave][provider].append(planned)
    limits = {name: config.limits_for(name) for name in totals}
    in_waves = sum(max(_wave_seconds(group, limits[name]) for name, group in wave.items()) for wave in by_wave.values())
    rates = {name: one.requests_per_minute for name, one in limits.items()}
    return max([in_waves, *(calls / rates[name] * 60 for name, calls in totals.items() if rates[name])])


def _wave_seconds(calls: Sequence[PlannedCalls], limits: Limits) -> float:
    """Rounds that wait for one another take their time one by one."""
    latency: float = getattr(limits, "latency", TYPICAL_SECONDS)
    rounds = max(planned.rounds for planned in calls)
    at_once = sum(planned.calls for planned in calls) / rounds
    return rounds * math.ceil(at_once / limits.max_concurrent) * latency
