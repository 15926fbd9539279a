"""What is let in from a server: bodies of a bounded size, and no redirect that would carry a key to another server.

The clients of all SDKs are httpx's, of one generation or another; this knows only what both have.
"""

import ssl
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


async def read_within(response: Any, most: int = MOST_BYTES) -> None:
    """Reads a body as the client would, up to a limit that holds for what a packed one unfolds to."""
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    length = response.headers.get("Content-Length", "")
    if packing in _UNPACKED and length.isdecimal() and len(length) < 20:
        if int(length) > most:
            raise Refused(_too_large(most))
        await response.aread()  # the transport reads no more than was announced
        return
    if "," in packing:
        raise Refused(f"an answer that is packed more than once ({packing[:60]})")
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
