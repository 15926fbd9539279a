"""What a batch will take, worked out before anything is called: waves, calls, tokens, money, time and transport.

A wave goes by batch API where its provider is expected to be asked enough calls at the same moment (`batch_from`). Rounds that
wait for one another are waves of their own: a game of many rounds may take thousands of small ones."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tidepool.engine.call import Call, PriceTag, expected_tokens, most_tokens, worst_price
from tidepool.engine.config import ceilings
from tidepool.engine.config.endpoints import refuse_retired, resolve_model
from tidepool.engine.config.sections import FrozenConfig, Limits, Reasons, reasoning_of
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import open_provider
from tidepool.engine.providers.protocol import BatchApi, Provider
from tidepool.engine.reports.blocks import judge_notes, span
from tidepool.engine.runtime.services import SERVICES, batch_from, units_at_once


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Equal calls of one wave: so many of them, with so many tokens each."""

    wave: int
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    rounds: int = 1
    """so often one after another, an equal part of the calls each time: rounds that wait for one another"""
    operation: str = "chat"
    """as of the call: what is no chat always goes live"""

    @property
    def together(self) -> float:
        """How many are asked at the same moment."""
        return self.calls / self.rounds


REASONING_NOTE = "Reasoning is expected to use half of its room of {:,} tokens a reply, and all of it at most."


@dataclass(frozen=True, slots=True)
class UsualTokens:
    """Tokens that a reply usually has: a guess for models of providers; of simulated ones it is known."""

    of_a_model: int
    simulated: int

    def by(self, model: str) -> int:
        return self.simulated if is_simulated(model) else self.of_a_model


