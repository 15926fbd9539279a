"""Adapters of the families of servers, without a connection."""

from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.adapter import Adapter
from tidepool.engine.providers.anthropic import AnthropicAdapter
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.ollama import OllamaAdapter
from tidepool.engine.providers.openai import OpenAIAdapter
from tidepool.engine.providers.protocol import Notices

ADAPTERS: dict[str, type[Adapter]] = {"openai": OpenAIAdapter, "anthropic": AnthropicAdapter, "ollama": OllamaAdapter}


def adapter(family: str, told: list[str] | None = None, base_url: str | None = None) -> Adapter:
    """One that tells its notices to a list."""
    notices = Notices()
    if told is not None:
        notices.listen(told.append)
    return ADAPTERS[family](notices, endpoint_of(family, ProviderSettings(base_url=base_url)))
