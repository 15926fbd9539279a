"""Opens providers. Each SDK is loaded only when one of its models is called."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tidepool.engine.call import Call
from tidepool.engine.config.endpoints import unknown_provider
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.deadlines import Deadline
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import endpoint_of, has_credentials, is_endpoint
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, Provider, ProviderError, ProviderSpec
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
    provider = spec.open(settings)
    return provider if name in PROVIDERS.builtin else cast(Provider, _TimedProvider(provider))


class _TimedProvider:
    """Ends each call of a package's provider at its timeout. Our own providers time each request to a server.

    It stands in front of the provider, whose class may have `__slots__` or be frozen.
    """

    def __init__(self, provider: Provider) -> None:
        vars(self)["_provider"] = provider

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_provider"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_provider"], name, value)

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        try:
            async with Deadline(self.settings.timeout):
                answer: Answer = await self._provider.complete(call, seed, attempt)
                return answer
        except TimeoutError as error:
            text = f"no answer within {self.settings.timeout:g} s"
            raise ProviderError(ErrorClass.TRANSIENT, text, no_reply=NoReply.TIMEOUT) from error


def _refuse_secrets(name: str, addresses: Mapping[str, Sequence[str]]) -> None:
    """A config is stored with its study, and shared with it: an address with a password would be too."""
    for key, written in addresses.items():
        if any(map(has_credentials, written)):
            raise UsageError(
                f"[providers.{name}]: an address holds a user name or password, which would be stored with the study. "
                "Give it in the environment (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, OLLAMA_HOST) instead.",
                ("providers", name, key),
            )
