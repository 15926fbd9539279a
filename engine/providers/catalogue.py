"""Opens the providers a batch needs. Each SDK is loaded only when one of its models is called."""

from engine.config import Config, OllamaSettings, SimulatedSettings
from engine.errors import UsageError
from engine.providers.keys import carries_secret
from engine.providers.provider import Provider


def open_provider(name: str, config: Config, batch_id: str) -> Provider:
    settings = config.limits_for(name)
    _refuse_secrets(name, [settings.base_url or "", *getattr(settings, "hosts", ())])
    match name:
        case "simulated":
            from engine.providers.simulated.provider import SimulatedProvider

            assert isinstance(settings, SimulatedSettings)
            return SimulatedProvider(settings, batch_id)
        case "openai":
            from engine.providers.openai.provider import OpenAIProvider

            return OpenAIProvider(settings)
        case "anthropic":
            from engine.providers.anthropic.provider import AnthropicProvider

            return AnthropicProvider(settings)
        case "ollama":
            from engine.providers.ollama.provider import OllamaProvider

            assert isinstance(settings, OllamaSettings)
            return OllamaProvider(settings)
        case _:
            raise UsageError(f"The provider {name!r} is not known.")


def _refuse_secrets(name: str, addresses: list[str]) -> None:
    """A config is stored with its study, and shared with it: an address with a password would be too."""
    if any(map(carries_secret, addresses)):
        raise UsageError(
            f"[providers.{name}]: an address holds a user name or password, which would be stored with the study. "
            "Give it in the environment (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, OLLAMA_HOST) instead."
        )
