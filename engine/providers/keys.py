"""Keys come from the environment, go to the provider's own SDK, and appear nowhere else.

What a provider says may repeat a key or a part of one, so every foreign word passes `scrubbed` before it is shown,
stored or logged.
"""

import os
import re
from urllib.parse import urlsplit

from tidepool.engine.registries import PROVIDERS

KEY_VARIABLES = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"),
    "ollama": ("OLLAMA_API_KEY",),
}
ADDRESS_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "ollama": "OLLAMA_HOST"}
OWN_ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434",
}
_LOOKS_LIKE_KEY = re.compile(r"\b(?:sk|pk|rk|key)-[\w*.-]{6,}|(?<=Bearer )\S+")
_SHORTEST = 6
HIDDEN = "[key]"


def has_key(provider: str) -> bool:
    return any(os.environ.get(name) for name in KEY_VARIABLES.get(provider, ()))


def keys_looked_for(provider: str) -> list[tuple[str, bool]]:
    """The environment variables a key may stand in, and whether there is something in each."""
    return [(name, bool(os.environ.get(name))) for name in KEY_VARIABLES.get(provider, ())]


def scrubbed(text: str) -> str:
    """The text without any key: those of the environment, and whatever looks like one."""
    of_packages = [spec.keys for spec in PROVIDERS.loaded().values()]
    for names in (*KEY_VARIABLES.values(), *of_packages):
        for name in names:
            value = os.environ.get(name, "")
            if len(value) >= _SHORTEST:
                text = text.replace(value, HIDDEN)
    return _LOOKS_LIKE_KEY.sub(HIDDEN, text)


def carries_secret(url: str) -> bool:
    """Whether an address holds a user name or password: such an address would be stored with the study."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.username is not None or parts.password is not None


def shown_host(url: str) -> str:
    """The address as messages show it: without credentials, path and query."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.netloc.rpartition("@")[2] or url
