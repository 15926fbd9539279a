"""Endpoints: the address of a provider name, its API dialect, and its key.

Keys come from the environment, go to the provider's own SDK, and appear nowhere else. Text is masked before it enters a
file or a screen (`storage.key_mask`). An error message of a server may repeat a short key or a part of one, so it also
passes `scrub_keys`.
"""

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tidepool.engine.call import FREE, Call, PriceTag
from tidepool.engine.config.endpoints import (
    KNOWN_ENDPOINTS,
    LOCAL,
    OWN_ENDPOINTS,
    Family,
    KnownEndpoint,
    title_of,
    unknown_provider,
)
from tidepool.engine.config.sections import ModelPrice, ProviderSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, Provider, ProviderError, ProviderSpec
from tidepool.engine.registries import PROVIDERS
from tidepool.storage.text import HIDDEN, mask, watch

_LOOKS_LIKE_KEY = re.compile(r"\b(?:sk|pk|rk|key)-[\w*.-]{6,}|(?<=Bearer )\S+")
_SHORTEST = 6

_variables = dict.fromkeys(name for known in KNOWN_ENDPOINTS.values() for name in known.keys)
"""environment variables from which providers read their keys"""


def scrub_keys(text: str) -> str:
    """The text without keys: those in the environment, short ones too, and everything that looks like a key."""
    of_packages = (name for spec in PROVIDERS.loaded.values() for name in spec.keys)
    for name in (*_variables, *of_packages):
        value = os.environ.get(name, "")
        if len(value) >= _SHORTEST:
            text = text.replace(value, HIDDEN)
    return _LOOKS_LIKE_KEY.sub(HIDDEN, mask(text))


def has_credentials(url: str) -> bool:
    """Whether an address contains a user name or password, which would be stored with the study."""
    address = urlsplit(url if "//" in url else f"//{url}")
    return address.username is not None or address.password is not None


def display_host(url: str) -> str:
    """The address in messages: without credentials, path and query."""
    address = urlsplit(url if "//" in url else f"//{url}")
    return address.netloc.rpartition("@")[2] or url


