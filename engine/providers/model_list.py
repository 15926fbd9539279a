"""The models of each provider: with prices, ends, and whether there is a key. Providers that cannot be asked are
shown as far as they are known."""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidepool.engine.config.presets import KNOWN_MODELS, PRESET_TABLE, RETIREMENTS
from tidepool.engine.config.sections import OllamaSettings, Providers, ProviderSettings, SimulatedSettings
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.anthropic.provider import AnthropicProvider
from tidepool.engine.providers.catalogue import open_provider
from tidepool.engine.providers.keys import KEY_VARIABLES, has_key, scrubbed, shown_host
from tidepool.engine.providers.model_listing import ModelCard
from tidepool.engine.providers.ollama.provider import OllamaProvider
from tidepool.engine.providers.openai.provider import OpenAIProvider
from tidepool.engine.providers.protocol import ProviderError, ProviderSpec
from tidepool.engine.providers.sdk_connection import Complained
from tidepool.engine.registries import PROVIDERS

MILLION = 1_000_000
SECONDS = 10.0
"""what a provider may take to list its models"""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """Prices in dollars for a million tokens; None: unknown."""

    name: str
    input_usd: float | None
    output_usd: float | None
    batch_input_usd: float | None
    batch_output_usd: float | None
    retires: str | None
    presets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedHost:
    """A server of one's own."""

    address: str
    models: tuple[str, ...]
    silence: str = ""
    """why it does not answer, where it does not"""


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


async def list_models(providers: Providers, names: Iterable[str] = PROVIDERS) -> list[ListedProvider]:
    return list(await asyncio.gather(*(_listed(name, providers.section(name)) for name in names)))


def known_models(name: str, settings: ProviderSettings) -> ListedProvider:
    """What can be said of a provider without asking it."""
    if isinstance(settings, SimulatedSettings):
        return _simulated(settings)
    if name not in PROVIDERS.own:
        return _installed(name, settings)
    provider = _opened(name, settings)
    cards = [ModelCard(known) for known in KNOWN_MODELS.get(name, ())]
    return ListedProvider(name, _key(name), _where(provider), _models(provider, cards))


async def _listed(name: str, settings: ProviderSettings) -> ListedProvider:
    if isinstance(settings, SimulatedSettings):
        return _simulated(settings)
    if name not in PROVIDERS.own:
        return _installed(name, settings)
    provider = _opened(name, settings)
    known, key = known_models(name, settings), _key(name)
    if key == "missing":
        return replace(known, note=f"set {KEY_VARIABLES[name][0]} to see all models of the account")
    try:
        if isinstance(provider, OllamaProvider):
            return await _with_hosts(provider, known)
        async with asyncio.timeout(SECONDS):
            return replace(known, models=_models(provider, await provider.models()), reached=True)
    except (Complained, ProviderError, TimeoutError) as error:
        words = scrubbed(str(error)) or "no answer in time"
        return replace(known, note=f"could not be asked: {words}", reached=False)
    finally:
        await provider.close()


async def _with_hosts(provider: OllamaProvider, known: ListedProvider) -> ListedProvider:
    cards = await provider.hosts()
    hosts = tuple(ListedHost(shown_host(card.url), card.models, scrubbed(card.silence)) for card in cards)
    names: set[str] = set().union(*(card.models for card in cards))
    models = _models(provider, [ModelCard(name) for name in sorted(names)])
    note = "" if names else "no server answers, or none has a model; start one with `ollama serve`"
    return replace(known, models=models, note=note, hosts=hosts, reached=not all(host.silence for host in hosts))


def _opened(name: str, settings: ProviderSettings) -> OpenAIProvider | AnthropicProvider | OllamaProvider:
    settings = settings.model_copy(update={"timeout": SECONDS})
    if isinstance(settings, OllamaSettings):
        return OllamaProvider(settings)
    return OpenAIProvider(settings) if name == "openai" else AnthropicProvider(settings)


def _key(name: str) -> str:
    return "not needed" if name == "ollama" else "set" if has_key(name) else "missing"


def _where(provider: OpenAIProvider | AnthropicProvider | OllamaProvider) -> str:
    if isinstance(provider, OllamaProvider):
        return ", ".join(map(shown_host, provider.urls))
    return shown_host(provider.line.where)


def _models(
    provider: OpenAIProvider | AnthropicProvider | OllamaProvider, cards: Iterable[ModelCard]
) -> tuple[ListedModel, ...]:
    return tuple(_model(f"{provider.name}:{card.name}", provider.price(card.name), card.retires) for card in cards)


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
    """A provider of another package, as far as that package tells."""
    spec: ProviderSpec = PROVIDERS[name]
    provider = open_provider(name, settings)
    models = tuple(_model(f"{name}:{known}", provider.price(known), None) for known in spec.models)
    has_key = any(os.environ.get(variable) for variable in spec.keys)
    key = "not needed" if not spec.keys else "set" if has_key else "missing"
    return ListedProvider(name, key, f"the package {PROVIDERS.package_of(name)}", models)


def _simulated(settings: SimulatedSettings) -> ListedProvider:
    from tidepool.engine.simulated.responders import RESPONDERS
    from tidepool.engine.simulated.secret_game.personas import PERSONAS

    tag = PriceTag(settings.price_input / MILLION, settings.price_output / MILLION)
    models = tuple(_model(f"simulated:{name}", tag, None) for name in (*PERSONAS, *RESPONDERS))
    return ListedProvider(
        "simulated", "not needed", "in this process", models, "any other name is a persona of its own", reached=True
    )
