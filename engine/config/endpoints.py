"""Endpoints and models that are known by name: dialect, address, variable of the key; short names for models; retired models.

`endpoints.json` has the tables. A study declares more endpoints as [providers.NAME] with `like`.
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
"""in place of hosts: the server of whichever machine a call leaves from"""


@dataclass(frozen=True, slots=True)
class KnownEndpoint:
    """What holds for an endpoint unless its section says otherwise."""

    title: str
    like: Family
    address: str = ""
    """empty: only the user knows it"""
    keys: tuple[str, ...] = ()
    """environment variables that may hold its key, the usual one first"""
    key_needed: bool = True
    """where it has variables: whether it answers nobody without a key"""
    address_variable: str = ""
    """environment variable that may name another address"""
    batch_api: bool = False
    free: bool = False
    """software of one's own: a token has no price"""
    note: str = ""


_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def _endpoints(table: str) -> dict[str, KnownEndpoint]:
    return {name: KnownEndpoint(**{**one, "keys": tuple(one.get("keys", ()))}) for name, one in _TABLES[table].items()}


OWN_ENDPOINTS = _endpoints("own")
"""those that have given their names to the families"""
PRESET_ENDPOINTS = _endpoints("preset")
KNOWN_ENDPOINTS = {**OWN_ENDPOINTS, **PRESET_ENDPOINTS}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


def is_endpoint_name(name: str) -> bool:
    """Letters, digits, - and _: what stands before the colon of a model's name, and in [providers.NAME]."""
    return _NAME.fullmatch(name) is not None


def title_of(name: str) -> str:
    """How an endpoint is called in sentences."""
    return KNOWN_ENDPOINTS[name].title if name in KNOWN_ENDPOINTS else name


@dataclass(frozen=True, slots=True)
class Preset:
    """A short name for a model, and what there is to say about it."""

    model: str
    note: str = ""


PRESET_TABLE = {name: Preset(**preset) for name, preset in _TABLES["models"].items()}
PRESETS = {name: preset.model for name, preset in PRESET_TABLE.items()}

KNOWN_MODELS = {provider: tuple(models) for provider, models in _TABLES["known"].items()}
"""what is listed where a provider cannot be asked"""

RETIREMENTS: dict[str, str] = _TABLES["retirements"]
"""announced ends that the providers' own lists may not carry"""

_RETIRED: dict[str, str] = _TABLES["retired"]
"""patterns of names, in order, and what stands in for them"""


def known_model(name: str) -> str:
    """The name as it is, for sections of a config: pydantic tells a ValueError with its key."""
    try:
        resolve_model(name)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return name


def resolve_model(name: str) -> str:
    """PROVIDER:MODEL for a preset or a full name. Whether there is such a provider is for a whole config to say."""
    if name in PRESETS:
        return PRESETS[name]
    provider, colon, model = name.partition(":")
    if colon and model and is_endpoint_name(provider):
        return name
    if colon:
        raise UsageError(f"{name!r} names no provider and model: it reads PROVIDER:MODEL, such as openai:gpt-4o-mini.")
    suggestion = _suggest_model(name)
    hint = f"did you mean {suggestion!r}?" if suggestion else f"presets are {', '.join(PRESETS)}."
    raise UsageError(f"{name!r} is neither PROVIDER:MODEL nor a preset: {hint}")


def _suggest_model(name: str) -> str | None:
    """A provider with a slash, a preset misspelt, or a model's name without its provider."""
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
    """What is said of a provider, or of a PROVIDER:MODEL, that is neither known nor declared."""
    name, _, rest = model.partition(":")
    known = list(dict.fromkeys((*PROVIDERS, *KNOWN_ENDPOINTS, *declared)))
    near = get_close_matches(name, known, n=1)
    suggested = ":".join(filter(None, (near[0], rest))) if near else ""
    hint = f"did you mean {suggested}?" if near else f"known are {', '.join(known)}."
    return (
        f"{model!r} names no provider that Tidepool knows: {hint} An endpoint of your own is declared by a section "
        f'[providers.{name}] with like = "openai" (or "anthropic", "ollama") and base_url = "…".'
    )


def successor_of(model: str) -> str | None:
    """What stands in for a retired PROVIDER:MODEL; None where it is not known to be retired."""
    return next((successor for pattern, successor in _RETIRED.items() if re.fullmatch(pattern, model)), None)


def refuse_retired(model: str) -> None:
    """Refuses a model that answers no more, before anything is called. Old batches that used it stay readable."""
    if successor := successor_of(model):
        raise UsageError(
            f"{model} is retired: its provider answers no calls to it any more. Use {successor} instead; "
            "docs/providers.md lists what each preset stands for."
        )
