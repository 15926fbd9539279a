"""Providers as shown on screens: settings of the draft, whether a key is present (never the key itself), test calls."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from tidepool.engine.config.endpoints import title_of
from tidepool.engine.config.loading import merge_user_providers
from tidepool.engine.config.sections import Providers, ProviderSettings, Service
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import Endpoint, endpoint_of, is_endpoint
from tidepool.engine.providers.model_list import ListedProvider
from tidepool.engine.single_call import SingleAnswer
from tidepool.tui.app.compose.draft import read_draft
from tidepool.tui.app.compose.edits import values_of
from tidepool.tui.app.widgets.rows import Passage
from tidepool.tui.drawing.text import dollars, one_line, span


@dataclass(frozen=True, slots=True)
class ProviderRules:
    providers: Providers = field(default_factory=Providers)
    fault: str = ""
    """why the settings of the draft could not be read"""


def rules_in_draft(database: Path) -> ProviderRules:
    draft = read_draft(database)
    return rules_in("" if draft is None else draft.text)


def rules_in(text: str) -> ProviderRules:
    """Reads only the sections [service] and [providers], because the rest of a draft may be unfinished."""
    try:
        values = values_of(text)
    except ValueError:
        return ProviderRules(fault="the draft in Compose is not valid TOML")
    try:
        Service.model_validate(values.get("service", {}))
        return ProviderRules(merge_user_providers(Providers.model_validate(values.get("providers", {}))))
    except ValidationError:
        return ProviderRules(fault="the draft in Compose has an error in [service] or [providers]")
    except UsageError as error:
        return ProviderRules(fault=str(error))


@dataclass(frozen=True, slots=True)
class Trial:
    """A test call: pending, answered, or failed with the provider's message."""

    model: str
    reply: SingleAnswer | None = None
    fault: str = ""

    @property
    def pending(self) -> bool:
        return self.reply is None and not self.fault

    @property
    def cost(self) -> str:
        if self.reply is None or self.reply.cost_usd is None:
            return "price unknown"
        return dollars(self.reply.cost_usd) if self.reply.cost_usd else "free"


@dataclass(frozen=True, slots=True)
class Card:
    name: str
    listed: ListedProvider | None = None
    asking: bool = True
    trial: Trial | None = None
    fault: str = ""
    """why the provider cannot be used"""
    settings: ProviderSettings = field(default_factory=ProviderSettings)

    @property
    def endpoint(self) -> Endpoint | None:
        """None for providers without a server: the simulated one, and those of installed packages."""
        return endpoint_of(self.name, self.settings) if is_endpoint(self.name, self.settings) else None

    @property
    def title(self) -> str:
        return "Simulated" if self.name == "simulated" else title_of(self.name)

    @property
    def key_state(self) -> str:
        endpoint = self.endpoint
        if endpoint is None or not endpoint.key_needed:
            return "not needed"
        return "missing" if endpoint.lacks_key else "present"

    @property
    def has_batches(self) -> bool:
        return self.name == "simulated" or (self.endpoint is not None and self.endpoint.has_batches)


def state_of(card: Card) -> tuple[str, str]:
    """Returns the state in a few words, and its colour."""
    if card.trial is not None:
        if card.trial.pending:
            return "test call …", "running"
        if card.trial.reply is not None:
            return f"answered in {span(card.trial.reply.seconds)}", "done"
        return "test call failed", "failed"
    if card.fault:
        return "not usable", "failed"
    if card.key_state == "missing":
        return "no key", "waiting"
    if card.asking or card.listed is None:
        return "connecting…", "running"
    if card.listed.reached is False:
        return "no response", "failed"
    return "ready", "done"


def about(card: Card, rules: ProviderRules) -> list[Passage]:
    return [*_heading(card, rules), *_trial(card), *_keys(card, rules), *_hosts(card)]


def _heading(card: Card, rules: ProviderRules) -> Iterator[Passage]:
    state, colour = state_of(card)
    yield Passage(f"{card.title} · {state}", "strong" if colour != "failed" else "failed")
    if card.name == "simulated":
        yield Passage("Offline, free, reproducible by seed. Replies are labelled as simulated.", "dim")
    if card.fault:
        yield Passage(card.fault, "failed")
    elif card.listed is not None and card.listed.note:
        yield Passage(card.listed.note, "failed" if card.listed.reached is False else "dim")
    if rules.fault:
        yield Passage(f"{rules.fault}; showing the defaults", "retried")


def _trial(card: Card) -> Iterator[Passage]:
    trial = card.trial
    if trial is None:
        return
    yield Passage("")
    reply = trial.reply
    if reply is None:
        words = f": {trial.fault}" if trial.fault else ": waiting for a reply…"
        yield Passage(f"{trial.model}{words}", "failed" if trial.fault else "running")
        return
    yield Passage("test call", "dim")
    yield Passage(trial.model, label="model")
    yield Passage(span(reply.seconds), label="latency")
    yield Passage(f"{reply.input_tokens} in, {reply.output_tokens} out, {trial.cost}", label="tokens")
    answer = one_line(reply.text) or "(empty reply)"
    yield Passage(f"{answer} (simulated)" if reply.simulated else answer, label="answer")
    yield from (Passage(notice, "retried") for notice in reply.notices)


def _keys(card: Card, rules: ProviderRules) -> Iterator[Passage]:
    yield Passage("")
    endpoint = card.endpoint
    for variable, there in endpoint.keys_looked_for if endpoint else ():
        yield Passage("present" if there else "not set", "done" if there else "dim", label=variable)
    where = card.listed.where if card.listed else "…"
    if {"base_url", "hosts"} & rules.providers.section(card.name).model_fields_set:
        where += f", set by [providers.{card.name}] in Compose"
    yield Passage(where, label="address")
    batch = "yes, at about half the price" if card.has_batches else "no, live calls only"
    yield Passage(batch if card.name != "simulated" else "yes, simulated", label="batch API")


def _hosts(card: Card) -> Iterator[Passage]:
    if card.listed is None or not card.listed.hosts:
        return
    yield Passage("")
    yield Passage("servers", "dim")
    for host in card.listed.hosts:
        if host.silence:
            yield Passage(f"× no response: {host.silence}", "failed", label=host.address)
        else:
            models = ", ".join(host.models[:20]) or "no models yet. Run tidepool models --pull llama3.2"
            yield Passage(f"■ online: {models}", "done", label=host.address)


def price_words(amount: float | None) -> str:
    """Formats a price in dollars per million tokens."""
    if amount is None:
        return "unknown"
    if amount == 0:
        return "free"
    return f"{amount:,.2f}" if abs(round(amount, 2) - amount) < 1e-9 else f"{amount:,.4g}"


def usual_model(card: Card) -> str | None:
    """Returns the default model of a test call: the cheapest one that is not for embeddings."""
    if card.name == "simulated":
        return "simulated:guarded"
    models = card.listed.models if card.listed else ()
    talking = [model for model in models if "embed" not in model.name]
    if not talking:
        return None
    known = [model for model in talking if model.output_usd is not None]
    cheapest = min(known, key=lambda model: (model.output_usd or 0.0, model.name), default=talking[0])
    return f"{card.name}:{cheapest.name}"
