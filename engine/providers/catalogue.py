"""Opens providers. Each SDK is loaded only when one of its models is called."""

from collections.abc import Mapping, Sequence

from tidepool.engine.call import Call
from tidepool.engine.config.presets import unknown_provider
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.deadlines import Deadline
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.engine.providers.keys import carries_secret
from tidepool.engine.providers.protocol import Answer, ErrorClass, Provider, ProviderError, ProviderSpec, Silence
from tidepool.engine.registries import PROVIDERS


def open_provider(name: str, settings: ProviderSettings) -> Provider:
    """A provider by its own settings, for whoever asks. A batch says that the calls are its own with `serve`."""
    _refuse_secrets(name, {"base_url": [settings.base_url or ""], "hosts": settings.hosts})
    if is_endpoint(name, settings):
        family: ProviderSpec = PROVIDERS[endpoint_of(name, settings).like]
        return family.open(settings, name)
    if name not in PROVIDERS:
        raise UsageError(unknown_provider(name), ("providers", name))
    spec: ProviderSpec = PROVIDERS[name]
    return spec.open(settings) if name in PROVIDERS.own else _with_timeout(spec.open(settings))


def _with_timeout(provider: Provider) -> Provider:
    """Ends each call of a package's provider at its timeout. Our own providers time each request to a server."""
    complete = provider.complete

    async def complete_in_time(call: Call, seed: int, attempt: int) -> Answer:
        try:
            async with Deadline(provider.settings.timeout):
                return await complete(call, seed, attempt)
        except TimeoutError as error:
            words = f"no answer within {provider.settings.timeout:g} s"
            raise ProviderError(ErrorClass.HEALS, words, silence=Silence.TIMEOUT) from error

    provider.complete = complete_in_time  # type: ignore[method-assign]
    return provider


def _refuse_secrets(name: str, addresses: Mapping[str, Sequence[str]]) -> None:
    """A config is stored with its study, and shared with it: an address with a password would be too."""
    for key, written in addresses.items():
        if any(map(carries_secret, written)):
            raise UsageError(
                f"[providers.{name}]: an address holds a user name or password, which would be stored with the study. "
                "Give it in the environment (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, OLLAMA_HOST) instead.",
                ("providers", name, key),
            )
