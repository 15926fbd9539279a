"""What a request must be before anything looks at it: from somebody who may call, not too long, and not too slow.

A body is read to its limit and no further, and for so many seconds in all: a byte now and then holds nothing up.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from tidepool.engine.api.door import Door, Entered, Knock, Refused

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

MOST_BYTES = 4 * 2**20
BODY_SECONDS = 30.0


class Guard:
    def __init__(self, app: App, door: Door, most_bytes: int = MOST_BYTES, body_seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._door = door
        self._most_bytes = most_bytes
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        knock = _knock(scope)
        verdict = self._door.refusal(knock)
        if isinstance(verdict, Entered):
            await _send_in(send, verdict)
        elif verdict := verdict or self._too_long(knock):
            await _refuse(send, verdict)
        else:
            await self._with_body(scope, receive, send)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await _body(receive, self._most_bytes)
        except ConnectionResetError:
            return
        except TimeoutError:
            await _refuse(send, Refused(408, f"The body took longer than {self._body_seconds:g} seconds."))
            return
        if body is None:
            await _refuse(send, self._length_refusal())
            return
        await self._app(scope, _replaying(body, receive), send)

    def _too_long(self, knock: Knock) -> Refused | None:
        length = knock.headers.get(b"content-length", b"0") or b"0"
        if not length.isdigit():
            return Refused(400, "Content-Length is no number.")
        return self._length_refusal() if len(length) > 18 or int(length) > self._most_bytes else None

    def _length_refusal(self) -> Refused:
        most = f"{self._most_bytes >> 20} MiB" if self._most_bytes >> 20 else f"{self._most_bytes} bytes"
        return Refused(413, f"The body is larger than {most}.")


def _knock(scope: Scope) -> Knock:
    headers = {name.lower(): value for name, value in scope["headers"]}
    path = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    return Knock(
        scope["method"], path, scope.get("query_string", b""), headers, (scope.get("server") or ("", 0))[1] or 0
    )


async def _body(receive: Receive, most: int) -> bytes | None:
    """The whole body; None where it is too long. Half a body is nothing that anybody asked for."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _replaying(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(send: Send, refused: Refused) -> None:
    """Whatever of the request is still under way is not waited for."""
    content = json.dumps({"status": "error", "message": refused.message}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await _answer(
        send, refused.code, [*headers, *([(b"www-authenticate", b"Bearer")] * (refused.code == 401))], content
    )


async def _send_in(send: Send, entered: Entered) -> None:
    headers = [
        (b"location", entered.location.encode("latin-1")),
        (b"set-cookie", entered.cookie.encode()),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
    ]
    await _answer(send, 303, headers, b"")


async def _answer(send: Send, code: int, headers: Headers, content: bytes) -> None:
    whole = [*headers, (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": code, "headers": whole})
    await send({"type": "http.response.body", "body": content})
