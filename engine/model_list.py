"""The models of each provider: with prices, ends, and whether there is a key. Providers that cannot be asked are
shown as far as they are known."""

import asyncio
from dataclasses import dataclass

from engine.config import OllamaSettings, Providers, ProviderSettings, SimulatedSettings
from engine.presets import KNOWN_MODELS, PRESET_TABLE, PROVIDERS, RETIREMENTS
from engine.prices import PriceTag
from engine.providers.anthropic.provider import AnthropicProvider
from engine.providers.keys import KEY_VARIABLES, has_key, shown_host
from engine.providers.line import Complained
from engine.providers.listing import ModelCard
from engine.providers.ollama.provider import OllamaProvider
from engine.providers.openai.provider import OpenAIProvider
from engine.providers.provider import ProviderError

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
class ListedProvider:
    name: str
    key: str
    """set, missing, or not needed"""
    where: str
    models: tuple[ListedModel, ...]
    note: str = ""


async def list_models(providers: Providers, names: tuple[str, ...] = PROVIDERS) -> list[ListedProvider]:
    return list(await asyncio.gather(*(_listed(name, getattr(providers, name)) for name in names)))


async def _listed(name: str, settings: ProviderSettings) -> ListedProvider:
    if isinstance(settings, SimulatedSettings):
        return _simulated(settings)
    settings = settings.model_copy(update={"timeout": SECONDS})
    provider: OpenAIProvider | AnthropicProvider | OllamaProvider
    if isinstance(settings, OllamaSettings):
        provider = OllamaProvider(settings)
        key, where = "not needed", ", ".join(map(shown_host, provider.urls))
    else:
        provider = OpenAIProvider(settings) if name == "openai" else AnthropicProvider(settings)
        key, where = "set" if has_key(name) else "missing", shown_host(provider.line.where)
    try:
        cards, note = await _cards(provider, key)
        models = tuple(_model(f"{name}:{card.name}", provider.price(card.name), card.retires) for card in cards)
    finally:
        await provider.close()
    return ListedProvider(name, key, where, models, note)


async def _cards(
    provider: "OpenAIProvider | AnthropicProvider | OllamaProvider", key: str
) -> tuple[list[ModelCard], str]:
    known = [ModelCard(name) for name in KNOWN_MODELS.get(provider.name, ())]
    if key == "missing":
        variable = KEY_VARIABLES[provider.name][0]
        return known, f"set {variable} to see all models of the account"
    try:
        async with asyncio.timeout(SECONDS):
            cards = await provider.models()
    except (Complained, ProviderError, TimeoutError) as error:
        return known, f"could not be asked: {error or 'no answer in time'}"
    if not cards and provider.name == "ollama":
        return [], "no server answers, or none has a model; start one with `ollama serve`"
    return cards, ""


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
        presets=tuple(name for name, preset in PRESET_TABLE.items() if preset.model == model),
    )


def _simulated(settings: SimulatedSettings) -> ListedProvider:
    from engine.providers.simulated.personas import PERSONAS
    from engine.providers.simulated.voices import VOICES

    tag = PriceTag(settings.price_input / MILLION, settings.price_output / MILLION)
    models = tuple(_model(f"simulated:{name}", tag, None) for name in (*PERSONAS, *VOICES))
    return ListedProvider(
        "simulated", "not needed", "in this process", models, "any other name is a persona of its own"
    )