@dataclass(frozen=True, slots=True)
class Sizing:
    """How long texts and replies are taken to be: as they usually are, or as they can be at most.

    The worst is counted as the budget reserves it: a known text by its letters, a reply by its most tokens. What was
    replied and is read again counts twice then, since other models may divide it otherwise.
    """

    worst: bool

    def text(self, text: str) -> int:
        return most_tokens(text) if self.worst else expected_tokens(text)

    def longest(self, texts: Iterable[str]) -> int:
        """Of several texts that may stand in a place: their mean, or the longest."""
        sizes = [self.text(text) for text in texts]
        return 0 if not sizes else max(sizes) if self.worst else sum(sizes) // len(sizes)

    def reply(self, model: str, usual: UsualTokens, max_tokens: int, settings: Reasons | None = None) -> int:
        """Output tokens; `settings` say how much room it has to reason."""
        reasoning = reasoning_of(settings).get("max_reasoning_tokens", 0) if settings else 0
        if self.worst:
            return max_tokens + reasoning
        return min(usual.by(model), max_tokens) + (0 if is_simulated(model) else reasoning // 2)

    def read_again(self, model: str, usual: UsualTokens, max_tokens: int) -> int:
        """A reply as a part of a later request: without what was only thought."""
        reply = self.reply(model, usual, max_tokens)
        return 2 * reply if self.worst else reply


EXPECTED, MOST = Sizing(worst=False), Sizing(worst=True)


def is_simulated(model: str) -> bool:
    return model.partition(":")[0] == "simulated"


@dataclass(frozen=True, slots=True)
class Plan:
    units: int
    calls: tuple[PlannedCalls, ...]
    """what is expected"""
    notes: tuple[str, ...] = field(default=())
    """what the numbers rest on, where they are estimates"""
    warnings: tuple[str, ...] = field(default=())
    """what the study cannot be asked well, told before it is run and logged with it"""
    at_most: tuple[PlannedCalls, ...] = field(default=())
    """the worst case, whatever is replied and in whichever waves; empty: the kind does not say"""
    call_cap: int | None = None
    """no more calls than this, where the kinds of call in `at_most` cannot all reach their most at once"""

    def __post_init__(self) -> None:
        if self.units > ceilings.UNITS:
            raise UsageError(
                f"The batch would have {self.units:,} units, and {ceilings.UNITS:,} are the most: make it smaller, or "
                "several batches of it."
            )

    @property
    def calls_expected(self) -> int:
        return sum(planned.calls for planned in self.calls)

    @property
    def calls_at_most(self) -> int | None:
        """None: the kind does not say."""
        if self.calls and not self.at_most:
            return None
        most = sum(planned.calls for planned in self.at_most)
        return most if self.call_cap is None else min(most, self.call_cap)

    @property
    def exact(self) -> bool:
        """Whether it is known before how many calls there will be."""
        return self.calls_expected == self.calls_at_most


def merge_plans(plans: Sequence[Plan]) -> Plan:
    """What several batches will take that run side by side."""
    if len(plans) == 1:
        return plans[0]
    caps = [plan.call_cap for plan in plans]
    return Plan(
        units=sum(plan.units for plan in plans),
        calls=merged(one for plan in plans for one in plan.calls),
        notes=tuple(dict.fromkeys(note for plan in plans for note in plan.notes)),
        warnings=tuple(dict.fromkeys(words for plan in plans for words in plan.warnings)),
        at_most=merged(one for plan in plans for one in plan.at_most) if all(plan.at_most for plan in plans) else (),
        call_cap=None if None in caps else sum(filter(None, caps)),
    )


def reasoning_notes(settings: Reasons) -> tuple[str, ...]:
    reasoning = reasoning_of(settings).get("max_reasoning_tokens", 0)
    return (REASONING_NOTE.format(reasoning),) if reasoning else ()


def merged(calls: Iterable[PlannedCalls]) -> tuple[PlannedCalls, ...]:
    """One entry for each wave, model and number of rounds, tokens averaged."""
    same: dict[tuple[int, str, int, str], list[PlannedCalls]] = defaultdict(list)
    for planned in calls:
        same[planned.wave, planned.model, planned.rounds, planned.operation].append(planned)
    result_calls = []
    for _, equal in sorted(same.items()):
        count = sum(planned.calls for planned in equal)
        input_tokens = sum(planned.calls * planned.input_tokens for planned in equal) // count
        output_tokens = sum(planned.calls * planned.output_tokens for planned in equal) // count
        result_calls.append(replace(equal[0], calls=count, input_tokens=input_tokens, output_tokens=output_tokens))
    return tuple(result_calls)


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
    batched = Counter[int]()
    moments: dict[int, int] = defaultdict(int)
    transports = []
    for name, entries in sorted(by_provider.items()):
        transport, leaving = _transport_of(name, entries, config, apis.get(name), batched)
        transports.append(transport)
        for wave, times in leaving.items():
            moments[wave] = max(moments[wave], times)
    return TransportPlan(
        tuple(transports),
        sum(one.provider_batches for one in transports),
        sum(moments.values()),
        any(one.calls_batch for one in transports) and (several or any(one.calls_live for one in transports)),
        tuple(batched[place] for place in range(len(plan.calls))),
    )


_Entry = tuple[int, PlannedCalls]
"""with its place in the plan"""


def _transport_of(
    name: str, entries: Sequence[_Entry], config: FrozenConfig, api: BatchApi | None, batched: Counter[int]
) -> tuple[ProviderTransport, Mapping[int, int]]:
    """How the calls of one provider go; and by wave how often, one after another, something leaves by batch API.

    Adds to `batched`, by the place of their entry, the calls that go by batch API.
    """
    api = api if SERVICES[config.service.name].batched else None
    limits = config.limits_for(name)
    least = batch_from(config.service, name, limits)
    moments: Counter[int] = Counter()
    calls_batch = provider_batches = 0
    by_wave: dict[int, list[_Entry]] = defaultdict(list)
    for place, planned in entries:
        by_wave[planned.wave].append((place, planned))
    for wave, members in by_wave.items() if api is not None else ():
        assert api is not None
        chats = [(place, planned) for place, planned in members if planned.operation == "chat"]
        most = max(2, min(limits.batch_size, api.bounds.max_calls))
        for times, same_time in _by_company(chats):
            groups: dict[str, list[_Entry]] = defaultdict(list)
            for place, planned in same_time if _size(same_time) >= least else ():
                groups[api.group(Call("", wave, planned.model, ()))].append((place, planned))
            shared = [group for group in groups.values() if _size(group) > 1]
            moments[wave] += times if shared else 0
            for group in shared:
                provider_batches += times * math.ceil(_size(group) / most)
                for place, planned in group:
                    calls = round(times * planned.together)
                    batched[place] += calls
                    calls_batch += calls
    wait, seconds = UNKNOWN_WAIT, getattr(limits, "batch_seconds", None)
    if seconds is not None:
        wait = f"{span(seconds)} each" if seconds else "an instant each"
    return ProviderTransport(
        provider=name,
        calls_live=sum(planned.calls for _, planned in entries) - calls_batch,
        calls_batch=calls_batch,
        provider_batches=provider_batches,
        one_after_another=moments.total(),
        largest_wave=max(map(_size, by_wave.values())),
        batch_from=None if api is None else least,
        wait=wait,
    ), moments


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
    for planned in plan.calls:
        new = {"index": planned.wave, "calls": 0, "rounds": 1, "input_tokens": 0, "output_tokens": 0}
        wave = waves.setdefault(planned.wave, new)
        wave["calls"] += planned.calls
        wave["rounds"] = max(wave["rounds"], planned.rounds)
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
