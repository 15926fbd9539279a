"""Keys come from the environment, go to the provider's own SDK, and appear nowhere else.

Text is masked where it enters a file or a screen (`storage.text`). What a server says of an error may repeat a short
key or a part of one, so it also passes `scrubbed`.
"""

import os
import re
from urllib.parse import urlsplit

from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.registries import PROVIDERS
from tidepool.storage.text import HIDDEN, mask, watch

_LOOKS_LIKE_KEY = re.compile(r"\b(?:sk|pk|rk|key)-[\w*.-]{6,}|(?<=Bearer )\S+")
_SHORTEST = 6

_variables = dict.fromkeys(name for known in KNOWN_ENDPOINTS.values() for name in known.keys)
"""environment variables that providers read their keys from"""


def watch_keys(variables: tuple[str, ...]) -> None:
    """These variables hold keys too. Called whenever an endpoint is opened."""
    _variables.update(dict.fromkeys(variables))
    watch(name for name in _variables if not name.endswith("_PROFILE"))  # which names a key, and is none


def scrubbed(text: str) -> str:
    """The text without any key: those of the environment, short ones too, and whatever looks like one."""
    of_packages = (name for spec in PROVIDERS.loaded().values() for name in spec.keys)
    for name in (*_variables, *of_packages):
        value = os.environ.get(name, "")
        if len(value) >= _SHORTEST:
            text = text.replace(value, HIDDEN)
    return _LOOKS_LIKE_KEY.sub(HIDDEN, mask(text))


def carries_secret(url: str) -> bool:
    """Whether an address holds a user name or password: such an address would be stored with the study."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.username is not None or parts.password is not None


def shown_host(url: str) -> str:
    """The address as messages show it: without credentials, path and query."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.netloc.rpartition("@")[2] or url
