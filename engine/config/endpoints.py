"""Endpoints that are known by name: what they speak like, where they are, and where their key stands.

A study declares more of them, as [providers.NAME] with `like`. What it does not write of a known one stands here.
"""

import re
from dataclasses import dataclass
from typing import Literal

Family = Literal["openai", "anthropic", "ollama"]
LOCAL = "local"
"""in place of hosts: the server of whichever machine a call leaves from"""
FAMILIES: tuple[Family, ...] = ("openai", "anthropic", "ollama")


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


OWN_ENDPOINTS = {
    "openai": KnownEndpoint(
        "OpenAI",
        "openai",
        "https://api.openai.com/v1",
        keys=("OPENAI_API_KEY",),
        address_variable="OPENAI_BASE_URL",
        batch_api=True,
    ),
    "anthropic": KnownEndpoint(
        "Anthropic",
        "anthropic",
        "https://api.anthropic.com",
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"),
        address_variable="ANTHROPIC_BASE_URL",
        batch_api=True,
    ),
    "ollama": KnownEndpoint(
        "Ollama",
        "ollama",
        "http://127.0.0.1:11434",
        keys=("OLLAMA_API_KEY",),
        key_needed=False,
        address_variable="OLLAMA_HOST",
        free=True,
    ),
}
"""those that have given their names to the families"""

PRESET_ENDPOINTS = {
    "openrouter": KnownEndpoint(
        "OpenRouter", "openai", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",), note="many houses, one key"
    ),
    "gemini": KnownEndpoint(
        "Gemini",
        "openai",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY",),
        note="Google's endpoint that speaks like OpenAI",
    ),
    "azure": KnownEndpoint(
        "Azure OpenAI",
        "openai",
        keys=("AZURE_OPENAI_API_KEY",),
        batch_api=True,
        note='base_url = "https://RESOURCE.openai.azure.com/openai/v1"; models by the name of their deployment',
    ),
    "vllm": KnownEndpoint("vLLM", "openai", "http://127.0.0.1:8000/v1", free=True),
    "llamacpp": KnownEndpoint("llama.cpp", "openai", "http://127.0.0.1:8080/v1", free=True),
    "lmstudio": KnownEndpoint("LM Studio", "openai", "http://127.0.0.1:1234/v1", free=True),
    "litellm": KnownEndpoint("LiteLLM", "openai", "http://127.0.0.1:4000", note="a gateway of one's own"),
}
KNOWN_ENDPOINTS = {**OWN_ENDPOINTS, **PRESET_ENDPOINTS}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


def is_endpoint_name(name: str) -> bool:
    """Letters, digits, - and _: what stands before the colon of a model's name, and in [providers.NAME]."""
    return _NAME.fullmatch(name) is not None


def title_of(name: str) -> str:
    """How an endpoint is called in sentences."""
    return KNOWN_ENDPOINTS[name].title if name in KNOWN_ENDPOINTS else name
