"""Which servers a batch of a file may be asked at.

A study file is data, perhaps a stranger's: an address in it is shown, and obeyed only where the user's own hand stands
behind it: the provider's usual address, one from the environment or `--set`, the user's own `providers.toml`, the trust
record, or `--trust`. What the file says of where and by whom it was made grants nothing.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.sections import Limits, ProviderSettings
from tidepool.engine.config.toml_files import apply_override
from tidepool.engine.config.user_endpoints import user_providers
from tidepool.engine.errors import NotTrusted, UsageError
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.engine.registries import PROVIDERS
from tidepool.engine.trust.code import without_code
from tidepool.engine.trust.origins import is_loopback, origin_of, shown
from tidepool.engine.trust.record import TrustedServer, config_hash, trust_record

PLACES = ("hosts", "base_url", "api_key_env")
"""keys of [providers.NAME] that say where words go, and which key with them"""
HARMLESS = frozenset({*Limits.model_fields, "like", "prices", "batch_api"})
"""keys that say nothing of the kind. Of an installed package nobody knows what its other keys say: perhaps a command"""


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
    def where(self) -> str:
        """The address as a person is shown it; of a package, which keys tell it where to go."""
        keys = ", ".join(key for key in self.settings if key not in PLACES)
        return shown(self.address) or f"wherever its package goes ({keys})"

    @property
    def in_words(self) -> str:
        keys = " and ".join(self.keys)
        models = f"{', '.join(self.models)} at " if self.models else ""
        return f"{models}{self.where} ({f'with {keys}' if keys else 'without a key'})"


def servers_named(config: FrozenConfig, models: Iterable[str]) -> list[NamedServer]:
    """Those that calls of these models would go to, as far as the config says so. Simulated models have none."""
    by_provider: dict[str, list[str]] = {}
    for model in sorted(models):
        by_provider.setdefault(model.partition(":")[0], []).append(model)
    named = [
        one
        for provider in by_provider.keys() - {"simulated"}
        for one in _named(provider, config.providers.section(provider), by_provider[provider])
    ]
    return sorted(named, key=lambda one: (one.provider, one.address))


def _named(provider: str, settings: ProviderSettings, models: Iterable[str] = ()) -> Iterator[NamedServer]:
    if written := _written(provider, settings):
        asked, keys = tuple(models), keys_sent(provider, settings)
        for address in _addresses(provider, settings):
            yield NamedServer(provider, written, address, asked, keys)


def strangers_of(provider: str, settings: ProviderSettings) -> list[NamedServer]:
    """Servers that a draft names for a provider, and that nothing else vouches for: not to be asked by the way."""
    if provider == "simulated" or not (named := list(_named(provider, settings))):
        return []
    trusted = [*trust_record().servers(), *_users_servers()]
    return [one for one in named if not (_is_known(one, trusted) or _is_harmless(one))]


def servers_to_tell(config: FrozenConfig, models: Iterable[str]) -> list[NamedServer]:
    """Those that are not their providers' usual ones, or get another key: named before anything is sent."""
    return [one for one in servers_named(config, models) if "api_key_env" in one.settings or not _is_usual(one)]


def _written(provider: str, settings: ProviderSettings) -> tuple[str, ...]:
    """Which of its keys say where words go. What a package's own keys say is for the package to know."""
    if not is_endpoint(provider, settings):
        return tuple(sorted(settings.model_fields_set - HARMLESS))
    written = tuple(key for key in PLACES if getattr(settings, key))
    return tuple(key for key in written if key != "base_url") if "hosts" in written else written


def _addresses(provider: str, settings: ProviderSettings) -> Sequence[str]:
    if is_endpoint(provider, settings):
        return endpoint_of(provider, settings).addresses
    return settings.hosts or [settings.base_url or ""]


@dataclass(frozen=True, slots=True)
class TrustVerdict:
    """What is thought of a batch that is to go on, by the very config that its file has."""

    batch_id: str
    frozen: str
    known: bool
    """with this config it is the user's own"""
    said: bool
    """it was not, but `--set` says where all its calls go: so it is from now on"""
    strange: tuple[NamedServer, ...] = ()
    """servers that only the file names"""
    code: tuple[str, ...] = ()
    """in words, what it would run on this machine because the file says so"""
    file: str = ""
    """the option by which a command finds the batch, where that is not in the file that is open"""

    @property
    def own(self) -> bool:
        return self.known or self.said

    def refuse(self, trust: bool | str) -> None:
        """Raises before a key or a word goes to a strange server, or code is run, unless this process was told to trust
        them: those of whatever the file says, or of the config with this hash alone."""
        if trust is True or trust == config_hash(self.frozen):
            return
        if self.code:
            raise NotTrusted(_code_refusal(self.batch_id, self.code, self.file))
        if self.strange:
            raise NotTrusted(_refusal(self.batch_id, self.strange, self.file))


def judged(
    batch_id: str,
    frozen: str,
    config: FrozenConfig,
    models: Iterable[str],
    changes: Sequence[str] = (),
    code: tuple[str, ...] = (),
    file: str = "",
) -> TrustVerdict:
    """`frozen` is the config as the file has it, `config` the same with the `--set` changes, `code` what it would run: where
    calls go can be said by `--set`, what is run cannot."""
    record = trust_record()
    if record.knows(batch_id, frozen):
        return TrustVerdict(batch_id, frozen, known=True, said=False)
    named = servers_named(config, models)
    said = _said(changes) if named else {}
    trusted = [*record.servers(), *_users_servers()] if named else []
    unsaid = [one for one in named if not (_is_said(one, said) or _is_known(one, trusted))]
    by_word = not unsaid and not code and any(_is_said(one, said) for one in named)
    strange = tuple(one for one in unsaid if not _is_harmless(one))
    return TrustVerdict(batch_id, frozen, known=False, said=by_word, strange=strange, code=code, file=file)


