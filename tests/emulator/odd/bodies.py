"""An honest answer on its way to the client: other bytes, other encodings, another pace."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from functools import cache

from aiohttp import web

MEGABYTE = 1 << 20
BOMB_MEGABYTES, HUGE_MEGABYTES = 160, 72
BRACKETS = 200_000
DRIP_SECONDS = 1.0

Spoil = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]


def _json(content: bytes, **headers: str) -> web.Response:
    return web.Response(body=content, headers=headers, content_type="application/json")


def _bytes(change: Callable[[bytes], bytes]) -> Spoil:
    async def spoil(request: web.Request, content: bytes) -> web.StreamResponse:
        return _json(change(content))

    return spoil


def _status(status: int) -> Spoil:
    async def spoil(request: web.Request, content: bytes) -> web.StreamResponse:
        return web.Response(status=status)

    return spoil


@cache
def bomb() -> bytes:
    """So many megabytes of blanks, which JSON skips, in a few hundred kilobytes."""
    return gzip.compress(b" " * (BOMB_MEGABYTES * MEGABYTE), 1)


async def _bomb(request: web.Request, content: bytes) -> web.StreamResponse:
    return _json(await asyncio.to_thread(bomb) + gzip.compress(content), **{"Content-Encoding": "gzip"})


async def _broken_gzip(request: web.Request, content: bytes) -> web.StreamResponse:
    return _json(content, **{"Content-Encoding": "gzip"})


async def _good_gzip(request: web.Request, content: bytes) -> web.StreamResponse:
    return _json(gzip.compress(content), **{"Content-Encoding": "gzip"})


async def _huge(request: web.Request, content: bytes) -> web.StreamResponse:
    """Valid JSON, after more blanks than anybody should read."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for _ in range(HUGE_MEGABYTES):
        await response.write(b" " * MEGABYTE)
    await response.write(content)
    await response.write_eof()
    return response


async def _drip(request: web.Request, content: bytes) -> web.StreamResponse:
    """One byte a second, for ever: no single read takes long."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while request.transport is not None and not request.transport.is_closing():
        await response.write(b" ")
        await asyncio.sleep(DRIP_SECONDS)
    return response


async def _events(request: web.Request, content: bytes) -> web.StreamResponse:
    lines = b"data: " + content + b"\n\ndata: [DONE]\n\n"
    return web.Response(body=lines, content_type="text/event-stream")


def _with_key(request: web.Request, content: bytes) -> bytes:
    """A gateway in a debug mode: the first text of the answer holds the request's own key."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")
    quoted = json.dumps(f"Your key is {given}, is it not?").encode()
    for name in (b'"content": "', b'"text": "'):
        if name in content:
            before, _, after = content.partition(name)
            return before + name[:-1] + quoted + after.partition(b'"')[2]
    return content


async def _echo(request: web.Request, content: bytes) -> web.StreamResponse:
    return _json(_with_key(request, content))


BODIES: dict[str, Spoil] = {
    "bomb": _bomb,
    "huge": _huge,
    "drip": _drip,
    "gzip": _good_gzip,
    "gzip-broken": _broken_gzip,
    "brackets": _bytes(lambda content: b"[" * BRACKETS),
    "brackets-inside": _bytes(
        lambda content: b'{"odd": ' + b"[" * BRACKETS + b"]" * BRACKETS + b", " + content.lstrip()[1:]
    ),
    "half": _bytes(lambda content: content[: len(content) // 2]),
    "nothing": _bytes(lambda content: b""),
    "json-null": _bytes(lambda content: b"null"),
    "json-list": _bytes(lambda content: b"[" + content + b"]"),
    "json-text": _bytes(lambda content: b'"Good evening"'),
    "json-number": _bytes(lambda content: b"1e400"),
    "twice": _bytes(lambda content: content + b"\n" + content),
    "bom": _bytes(lambda content: b"\xef\xbb\xbf" + content),
    "utf-16": _bytes(lambda content: content.decode().encode("utf-16")),
    "not-utf-8": _bytes(lambda content: content.replace(b" ", b" \xff\xfe", 12)),
    "long-number": _bytes(lambda content: b'{"created_by": ' + b"9" * 100_000 + b", " + content.lstrip()[1:]),
    "events": _events,
    "no-content": _status(204),
    "key": _echo,
}
