"""Opens providers. Each SDK is loaded only when one of its models is called."""

from collections.abc import Mapping, Sequence

from tidepool.engine.config.sections import OllamaSettings, ProviderSettings, SimulatedSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.keys import carries_secret
from tidepool.engine.providers.protocol import Provider


def open_provider(name: str, settings: ProviderSettings) -> Provider:
    """A provider by its own settings, for whoever asks. A batch says that the calls are its own with `serve`."""
    _refuse_secrets(name, {"base_url": [settings.base_url or ""], "hosts": getattr(settings, "hosts", [])})
    match name:
        case "simulated":
            from tidepool.engine.simulated.provider import SimulatedProvider

            assert isinstance(settings, SimulatedSettings)
            return SimulatedProvider(settings)
        case "openai":
            from tidepool.engine.providers.openai.provider import OpenAIProvider

            return OpenAIProvider(settings)
        case "anthropic":
            from tidepool.engine.providers.anthropic.provider import AnthropicProvider

            return AnthropicProvider(settings)
        case "ollama":
            from tidepool.engine.providers.ollama.provider import OllamaProvider

            assert isinstance(settings, OllamaSettings)
            return OllamaProvider(settings)
        case _:
            raise UsageError(f"The provider {name!r} is not known.")


def _refuse_secrets(name: str, addresses: Mapping[str, Sequence[str]]) -> None:
    """A config is stored with its study, and shared with it: an address with a password would be too."""
    for key, written in addresses.items():
        if any(map(carries_secret, written)):
            raise UsageError(
                f"[providers.{name}]: an address holds a user name or password, which would be stored with the study. "
                "Give it in the environment (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, OLLAMA_HOST) instead.",
                ("providers", name, key),
            )
