"""The plan of a batch before anything is sent: waves, calls, tokens, money, time and transport.

A wave uses the batch API if its provider is expected to get enough requests at the same moment (`batch_from`). Rounds that
wait for one another are separate waves, so a game of many rounds may have thousands of small ones."""

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
from tidepool.engine.reports.blocks import counted, judge_notes, span
from tidepool.engine.runtime.services import SERVICES, batch_from, units_at_once


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Equal calls of one wave: their number, and the tokens of each."""

    wave: int
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    rounds: int = 1
    """number of sequential rounds with an equal part of the calls each; rounds wait for one another"""
    operation: str = "chat"
    """as in the call; everything except chat is always sent live"""

    @property
    def together(self) -> float:
        """The number of calls at the same moment."""
        return self.calls / self.rounds


REASONING_NOTE = "Reasoning is expected to use half of its budget of {:,} tokens per reply, and at most all of it."


@dataclass(frozen=True, slots=True)
class UsualTokens:
    """Typical tokens of a reply: an estimate for real models, known for simulated ones."""

    of_a_model: int
    simulated: int

    def by(self, model: str) -> int:
        return self.simulated if is_simulated(model) else self.of_a_model


@dataclass(frozen=True, slots=True)
class Sizing:
    """The assumed length of texts and replies: typical, or maximum.

    The maximum is counted as the budget reserves it: a known text by its characters, a reply by its maximum tokens. Replies
    that are read again count twice then, since another model may have another tokenizer.
    """

    worst: bool

    def text(self, text: str) -> int:
        return most_tokens(text) if self.worst else expected_tokens(text)

    def longest(self, texts: Iterable[str]) -> int:
        """For several possible texts: their mean, or the longest."""
        sizes = [self.text(text) for text in texts]
        return 0 if not sizes else max(sizes) if self.worst else sum(sizes) // len(sizes)

    def reply(self, model: str, usual: UsualTokens, max_tokens: int, settings: Reasons | None = None) -> int:
        """Output tokens; `settings` have the reasoning budget."""
        reasoning = reasoning_of(settings).get("max_reasoning_tokens", 0) if settings else 0
        if self.worst:
            return max_tokens + reasoning
        return min(usual.by(model), max_tokens) + (0 if is_simulated(model) else reasoning // 2)

    def read_again(self, model: str, usual: UsualTokens, max_tokens: int) -> int:
        """The tokens of a reply as part of a later request, without its reasoning."""
        reply = self.reply(model, usual, max_tokens)
        return 2 * reply if self.worst else reply


EXPECTED, MOST = Sizing(worst=False), Sizing(worst=True)


def is_simulated(model: str) -> bool:
    return model.partition(":")[0] == "simulated"


@dataclass(frozen=True, slots=True)
class Plan:
    units: int
    calls: tuple[PlannedCalls, ...]
    """the expected calls"""
    notes: tuple[str, ...] = field(default=())
    """what the numbers are based on, if they are estimates"""
    warnings: tuple[str, ...] = field(default=())
    """problems that affect the study, shown before it runs and logged with it"""
    at_most: tuple[PlannedCalls, ...] = field(default=())
    """the maximum, for any replies and waves; empty: the kind does not define it"""
    call_cap: int | None = None
    """maximum number of calls, if not all kinds of call in `at_most` can reach their maximum at once"""

    def __post_init__(self) -> None:
        if self.units > ceilings.UNITS:
            raise UsageError(
                f"The batch would have {self.units:,} units, such as conversations. The maximum is {ceilings.UNITS:,}. Plan fewer, "
                "or split the study into several batches."
            )

    @property
    def calls_expected(self) -> int:
        return sum(planned.calls for planned in self.calls)

    @property
    def calls_at_most(self) -> int | None:
        """None: the kind does not define it."""
        if self.calls and not self.at_most:
            return None
        most = sum(planned.calls for planned in self.at_most)
        return most if self.call_cap is None else min(most, self.call_cap)

    @property
    def exact(self) -> bool:
        """Whether the number of calls is known in advance."""
        return self.calls_expected == self.calls_at_most


def merge_plans(plans: Sequence[Plan]) -> Plan:
    """The plan of several batches that run side by side."""
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
    """One entry for each wave, model and number of rounds, with average tokens."""
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
"""the time that hosted providers promise for a provider batch"""


@dataclass(frozen=True, slots=True)
class ProviderTransport:
    """How the calls of one provider are sent."""

    provider: str
    calls_live: int
    calls_batch: int
    provider_batches: int
    one_after_another: int
    """sequential provider batches; those sent at the same moment count once"""
    largest_wave: int
    """most calls that are expected at the same moment"""
    batch_from: int | None
    """minimum number of calls for the batch API; None: all are sent live"""
    wait: str
    """the expected time of a provider batch"""

    def in_words(self, *, at_most: bool) -> str:
        if not self.calls_batch:
            if not self.batch_from or self.largest_wave >= self.batch_from:
                return f"{self.provider} live"
            waves = f"up to {counted(self.largest_wave, 'request')} per wave"
            return f"{self.provider} live, {waves} (batch API from {self.batch_from:,}, service.batch_from)"
        live = f", and {counted(self.calls_live, 'request')} of small waves live" if self.calls_live else ""
        batches = f"{counted(self.provider_batches, 'provider batch', 'provider batches')}, "
        if self.provider_batches < 2:
            batches += self.wait.removesuffix(" each")
        else:
            rounds = self.one_after_another
            ordered = "one after another" if rounds == self.provider_batches else f"in {rounds:,} rounds"
            together = "all at once" if rounds < 2 else ordered
            batches += f"{together}, {self.wait}"
        return f"{self.provider} by batch API: {'at most ' if at_most else ''}{batches}{live}"


@dataclass(frozen=True, slots=True)
class TransportPlan:
    providers: tuple[ProviderTransport, ...]
    provider_batches: int
    one_after_another: int
    at_most: bool
    """units send live calls between their provider batches, so some of the batches are sent together"""
    batched: tuple[int, ...]
    """for each entry of the plan, the number of its calls that use the batch API"""

    @property
    def words(self) -> tuple[str, ...]:
        """One line for each provider, the same wherever the plan is shown."""
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
    """`apis`: the batch API of each provider, None if it has none. `several`: for batches that run side by side, of which
    one may be sent live while another has enough calls."""
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
"""with its index in the plan"""


def _transport_of(
    name: str, entries: Sequence[_Entry], config: FrozenConfig, api: BatchApi | None, batched: Counter[int]
) -> tuple[ProviderTransport, Mapping[int, int]]:
    """How the calls of one provider are sent, and by wave the number of sequential provider batches.

    Adds to `batched`, by the index of their entry, the calls that use the batch API.
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
        wait = f"{span(seconds)} each" if seconds else "no waiting"
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
    """The number of calls at the same moment."""
    return round(sum(planned.together for _, planned in entries))


