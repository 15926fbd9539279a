"""What a batch will take, worked out before anything is called: waves × calls × tokens × money × time × transport."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import refuse_retired, resolve_model
from tidepool.engine.config.sections import Limits
from tidepool.engine.prices import PriceTag, worst_price
from tidepool.engine.providers.catalogue import open_provider
from tidepool.engine.providers.protocol import Provider
from tidepool.engine.results.method_words import judge_notes
from tidepool.engine.runtime.services import units_at_once
from tidepool.engine.studies.planned_calls import Plan, PlannedCalls, merged
from tidepool.engine.studies.transport_plan import transport_plan

__all__ = ["Plan", "PlannedCalls", "merged", "priced"]

TYPICAL_SECONDS = 2.0
"""what a live call of a model over the network is taken to last, where nothing better is known"""


def priced(plan: Plan, config: FrozenConfig, *, several: bool = False) -> dict[str, Any]:
    """The plan with money and time, as `--dry-run --json` prints it. Unknown prices give null, never 0.

    All figures are what is expected; `at_most` has those that are not exceeded. `several`: of batches side by side.
    """
    named = {planned.model.partition(":")[0] for planned in (*plan.calls, *plan.at_most)}
    providers = {name: open_provider(name, config.limits_for(name)) for name in named}
    for model in {planned.model for planned in plan.calls}:
        refuse_retired(resolve_model(model))
    transport = transport_plan(
        plan, config, {name: provider.batches for name, provider in providers.items()}, several=several
    )
    live, batched, expected = _Cost(), _Cost(), _Cost()
    for planned, by_batch in zip(plan.calls, transport.batched, strict=True):
        tag = _price(planned, providers)
        has_batches = providers[planned.model.partition(":")[0]].batches is not None
        live.add(tag, planned, planned.calls, 0)
        batched.add(tag, planned, *((0, planned.calls) if has_batches else (planned.calls, 0)))
        expected.add(tag, planned, planned.calls - by_batch, by_batch)
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
        cost.add_worst(_price(planned, providers), planned)
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

    def add(self, tag: PriceTag | None, each: PlannedCalls, live: int, batch: int) -> None:
        if tag is None or self.dollars is None:
            self.dollars = None
            return
        self.dollars += live * tag.cost(each.input_tokens, each.output_tokens)
        self.dollars += batch * tag.cost(each.input_tokens, each.output_tokens, batch=True)

    def add_worst(self, tag: PriceTag | None, each: PlannedCalls) -> None:
        if tag is None or self.dollars is None:
            self.dollars = None
            return
        self.dollars += each.calls * worst_price(tag, each.input_tokens, each.output_tokens)


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
    in_waves = sum(max(_wave_seconds(asked, limits[name]) for name, asked in wave.items()) for wave in by_wave.values())
    return max([in_waves, *(_paced_seconds(calls, limits[name]) for name, calls in totals.items())])


def _wave_seconds(asked: Sequence[PlannedCalls], limits: Limits) -> float:
    """Rounds that wait for one another take their time one by one."""
    latency: float = getattr(limits, "latency", TYPICAL_SECONDS)
    rounds = max(planned.rounds for planned in asked)
    together = sum(planned.calls for planned in asked) / rounds
    return rounds * math.ceil(together / limits.max_concurrent) * latency


def _paced_seconds(calls: int, limits: Limits) -> float:
    return calls / limits.requests_per_minute * 60 if limits.requests_per_minute else 0.0
