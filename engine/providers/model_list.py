"""Lists the models of each provider with prices, retirement dates, and the state of the key. For a provider that cannot be
asked, it shows what is known.
"""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidepool.engine.call import PriceTag
from tidepool.engine.config.endpoints import KNOWN_MODELS, PRESET_ENDPOINTS, PRESET_TABLE, RETIREMENTS
from tidepool.engine.config.sections import Providers, ProviderSettings, SimulatedSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.adapter import ModelCard
from tidepool.engine.providers.endpoint import (
    ALL_OTHERS,
    Endpoint,
    display_host,
    endpoint_of,
    is_endpoint,
    open_provider,
)
from tidepool.engine.providers.protocol import ProviderSpec
from tidepool.engine.providers.provider import EndpointProvider, ListedHost
from tidepool.engine.registries import PROVIDERS, SIMULATED_MODELS

MILLION = 1_000_000
SECONDS = 10.0
"""maximum time for a provider to list its models"""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """Prices in dollars per million tokens; None: unknown, or there is no batch API."""

    name: str
    input_usd: float | None
    output_usd: float | None
    batch_input_usd: float | None
    batch_output_usd: float | None
    retires: str | None
    presets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedProvider:
    name: str
    key: str
    """set, missing, or not needed"""
    where: str
    models: tuple[ListedModel, ...]
    note: str = ""
    hosts: tuple[ListedHost, ...] = ()
    reached: bool | None = None
    """whether it answered; None: it was not asked"""


def listed_names(providers: Providers) -> list[str]:
    """Providers to list: built-in ones, those of packages, declared endpoints, and presets with a key."""
    ready = [name for name in PRESET_ENDPOINTS if endpoint_of(name, providers.section(name)).key]
    return list(dict.fromkeys((*PROVIDERS, *type(providers).model_fields, *ready)))


async def list_models(providers: Providers, names: Iterable[str] | None = None) -> list[ListedProvider]:
    """The models of these providers, all asked at once; without names, those of all listed providers."""
    provider_names = listed_names(providers) if names is None else names
    return list(await asyncio.gather(*(_list_provider(name, providers.section(name)) for name in provider_names)))


def known_models(name: str, settings: ProviderSettings) -> ListedProvider:
    """The known facts about a provider, without asking it."""
    if isinstance(settings, SimulatedSettings):
        return _simulated(settings)
    if not is_endpoint(name, settings):
        return _installed(name, settings)
    endpoint = endpoint_of(name, settings)
    where = ", ".join(map(display_host, endpoint.addresses)) or "no address"
    entry = ListedProvider(name, _key(endpoint), where, ())
    try:
        provider = _open(name, settings)
    except UsageError as error:
        return replace(entry, note=str(error))
    names = dict.fromkeys((*KNOWN_MODELS.get(name, ()), *(model for model in endpoint.prices if model != ALL_OTHERS)))
    return replace(entry, models=_models(provider, map(ModelCard, names)))


async def _list_provider(name: str, settings: ProviderSettings) -> ListedProvider:
    entry = known_models(name, settings)
    if not is_endpoint(name, settings) or not (endpoint := endpoint_of(name, settings)).addresses:
        return entry
    if endpoint.lacks_key:
        return replace(entry, note=f"set {endpoint.key_variable} to see all models of the account")
    provider = _open(name, settings)
    try:
        hosts = tuple(await provider.hosts())
    finally:
        await provider.close()
    cards = {name: ModelCard(name, day) for host in provider.pool.hosts for name, day in (host.models or {}).items()}
    models = _models(provider, cards.values()) or entry.models
    reached = not all(host.silence for host in hosts)
    if len(hosts) == 1 and endpoint.like != "ollama":
        note = f"could not be reached: {hosts[0].silence}" if hosts[0].silence else ""
        return replace(entry, models=models, note=note, reached=reached)
    note = "" if cards or (reached and endpoint.like != "ollama") else provider.adapter.nothing_there
    return replace(entry, models=models, note=note, hosts=hosts, reached=reached)


def _open(name: str, settings: ProviderSettings) -> EndpointProvider:
    provider = open_provider(name, settings.model_copy(update={"timeout": SECONDS}))
    assert isinstance(provider, EndpointProvider)
    return provider


def _key(endpoint: Endpoint) -> str:
    return "not needed" if not endpoint.key_needed else "missing" if endpoint.lacks_key else "set"


def _models(provider: EndpointProvider, cards: Iterable[ModelCard]) -> tuple[ListedModel, ...]:
    models = (_model(f"{provider.name}:{card.name}", provider.price(card.name), card.retires) for card in cards)
    if provider.endpoint.has_batches:
        return tuple(models)
    return tuple(replace(model, batch_input_usd=None, batch_output_usd=None) for model in models)


def _model(model: str, tag: PriceTag | None, retires: str | None) -> ListedModel:
    def price(input_tokens: int, output_tokens: int, *, batch: bool = False) -> float | None:
        return None if tag is None else round(tag.cost(input_tokens, output_tokens, batch=batch) * MILLION, 6)

    return ListedModel(
        model.partition(":")[2],
        input_usd=price(1, 0),
        output_usd=price(0, 1),
        batch_input_usd=price(1, 0, batch=True),
        batch_output_usd=price(0, 1, batch=True),
        retires=retires or RETIREMENTS.get(model),
        presets=tuple(name for name, preset in PRESET_TABLE.items() if preset.model == model.removesuffix(":latest")),
    )


def _installed(name: str, settings: ProviderSettings) -> ListedProvider:
    """A provider of another package, with the models that the package declares."""
    spec: ProviderSpec = PROVIDERS[name]
    provider = open_provider(name, settings)
    models = tuple(_model(f"{name}:{model}", provider.price(model), None) for model in spec.models)
    has_key = any(os.environ.get(variable) for variable in spec.keys)
    key = "not needed" if not spec.keys else "set" if has_key else "missing"
    return ListedProvider(name, key, f"the package {PROVIDERS.package_of(name)}", models)


def _simulated(settings: SimulatedSettings) -> ListedProvider:
    tag = PriceTag(settings.price_input / MILLION, settings.price_output / MILLION)
    models = tuple(_model(f"simulated:{name}", tag, None) for name in SIMULATED_MODELS)
    return ListedProvider(
        "simulated", "not needed", "in this process", models, "any other name makes a new persona", reached=True
    )