def _by_company(members: Sequence[_Entry]) -> Iterator[tuple[int, list[_Entry]]]:
    """The entries of one wave that run side by side, with the number of rounds. Entries with more rounds continue alone."""
    done = 0
    for rounds in sorted({planned.rounds for _, planned in members}):
        yield rounds - done, [(place, planned) for place, planned in members if planned.rounds >= rounds]
        done = rounds


# -- prices ------------------------------------------------------------------------------------------------------------


TYPICAL_SECONDS = 2.0
"""assumed seconds of a live call over the network, if nothing better is known"""


def priced(plan: Plan, config: FrozenConfig, *, several: bool = False) -> dict[str, Any]:
    """The plan with money and time, as `tidepool plan --json` prints it. Unknown prices give null, never 0.

    All numbers are expectations, and `at_most` has the maximum. `several`: for batches side by side.
    """
    names = {planned.model.partition(":")[0] for planned in (*plan.calls, *plan.at_most)}
    providers = {name: open_provider(name, config.limits_for(name)) for name in names}
    for model in {planned.model for planned in plan.calls}:
        refuse_retired(resolve_model(model))
    transport = transport_plan(
        plan, config, {name: provider.batches for name, provider in providers.items()}, several=several
    )
    live, batched, expected = _Cost(), _Cost(), _Cost()
    unpriced: set[str] = set()
    for planned, by_batch in zip(plan.calls, transport.batched, strict=True):
        tag, tokens = _price(planned, providers), (planned.input_tokens, planned.output_tokens)
        if tag is None:
            unpriced.add(planned.model)
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
        "unpriced": sorted(unpriced),
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
    """The maximum: every reply as long as possible, all live, nothing from the cache. None: the kind does not define it."""
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
    """The time of all waves: each as long as its slowest provider, or as the rate limit requires if that is more."""
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
    """The time of one wave. Rounds that wait for one another add up."""
    latency: float = getattr(limits, "latency", TYPICAL_SECONDS)
    rounds = max(planned.rounds for planned in calls)
    at_once = sum(planned.calls for planned in calls) / rounds
    return rounds * math.ceil(at_once / limits.max_concurrent) * latency
