"""Limits of the HTTP API on requests and connections: authentication first, then the size and the duration of a body.

Neither Starlette nor uvicorn limits the size of a body, or its duration. FastAPI reads a body before it resolves dependencies, so the token
check is a middleware as well.
"""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tidepool.engine.api.auth import Authenticated, AuthRequest, Refused, TokenAuth

MOST_BYTES = 4 * 2**20
BODY_SECONDS = 30.0
MOST_CONNECTIONS = 200
KEEP_ALIVE_SECONDS = 15
"""how long a connection stays open between two requests"""
MOST_HEADER_BYTES = 32 * 2**10


class RequestLimits:
    """A middleware that passes on authorized requests with their whole body."""

    def __init__(
        self, app: ASGIApp, auth: TokenAuth, most_bytes: int = MOST_BYTES, body_seconds: float = BODY_SECONDS
    ) -> None:
        self._app = app
        self._auth = auth
        self._most_bytes = most_bytes
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _auth_request(scope)
        body = self._auth.refusal(request) or await self._body(receive)
        if isinstance(body, bytes):
            await self._app(scope, _replaying(body, receive), send)
        elif body is not None:
            await _response(body)(scope, receive, send)

    async def _body(self, receive: Receive) -> bytes | Refused | None:
        """The whole body; None if the caller disconnected, since half a body is not a request."""
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > self._most_bytes:
                        return Refused(413, f"The body is larger than {self._most_bytes:,} bytes.")
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            return Refused(408, f"The body took longer than {self._body_seconds:g} seconds.")


def _auth_request(scope: Scope) -> AuthRequest:
    headers = {name.lower(): value for name, value in scope["headers"]}
    path = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    port = (scope.get("server") or ("", 0))[1] or 0
    return AuthRequest(scope["method"], path, scope.get("query_string", b""), headers, port)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Returns the body that was read, and then further messages."""
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> MutableMapping[str, Any]:
        return pending.pop() if pending else await receive()

    return replay


def _response(refusal: Refused | Authenticated) -> Response:
    """A refused request is answered without waiting for its rest."""
    if isinstance(refusal, Authenticated):
        headers = {"set-cookie": refusal.cookie, "cache-control": "no-store", "referrer-policy": "no-referrer"}
        response = Response(status_code=303, headers=headers)
        response.headers["location"] = refusal.location
        return response
    headers = {"connection": "close"} | ({"www-authenticate": "Bearer"} if refusal.code == 401 else {})
    return JSONResponse({"status": "error", "message": refusal.message}, status_code=refusal.code, headers=headers)