NO_KEY = "none"
"""sent if an SDK requires a key and the endpoint has none"""
ALL_OTHERS = "*"
_MILLION = 1_000_000
_LOOPBACK = re.compile(
    r"(?:https?://)?(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?(?:/[^\s\\@]*)?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of one provider name, with its dialect and its key."""

    name: str
    like: Family
    addresses: tuple[str, ...]
    """of one server or of a pool; empty: the address is unknown"""
    key_variables: tuple[str, ...]
    """environment variables that may hold its key"""
    key_needed: bool
    has_batches: bool
    free: bool
    prices: dict[str, ModelPrice]
    on_each_machine: bool
    """the server runs on each machine that sends requests"""
    by_environment: bool
    """its SDK may read keys and headers from the environment, as it always does for the company that made it"""

    @property
    def title(self) -> str:
        return title_of(self.name)

    @property
    def key_variable(self) -> str:
        """The variable to name in messages; empty without key variables."""
        return self.key_variables[0] if self.key_variables else ""

    @property
    def key(self) -> str:
        return next((value for name in self.key_variables if (value := os.environ.get(name))), "")

    @property
    def keys_looked_for(self) -> list[tuple[str, bool]]:
        """The environment variables that may hold a key, each with whether it is set."""
        return [(name, bool(os.environ.get(name))) for name in self.key_variables]

    @property
    def lacks_key(self) -> bool:
        return self.key_needed and not self.key

    def where(self) -> tuple[str, ...]:
        """The addresses. Raises an error without any address."""
        if not self.addresses:
            example = "http://127.0.0.1:8000/v1" if self.on_each_machine else "https://…"
            raise UsageError(
                f'[providers.{self.name}] has no address of {self.title}. Write base_url = "{example}", '
                'or hosts = ["https://…", "https://…"] for several servers.',
                ("providers", self.name, "base_url"),
            )
        for address in self.addresses if self.like != "ollama" else ():
            if not address.startswith(("http://", "https://")):
                raise UsageError(
                    f"[providers.{self.name}]: the address {address[:200]!r} has no scheme. Start it with https:// or http://.",
                    ("providers", self.name, "base_url"),
                )
        return self.addresses

    def price(self, model_name: str) -> PriceTag | None:
        """The declared price, or zero for your own servers. None: look it up in the price table."""
        if declared := self.prices.get(model_name) or self.prices.get(ALL_OTHERS):
            return _tag(declared)
        return FREE if self.free else None


def is_loopback(address: str) -> bool:
    """Whether every client treats the address as a server on this machine."""
    return _LOOPBACK.fullmatch(address) is not None


def is_endpoint(name: str, settings: ProviderSettings) -> bool:
    """Whether the provider is a server in one of the families: not simulated, and not from an installed package."""
    return name in KNOWN_ENDPOINTS or settings.like is not None


def endpoint_of(name: str, settings: ProviderSettings) -> Endpoint:
    """The endpoint of a section [providers.NAME]."""
    known = KNOWN_ENDPOINTS.get(name) or KnownEndpoint(name, settings.like or "openai", free=settings.like == "ollama")
    on_each_machine = settings.hosts == [LOCAL]
    in_environment = None if on_each_machine else os.environ.get(known.address_variable or "-")
    stated = settings.base_url or in_environment or known.address
    if on_each_machine and not is_loopback(stated):
        stated = ""
    keys = (settings.api_key_env,) if settings.api_key_env else known.keys
    _variables.update(dict.fromkeys(keys))
    watch(_variables)
    return Endpoint(
        name=name,
        like=settings.like or known.like,
        addresses=tuple(dict.fromkeys((not on_each_machine and settings.hosts) or ([stated] if stated else []))),
        key_variables=keys,
        key_needed=bool(keys) and (known.key_needed or settings.api_key_env is not None),
        has_batches=known.batch_api if settings.batch_api is None else settings.batch_api,
        free=known.free,
        prices=settings.prices,
        on_each_machine=on_each_machine,
        by_environment=name in OWN_ENDPOINTS and settings.api_key_env is None,
    )


def _tag(price: ModelPrice) -> PriceTag:
    def per_token(dollars: float | None) -> Any:
        return None if dollars is None else dollars / _MILLION

    return PriceTag(
        input=per_token(price.input),
        output=per_token(price.output),
        batch_factor=price.batch_factor,
        cache_read=per_token(price.cache_read),
        cache_write=per_token(price.cache_write),
    )


def open_provider(name: str, settings: ProviderSettings) -> Provider:
    """Opens a provider with its own settings. A batch calls `serve` to mark requests as its own."""
    _refuse_secrets(name, "base_url", [settings.base_url or ""])
    _refuse_secrets(name, "hosts", settings.hosts)
    if is_endpoint(name, settings):
        family: ProviderSpec = PROVIDERS[endpoint_of(name, settings).like]
        return family.open(settings, name)
    if name not in PROVIDERS:
        raise UsageError(unknown_provider(name), ("providers", name))
    spec: ProviderSpec = PROVIDERS[name]
    provider = spec.open(settings)
    return provider if name in PROVIDERS.builtin else _timed(provider)


def _timed(provider: Provider) -> Provider:
    """Adds a timeout to each request of a package's provider. Built-in providers apply their own."""
    complete = provider.complete

    async def complete_in_time(call: Call, seed: int, attempt: int) -> Answer:
        try:
            async with asyncio.timeout(provider.settings.timeout):
                return await complete(call, seed, attempt)
        except TimeoutError as error:
            text = f"no answer within {provider.settings.timeout:g} s"
            raise ProviderError(ErrorClass.TRANSIENT, text, no_reply=NoReply.TIMEOUT) from error

    object.__setattr__(provider, "complete", complete_in_time)  # its class may be frozen
    return provider


def _refuse_secrets(name: str, key: str, addresses: Sequence[str]) -> None:
    """Rejects addresses with passwords, since a config is stored and shared with its study."""
    if any(map(has_credentials, addresses)):
        raise UsageError(
            f"[providers.{name}]: an address contains a user name or password, which would be stored with the study. "
            "Set it in the environment (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, OLLAMA_HOST) instead.",
            ("providers", name, key),
        )
