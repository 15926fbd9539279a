"""What a request must be before anything looks at it: from here, known, and not too long.

Without a token only names of this machine are served, and no page of another, so that no web page can reach the API by
a name of its own that points here, nor by sending what needs no answer. A body is read to its limit and no further.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 4 * 2**20
HERE = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    def __init__(self, app: App, token: str | None = None, most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._token = token
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        if refusal := self._refusal(headers):
            await _refuse(send, *refusal)
            return
        body = await _body(receive, self._most_bytes, int(headers.get(b"content-length", b"0") or 0))
        if body is None:
            most = f"{self._most_bytes >> 20} MiB" if self._most_bytes >> 20 else f"{self._most_bytes} bytes"
            await _refuse(send, 413, f"The body is larger than {most}.")
            return
        await self._app(scope, _replaying(body, receive), send)

    def _refusal(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        if self._token is not None:
            given = headers.get(b"authorization", b"")
            if not secrets.compare_digest(given, b"Bearer " + self._token.encode()):
                return 401, "This API wants its token: send the header `Authorization: Bearer TOKEN`."
            return None
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name(host) not in HERE:
            return 403, f"This API serves this machine only, not {host[:100]!r}. Start it with a token for other names."
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and _name(origin.partition("//")[2]) not in HERE:
            return 403, f"This API answers no page of {origin[:100]!r}."
        length = headers.get(b"content-length", b"0")
        return None if length.isdigit() else (400, "Content-Length is no number.")


def _name(address: str) -> str:
    """The host of HOST or HOST:PORT."""
    return address if address.endswith("]") else address.rpartition(":")[0] or address


async def _body(receive: Receive, most: int, announced: int) -> bytes | None:
    """The whole body; None where it is too long."""
    if announced > most:
        return None
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
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


async def _refuse(send: Send, code: int, message: str) -> None:
    content = json.dumps({"status": "error", "message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    if code == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": content})
