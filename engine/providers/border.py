"""What is let in from a server: bodies of a bounded size, and no redirect that would carry a key to another server.

The clients of all SDKs are httpx's, of one generation or another; this knows only what both have.
"""

import ssl
from collections.abc import Mapping
from contextlib import aclosing
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import urljoin, urlsplit

from tidepool.engine.providers.keys import shown_host

MOST_BYTES = 64_000_000
"""of a body, decompressed"""
_UNPACKED = ("", "identity")
_PORTS = {"http": 80, "https": 443}


class Refused(Exception):
    """An answer that is not let in; its words say why."""


@cache
def trusted_certificates(generation: str) -> ssl.SSLContext:
    """Those that httpx or httpx2 trusts: reading them takes longer than opening a client, so it is done once."""
    context = import_module(generation).create_ssl_context()
    assert isinstance(context, ssl.SSLContext)
    return context


def comes_whole(headers: Mapping[str, str], most: int = MOST_BYTES) -> bool:
    """Whether a body comes unpacked and as long as it says: the transport reads no more than was announced."""
    length = headers.get("Content-Length", "")
    if headers.get("Content-Encoding", "").strip().lower() not in _UNPACKED or not length.isdecimal():
        return False
    if len(length) < 20 and int(length) > most:
        raise Refused(_too_large(most))
    return len(length) < 20


async def read_within(response: Any, most: int = MOST_BYTES) -> None:
    """Reads a body as the client would, up to a limit that holds for what a packed one unfolds to."""
    if comes_whole(response.headers, most):
        await response.aread()
        return
    packing = response.headers.get("Content-Encoding", "")
    if "," in packing:
        raise Refused(f"an answer that is packed more than once ({packing.strip().lower()[:60]})")
    parts, size = [], 0
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            size += len(chunk)
            if size > most:
                raise Refused(_too_large(most))
            parts.append(chunk)
    response._content = b"".join(parts)  # what `aread` would keep


async def refuse_strange_redirect(response: Any) -> None:
    """A hook of the client: a redirect is followed on the same server only, or to the same name by TLS."""
    if not response.has_redirect_location:
        return
    await read_within(response)
    try:
        here = urlsplit(str(response.request.url))
        there = urlsplit(urljoin(here.geturl(), response.headers["Location"]))
        same_port = (there.port or _PORTS.get(there.scheme)) == (here.port or _PORTS.get(here.scheme))
    except ValueError:
        raise Refused("a redirect to no address") from None
    upgraded = (here.scheme, there.scheme) == ("http", "https")
    if there.hostname != here.hostname or not (upgraded or (there.scheme == here.scheme and same_port)):
        raise Refused(
            f"a redirect to another server ({shown_host(there.geturl())}), which is not followed: the key would go there too. "
            "Write the address that is meant into the config"
        )


def _too_large(most: int) -> str:
    return f"more than {most // 1_000_000} MB"
