"""Which servers a batch of a file may be asked at.

A study file is data, perhaps a stranger's: an address in it is shown, and obeyed only where the user's own hand stands
behind it: the provider's usual address, one from the environment or `--set`, the trust record, or `--trust`. What the
file says of where and by whom it was made grants nothing.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.config.toml_files import apply_override
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.engine.registries import PROVIDERS
from tidepool.engine.trust.record import TrustedServer, TrustRecord, origin_of, trust_record

ADDRESSES = ("hosts", "base_url")
PLACES = (*ADDRESSES, "api_key_env")
"""keys of [providers.NAME] that say where words go, and which key with them"""
SHOWN = 200
"""letters of an address that an error quotes"""


@dataclass(frozen=True, slots=True)
class NamedServer:
    """A server that a config names, or has a key sent to, and what would go there."""

    provider: str
    settings: tuple[str, ...]
    """which of PLACES the config says"""
    address: str
    models: tuple[str, ...]
    keys: tuple[str, ...]
    """variables whose keys would go there"""

    @property
    def in_words(self) -> str:
        keys = " and ".join(self.keys)
        return f"{', '.join(self.models)} at {self.address[:SHOWN]} ({f'with {keys}' if keys else 'without a key'})"


def servers_named(config: FrozenConfig, models: Iterable[str]) -> list[NamedServer]:
    """Those that calls of these models would go to, as far as the config says so. Simulated models have none."""
    by_provider: dict[str, list[str]] = {}
    for model in sorted(models):
        by_provider.setdefault(model.partition(":")[0], []).append(model)
    named: list[NamedServer] = []
    for provider in by_provider.keys() - {"simulated"}:
        settings = config.providers.section(provider)
        written = tuple(key for key in PLACES if getattr(settings, key))
        if "hosts" in written:
            written = tuple(key for key in written if key != "base_url")
        if written:
            asked, keys = tuple(by_provider[provider]), keys_sent(provider, settings)
            named += [
                NamedServer(provider, written, address, asked, keys) for address in _addresses(provider, settings)
            ]
    return sorted(named, key=lambda one: (one.provider, one.address))


def _addresses(provider: str, settings: ProviderSettings) -> Sequence[str]:
    if is_endpoint(provider, settings):
        return endpoint_of(provider, settings).addresses
    return settings.hosts or ([settings.base_url] if settings.base_url else [])


def refuse_strange_servers(
    batch_id: str,
    frozen: str,
    config: FrozenConfig,
    models: Iterable[str],
    changes: Sequence[str],
    *,
    trusted: bool = False,
) -> bool:
    """Raises before a key or a word goes to a server that only the file names.

    `frozen` is the config as the file has it, `config` the same with the `--set` changes. Returns whether the batch is
    the user's own from now on: it was before, or `--set` says where its calls go. `--trust` is for this process only.
    """
    record = trust_record()
    if record.knows(batch_id, frozen):
        return True
    said = _said(changes)
    named = servers_named(config, models)
    strange = [one for one in named if not (_is_said(one, said) or _is_known(one, record))]
    refused = [one for one in strange if not _is_harmless(one)]
    if refused and not trusted:
        raise UsageError(_refusal(batch_id, refused))
    return not strange and any(_is_said(one, said) for one in named)


def keys_sent(provider: str, settings: ProviderSettings) -> tuple[str, ...]:
    """The variables whose keys would go to a server of this provider. An SDK may find one where we do not look."""
    if not is_endpoint(provider, settings):  # of an installed package, which says itself what it reads
        return tuple(PROVIDERS[provider].keys)
    endpoint = endpoint_of(provider, settings)
    there = tuple(name for name, present in endpoint.keys_looked_for if present)
    return there or (endpoint.key_variables[:1] if endpoint.key_needed else ())


def is_loopback(address: str) -> bool:
    origin = origin_of(address)
    if origin is None:
        return False
    try:
        return ip_address(origin.host.strip("[]")).is_loopback
    except ValueError:
        return origin.host == "localhost"


def without_strange_addresses(batch_id: str, frozen: str) -> dict[str, Any]:
    """The config of a batch for a new one: its addresses come along only where the batch is known here."""
    config: dict[str, Any] = json.loads(frozen)
    return config if trust_record().knows(batch_id, frozen) else without_addresses(config)


def without_addresses(config: dict[str, Any]) -> dict[str, Any]:
    providers = config.get("providers", {})
    kept = {
        name: {key: value for key, value in settings.items() if key not in PLACES}
        for name, settings in providers.items()
    }
    return {**config, "providers": kept}


def _said(changes: Iterable[str]) -> dict[str, Any]:
    """The `--set` changes alone, as a config would hold them."""
    said: dict[str, Any] = {}
    for change in changes:
        apply_override(said, change)
    providers = said.get("providers", {})
    return providers if isinstance(providers, dict) else {}


def _is_said(one: NamedServer, said: dict[str, Any]) -> bool:
    """Whether the user's own word stands for all that the config says: the address, and the key where it names one."""
    settings = said.get(one.provider)
    return isinstance(settings, dict) and all(key in settings for key in one.settings)


def _is_known(one: NamedServer, record: TrustRecord) -> bool:
    origin = origin_of(one.address)
    if origin is None:
        return False
    if "api_key_env" not in one.settings and origin in map(origin_of, _usual_addresses(one.provider)):
        return True
    servers = record.servers()
    if not one.keys:
        return any(server.origin == origin for server in servers)
    return all(TrustedServer(origin, key) in servers for key in one.keys)


def _usual_addresses(provider: str) -> tuple[str, ...]:
    known = KNOWN_ENDPOINTS.get(provider)
    return (known.address, os.environ.get(known.address_variable or "-", "")) if known else ()


def _is_harmless(one: NamedServer) -> bool:
    """A server on this machine that gets no key. With one, it is a question: any user of the machine may listen there."""
    return is_loopback(one.address) and one.provider not in PROVIDERS.installed and not one.keys


def _refusal(batch_id: str, refused: Sequence[NamedServer]) -> str:
    first = refused[0]
    said = " ".join(f"--set 'providers.{first.provider}.{key}=…'" for key in first.settings)
    words = (
        f"The file wants calls of batch {batch_id} to go to servers that are not known here: "
        f"{'; '.join(one.in_words for one in refused[:5])}. Nothing was sent. The batch was made on another machine, or was "
        "changed since it last ran on this one. Say yourself where its calls shall go: "
        f"{said}; or, if you know these servers, add --trust for this once"
    )
    if origin := origin_of(first.address):
        keys = "".join(f" --key {key}" for key in first.keys)
        words += f", or trust them from now on: tidepool trust add {origin}{keys}"
    return f"{words}."
