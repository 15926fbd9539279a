"""Keys come from the environment, go to the provider's own SDK, and appear nowhere else.

What a provider says may repeat a key or a part of one, so every foreign word passes `scrubbed` before it is shown,
stored or logged, and every reply `masked`.
"""

import os
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.registries import PROVIDERS

_LOOKS_LIKE_KEY = re.compile(r"\b(?:sk|pk|rk|key)-[\w*.-]{6,}|(?<=Bearer )\S+")
_SHORTEST = 6
_SHORTEST_IN_REPLIES = 16
"""letters of a key that is looked for in replies: a placeholder such as "not-needed" is a word that a model may say"""
HIDDEN = "[key]"

_watched = dict.fromkeys(name for known in KNOWN_ENDPOINTS.values() for name in known.keys)
"""environment variables whose values are keys"""
_in_replies: tuple[str, ...] = ()


def watch(variables: Iterable[str]) -> None:
    """From now on the values of these variables are keys too. Told whenever an endpoint is opened."""
    global _in_replies
    _watched.update(dict.fromkeys(variables))
    values = {os.environ.get(name, "") for name in _watched if not name.endswith("_PROFILE")}
    _in_replies = tuple(value for value in values if len(value) >= _SHORTEST_IN_REPLIES)


def watched() -> tuple[str, ...]:
    """The variables whose values are known to be keys."""
    return tuple(_watched)


def masked(text: str) -> str:
    """A reply without any key that was there when the endpoints were opened. Cheap: every reply comes by here."""
    for value in _in_replies:
        if value in text:
            text = text.replace(value, HIDDEN)
    return text


def scrubbed(text: str) -> str:
    """The text without any key: those of the environment, and whatever looks like one."""
    of_packages = (name for spec in PROVIDERS.loaded().values() for name in spec.keys)
    for name in (*_watched, *of_packages):
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