def keys_sent(provider: str, settings: ProviderSettings) -> tuple[str, ...]:
    """The variables whose keys would go to a server of this provider. An SDK may find one where we do not look."""
    if not is_endpoint(provider, settings):  # of an installed package, which says itself what it reads
        return tuple(PROVIDERS[provider].keys)
    endpoint = endpoint_of(provider, settings)
    there = tuple(name for name, present in endpoint.keys_looked_for if present)
    return there or (endpoint.key_variables[:1] if endpoint.key_needed else ())


def without_strange_addresses(batch_id: str, frozen: str) -> dict[str, Any]:
    """The config of a batch for a new one, which will be the user's own word: what says where words go, and which code is
    run, comes along only where the batch is known here; what no file may say, and none of ours does, never."""
    config = said_by_files(json.loads(frozen))
    config.pop("design", None)  # which only a study has, and which could name code
    return config if trust_record().knows(batch_id, frozen) else without_code(without(config, says_where))


def said_by_files(config: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is obeyed from the user's own hand alone: which cluster is joined."""
    return {name: section for name, section in config.items() if name != "cluster"}


def without_addresses(config: dict[str, Any]) -> dict[str, Any]:
    """The config of a batch that stays one of a stranger's: what a package's own keys say is asked about when it goes on."""
    return without(config, lambda provider, settings, key: key in PLACES)


def without_words_to_packages(batch_id: str, frozen: str) -> str:
    """A stored config as it can be planned with: no installed package hears what only a file says."""
    load_frozen(frozen)  # whatever is wrong with it is told in words
    if trust_record().knows(batch_id, frozen):
        return frozen
    return json.dumps(without(json.loads(frozen), _tells_package), ensure_ascii=False)


def _tells_package(provider: str, settings: Mapping[str, Any], key: str) -> bool:
    return key not in PLACES and says_where(provider, settings, key)


def without(config: dict[str, Any], unwanted: Callable[[str, Mapping[str, Any], str], bool]) -> dict[str, Any]:
    providers = config.get("providers", {})
    kept = {
        name: {key: value for key, value in settings.items() if not unwanted(name, settings, key)}
        for name, settings in providers.items()
    }
    return {**config, "providers": kept}


def says_where(provider: str, settings: Mapping[str, Any], key: str) -> bool:
    """Whether a key of [providers.NAME] may say where words go, and which key with them."""
    ours = provider == "simulated" or provider in KNOWN_ENDPOINTS or settings.get("like") is not None
    return key in PLACES if ours else key not in HARMLESS


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


def _is_known(one: NamedServer, trusted: Sequence[TrustedServer]) -> bool:
    """A package's own keys may say more than an address: they are known only with the batch."""
    origin = origin_of(one.address)
    if origin is None or not set(PLACES).issuperset(one.settings):
        return False
    if "api_key_env" not in one.settings and _is_usual(one):
        return True
    if not one.keys:
        return any(server.origin == origin for server in trusted)
    return all(TrustedServer(origin, key) in trusted for key in one.keys)


def _is_usual(one: NamedServer) -> bool:
    origin = origin_of(one.address)
    return origin is not None and origin in map(origin_of, _usual_addresses(one.provider))


def _users_servers() -> Iterator[TrustedServer]:
    """What the user's own `providers.toml` says of endpoints is the user's word, whichever file repeats it."""
    try:
        providers = user_providers()
    except UsageError:  # told where a model of it is asked
        return
    for name in providers.model_fields_set:
        settings = providers.section(name)
        if is_endpoint(name, settings):
            endpoint = endpoint_of(name, settings)
            for origin in filter(None, map(origin_of, endpoint.addresses)):
                yield from (TrustedServer(origin, key) for key in endpoint.key_variables or ("",))


def _usual_addresses(provider: str) -> tuple[str, ...]:
    known = KNOWN_ENDPOINTS.get(provider)
    return (known.address, os.environ.get(known.address_variable or "-", "")) if known else ()


def _is_harmless(one: NamedServer) -> bool:
    """A server on this machine that gets no key. With one, it is a question: any user of the machine may listen there."""
    return is_loopback(one.address) and one.provider not in PROVIDERS.installed and not one.keys


SHOWN = 5
"""servers that a refusal names"""


def _code_refusal(batch_id: str, code: Sequence[str], file: str) -> str:
    return (
        f"The file wants batch {batch_id} to run code on this machine: {'; '.join(map(shown, code))}. Nothing was run and "
        "nothing sent. The batch was made on another machine, or was changed since it last ran on this one. If you know this "
        f"code, add --trust for this once, or make the batch your own as it is now: tidepool {file}trust add {batch_id}."
    )


def _refusal(batch_id: str, refused: Sequence[NamedServer], file: str) -> str:
    first = refused[0]
    said = " ".join(f"--set 'providers.{first.provider}.{key}=…'" for key in first.settings)
    more = f"; and {len(refused) - SHOWN:,} more" if len(refused) > SHOWN else ""
    words = (
        f"The file wants calls of batch {batch_id} to go to servers that are not known here: "
        f"{'; '.join(one.in_words for one in refused[:SHOWN])}{more}. Nothing was sent. The batch was made on another "
        "machine, or was changed since it last ran on this one. Say yourself where its calls shall go: "
        f"{said}; or, if you know these servers, add --trust for this once, or make the batch your own as it is now: "
        f"tidepool {file}trust add {batch_id}"
    )
    if origin := origin_of(first.address):
        keys = "".join(f" --key {key}" for key in first.keys)
        words += f"; or trust this server from now on: tidepool trust add {origin}{keys}"
    return f"{words}."
