"""What a batch will take, worked out before anything is called: waves × calls × tokens × money × time."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import refuse_retired, resolve_model
from tidepool.engine.config.sections import Limits
from tidepool.engine.core.services import SERVICES, units_at_once
from tidepool.engine.providers.catalogue import open_provider

TYPICAL_SECONDS = 2.0
"""what a live call of a model over the network is taken to last, where nothing better is known"""


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Equal calls of one wave: so many of them, with so many tokens each."""

    wave: int
    model: str
    calls: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Plan:
    units: int
    calls: tuple[PlannedCalls, ...]
    notes: tuple[str, ...] = field(default=())
    """what the numbers rest on, where they are estimates"""


def merged(calls: Iterable[PlannedCalls]) -> tuple[PlannedCalls, ...]:
    """One entry for each wave and model, tokens averaged."""
    counts: Counter[tuple[int, str]] = Counter()
    inputs: Counter[tuple[int, str]] = Counter()
    outputs: Counter[tuple[int, str]] = Counter()
    for planned in calls:
        key = (planned.wave, planned.model)
        counts[key] += planned.calls
        inputs[key] += planned.calls * planned.input_tokens
        outputs[key] += planned.calls * planned.output_tokens
    return tuple(
        PlannedCalls(wave, model, count, inputs[wave, model] // count, outputs[wave, model] // count)
        for (wave, model), count in sorted(counts.items())
    )


def priced(plan: Plan, config: FrozenConfig) -> dict[str, Any]:
    """The plan with money and time, as `--dry-run --json` prints it. Unknown prices give null, never 0."""
    named = {planned.model.partition(":")[0] for planned in plan.calls}
    providers = {name: open_provider(name, config.limits_for(name)) for name in named}
    for planned in plan.calls:
        refuse_retired(resolve_model(planned.model))
    live: float | None = 0.0
    batched: float | None = 0.0
    waves: dict[int, dict[str, Any]] = {}
    for planned in plan.calls:
        provider, _, model_name = resolve_model(planned.model).partition(":")
        tag = providers[provider].price(model_name)
        wave = waves.setdefault(
            planned.wave, {"index": planned.wave, "calls": 0, "input_tokens": 0, "output_tokens": 0}
        )
        wave["calls"] += planned.calls
        wave["input_tokens"] += planned.calls * planned.input_tokens
        wave["output_tokens"] += planned.calls * planned.output_tokens
        tokens = (planned.calls * planned.input_tokens, planned.calls * planned.output_tokens)
        has_batches = providers[provider].batches is not None
        live = None if tag is None or live is None else live + tag.cost(*tokens)
        batched = None if tag is None or batched is None else batched + tag.cost(*tokens, batch=has_batches)
    uses_batches = SERVICES[config.service.name].batched
    return {
        "name": config.batch.name,
        "kind": config.batch.kind,
        "units": plan.units,
        "units_at_once": units_at_once(config.service) or plan.units,
        "waves": list(waves.values()),
        "calls": sum(planned.calls for planned in plan.calls),
        "tokens": {
            "input": sum(wave["input_tokens"] for wave in waves.values()),
            "output": sum(wave["output_tokens"] for wave in waves.values()),
        },
        "cost_usd": batched if uses_batches else live,
        "cost_usd_live": live,
        "cost_usd_batch": batched,
        "seconds_live": _live_seconds(plan, config),
        "service": config.service.name,
        "budget_usd": config.service.budget_usd,
        "notes": list(plan.notes),
    }


def _live_seconds(plan: Plan, config: FrozenConfig) -> float:
    """Wave after wave, each as long as its slowest provider takes; or as long as the pace asks for, if that is more."""
    by_wave: dict[int, Counter[str]] = defaultdict(Counter)
    for planned in plan.calls:
        by_wave[planned.wave][resolve_model(planned.model).partition(":")[0]] += planned.calls
    in_waves = sum(
        max(_wave_seconds(calls, config.limits_for(name)) for name, calls in wave.items()) for wave in by_wave.values()
    )
    totals = sum(by_wave.values(), Counter())
    return max([in_waves, *(_paced_seconds(calls, config.limits_for(name)) for name, calls in totals.items())])


def _wave_seconds(calls: int, limits: Limits) -> float:
    latency: float = getattr(limits, "latency", TYPICAL_SECONDS)
    return math.ceil(calls / limits.max_concurrent) * latency


def _paced_seconds(calls: int, limits: Limits) -> float:
    return calls / limits.requests_per_minute * 60 if limits.requests_per_minute else 0.0
