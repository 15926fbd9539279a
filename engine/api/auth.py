"""Decides who may call `tidepool api` and `tidepool web`.

Every user of a machine can reach its loopback address, so a token is required there too. It is created at each start and printed as a link.
Opening the link sets a cookie, so that the token is in no later address. Programs send it as a header. The cookie differs from the token: it
is valid for this start only, and does not reveal a token that the user chose.

On loopback, only names of this machine are served, and no page of another origin, so that no web page gets in by DNS rebinding. Starlette's
TrustedHostMiddleware cannot parse the brackets of `[::1]`, and the web app has no Starlette, so both use this class.
"""

import os
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import quote, unquote_to_bytes

from tidepool.engine.errors import UsageError

VARIABLE = "TIDEPOOL_API_TOKEN"
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::[0-9]{1,5})?", re.ASCII)
"""a Host header in lower case: no user information, no path"""
SHORTEST_TOKEN = 8
NO_FRAMES = {"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY"}
"""headers against clickjacking: no page of another site or port may show ours in a frame"""


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Token:
    """The token that a server requires."""

    value: str
    new: bool
    """created at this start and valid for it only; otherwise the user chose it and knows it"""

    @classmethod
    def of_start(cls) -> "Token":
        """The token from the environment, or a new one. It is never in a command line, which other users can list."""
        token_value = os.environ.get(VARIABLE)
        if not token_value:
            return cls(secrets.token_urlsafe(24), new=True)
        if len(token_value) < SHORTEST_TOKEN:
            raise UsageError(
                f"The token of {VARIABLE} has fewer than {SHORTEST_TOKEN} characters. Choose a longer one."
            )
        return cls(token_value, new=False)


def greeting(address: str, token: Token | None) -> str:
    """The message at the start: the link to open, which ends at a space. A token that the user chose is not shown."""
    if token is None:
        return f"serving {address} without a token"
    return (
        f"serving {address}?token={quote(token.value, safe='')}" if token.new else f"serving {address}, {VARIABLE} set"
    )


@dataclass(frozen=True, slots=True)
class AuthRequest:
    """The parts of a request that identify its sender."""

    method: str
    path: bytes
    """as it was sent, with percent signs"""
    query: bytes
    headers: Mapping[bytes, bytes]
    """by names in lower case"""
    port: int

    def text(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1").lower()


@dataclass(frozen=True, slots=True)
class Refused:
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The user opened the link and is redirected to the address without the token, with a cookie."""

    location: str
    cookie: str


class TokenAuth:
    """Decides about a request by its host, origin, token and cookie."""

    def __init__(self, token: str | None, *, local_only: bool, name: str) -> None:
        self._token = None if token is None else token.encode("utf-8", "surrogateescape")
        self._cookie = secrets.token_urlsafe(24).encode()
        self._local_only = local_only
        self._name = name

    def refusal(self, request: AuthRequest) -> Refused | Authenticated | None:
        """None: the request may pass."""
        host = request.text(b"host")
        if self._local_only and not is_loopback(_name(host)):
            return Refused(
                403, f"{self._name} serves this machine only, not {host[:100]!r}. Use localhost in the address."
            )
        if self._token is not None and (authenticated := self._by_link(request)):
            return authenticated
        if self._token is not None and _bearer(request.headers.get(b"authorization", b""), self._token):
            return self._other_origin(request) if self._local_only else None
        if self._token is None or self._by_cookie(request):
            return self._other_origin(request)
        return Refused(
            401,
            f"{self._name} requires its token. Open the link that it printed at its start, or send the header "
            f"`Authorization: Bearer TOKEN` with the token of that link, or of {VARIABLE}.",
        )

    def _other_origin(self, request: AuthRequest) -> Refused | None:
        """Rejects a page of another site or port in the same browser, which would send the browser's cookies."""
        origin = request.text(b"origin")
        if origin and origin.partition("//")[2] != request.text(b"host"):
            return Refused(403, f"{self._name} rejects requests from pages of {origin[:100]!r}.")
        return None

    def _by_link(self, request: AuthRequest) -> Authenticated | None:
        parameters = request.query.split(b"&")
        token_parts = [part for part in parameters if part.startswith(b"token=")]
        if request.method != "GET" or not token_parts or self._token is None:
            return None
        if not secrets.compare_digest(unquote_to_bytes(token_parts[0][6:]), self._token):
            return None
        rest = b"&".join(part for part in parameters if part not in token_parts).decode("latin-1")
        location = "/" + request.path.decode("latin-1").lstrip("/\\")
        name, value = _cookie_name(request.port).decode(), self._cookie.decode()
        return Authenticated(
            f"{location}?{rest}" if rest else location, f"{name}={value}; HttpOnly; SameSite=Strict; Path=/"
        )

    def _by_cookie(self, request: AuthRequest) -> bool:
        cookie_name = _cookie_name(request.port)
        pairs = (pair.strip().partition(b"=") for pair in request.headers.get(b"cookie", b"").split(b";"))
        return any(name == cookie_name and secrets.compare_digest(value, self._cookie) for name, _, value in pairs)


def _bearer(authorization: bytes, token: bytes) -> bool:
    scheme, _, credentials = authorization.partition(b" ")
    return secrets.compare_digest(credentials.strip(), token) and scheme.lower() == b"bearer"


def _cookie_name(port: int) -> bytes:
    """The cookie name has the port, since cookies ignore ports and two servers of one machine must not share them."""
    return b"tidepool-%d" % port


def _name(address: str) -> str:
    """The host of HOST or HOST:PORT, without the brackets of an IPv6 address; empty if it is malformed."""
    match = _HOST.fullmatch(address)
    return (match[1] or match[2]) if match else ""


def listening(host: str, port: int, server_name: str) -> socket.socket:
    """A bound socket, so that its port is known before anything is served; 0 means any free port."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"{server_name} cannot serve {host}:{port}: {str(error).rstrip('.')}. Choose another --port or --host."
        ) from error
