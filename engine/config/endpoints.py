"""Known endpoints and models: dialects, addresses, key variables, presets and retired models.

The tables are in `endpoints.json`. A study declares more endpoints as [providers.NAME] with `like`.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from tidepool.engine.errors import UsageError
from tidepool.engine.registries import PROVIDERS, SIMULATED_MODELS

Family = Literal["openai", "anthropic", "ollama"]
LOCAL = "local"
"""used in place of hosts: the server on the machine that a request leaves from"""


@dataclass(frozen=True, slots=True)
class KnownEndpoint:
    """The defaults of an endpoint, which its section can change."""

    title: str
    like: Family
    address: str = ""
    """empty: only the user knows the address"""
    keys: tuple[str, ...] = ()
    """environment variables that may hold its key, the most common first"""
    key_needed: bool = True
    """for an endpoint with key variables: whether it rejects requests without a key"""
    address_variable: str = ""
    """environment variable that may name another address"""
    batch_api: bool = False
    free: bool = False
    """the software runs on your own machines, so tokens have no price"""
    note: str = ""


_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def _endpoints(table: str) -> dict[str, KnownEndpoint]:
    return {name: KnownEndpoint(**{**one, "keys": tuple(one.get("keys", ()))}) for name, one in _TABLES[table].items()}


OWN_ENDPOINTS = _endpoints("own")
"""the endpoints that the families are named after"""
PRESET_ENDPOINTS = _endpoints("preset")
KNOWN_ENDPOINTS = {**OWN_ENDPOINTS, **PRESET_ENDPOINTS}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


def is_endpoint_name(name: str) -> bool:
    """Whether a name consists of letters, digits, - and _. It precedes the colon of a model name and is used in [providers.NAME]."""
    return _NAME.fullmatch(name) is not None


def title_of(name: str) -> str:
    """The name of an endpoint in messages."""
    return KNOWN_ENDPOINTS[name].title if name in KNOWN_ENDPOINTS else name


@dataclass(frozen=True, slots=True)
class Preset:
    """A short name for a model, with notes about the model."""

    model: str
    note: str = ""


PRESET_TABLE = {name: Preset(**preset) for name, preset in _TABLES["models"].items()}
PRESETS = {name: preset.model for name, preset in PRESET_TABLE.items()}

KNOWN_MODELS = {provider: tuple(models) for provider, models in _TABLES["known"].items()}
"""models to list when a provider cannot be asked"""

RETIREMENTS: dict[str, str] = _TABLES["retirements"]
"""announced shutdown dates that the providers' own lists may not carry"""

_RETIRED: dict[str, str] = _TABLES["retired"]
"""patterns of retired model names, in order, each with its replacement"""


def known_model(name: str) -> str:
    """Returns the name unchanged. For config sections: pydantic reports a ValueError with its key."""
    try:
        resolve_model(name)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return name


def resolve_model(name: str) -> str:
    """PROVIDER:MODEL for a preset or a full name. The check of a whole config decides whether the provider exists."""
    if name in PRESETS:
        return PRESETS[name]
    provider, colon, model = name.partition(":")
    if colon and model and is_endpoint_name(provider):
        return name
    if colon:
        raise UsageError(f"{name!r} is not a model name. Write PROVIDER:MODEL, such as openai:gpt-4o-mini.")
    suggestion = _suggest_model(name)
    hint = f"did you mean {suggestion!r}?" if suggestion else f"known presets are {', '.join(PRESETS)}."
    raise UsageError(f"{name!r} is neither PROVIDER:MODEL nor a preset: {hint}")


def _suggest_model(name: str) -> str | None:
    """Suggests a fix for a provider with a slash, a misspelled preset, or a model name without its provider."""
    provider_name, _, rest = name.partition("/")
    if rest and provider_name in PROVIDERS:
        return f"{provider_name}:{rest}"
    full_names = {model: f"{provider}:{model}" for provider, models in KNOWN_MODELS.items() for model in models}
    full_names |= {model.partition(":")[2]: model for model in PRESETS.values()}
    full_names |= {model: f"simulated:{model}" for model in SIMULATED_MODELS}
    if name in full_names:
        return full_names[name]
    near = get_close_matches(name, PRESETS, n=1) or get_close_matches(name, full_names, n=1, cutoff=0.8)
    return full_names.get(near[0], near[0]) if near else None


def unknown_provider(model: str, declared: Iterable[str] = ()) -> str:
    """The error message for an unknown provider, or for a PROVIDER:MODEL with an unknown provider."""
    name, _, rest = model.partition(":")
    known = list(dict.fromkeys((*PROVIDERS, *KNOWN_ENDPOINTS, *declared)))
    near = get_close_matches(name, known, n=1)
    suggested = ":".join(filter(None, (near[0], rest))) if near else ""
    hint = f"did you mean {suggested}?" if near else f"known providers are {', '.join(known)}."
    return (
        f"{model!r} has an unknown provider: {hint} To use your own endpoint, add a section "
        f'[providers.{name}] with like = "openai" (or "anthropic", "ollama") and base_url = "…".'
    )


def successor_of(model: str) -> str | None:
    """The replacement for a retired PROVIDER:MODEL; None if the model is not known to be retired."""
    return next((successor for pattern, successor in _RETIRED.items() if re.fullmatch(pattern, model)), None)


def refuse_retired(model: str) -> None:
    """Rejects a retired model before any request is sent. Old batches that used it stay readable."""
    if successor := successor_of(model):
        raise UsageError(
            f"{model} is retired, and its provider no longer answers requests to it. Use {successor} instead. "
            "docs/providers.md lists the model of each preset."
        )
