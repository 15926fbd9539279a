"""The line to a provider through its SDK's client: opened when first used, on the SDK's fastest transport.

Requests go by the client's low-level call: authentication, address and error classes stay the SDK's, and its typed
layers, which cost more than the network, stay out. Its own retries are off: they would repeat batch creation.
Every error becomes a complaint that can be judged.

What the SDK works out for a post (address, authentication, headers of its own) is the same for the next one to the
same place. So a request that went well, or is on its way, is kept as a pattern, and later ones are sent after it, by the same session of
the same transport, with another body: without the layers between, half of what is left of the cost. Only where a key
that never changes is all the authentication.

Bodies are read up to a size, and no redirect is followed that would carry a key to another server. The clients of all SDKs
are httpx's, of one generation or another; that part knows only what both have.
"""

import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urljoin, urlsplit

from tidepool.engine.deadlines import Deadline
from tidepool.engine.providers.endpoint import NO_KEY, Endpoint, display_host
from tidepool.engine.providers.errors import REJECTED, ProviderComplaint, complaint_in, complaint_of, diagnose
from tidepool.engine.providers.protocol import ErrorClass, NoReply, ProviderError
from tidepool.engine.providers.replies import decode_json

MOST_BYTES = 64_000_000
"""of a body, decompressed"""
_UNPACKED = ("", "identity")
_PORTS = {"http": 80, "https": 443}


class RejectedResponse(Exception):
    """An answer that is not let in; its words say why."""


@cache
def trusted_certificates(generation: str) -> ssl.SSLContext:
    """Those that httpx or httpx2 trusts: reading them takes longer than opening a client, so it is done once."""
    context = import_module(generation).create_ssl_context()
    assert isinstance(context, ssl.SSLContext)
    return context


def has_known_length(headers: Mapping[str, str], max_bytes: int = MOST_BYTES) -> bool:
    """Whether a body comes unpacked and as long as it says: the transport reads no more than was announced."""
    length = headers.get("Content-Length", "")
    if headers.get("Content-Encoding", "").strip().lower() not in _UNPACKED or not length.isdecimal():
        return False
    if len(length) < 20 and int(length) > max_bytes:
        raise RejectedResponse(_too_large(max_bytes))
    return len(length) < 20


async def read_within(response: Any, max_bytes: int = MOST_BYTES) -> None:
    """Reads a body as the client would, up to a limit that holds for what a packed one unfolds to."""
    if has_known_length(response.headers, max_bytes):
        await response.aread()
        return
    packing = response.headers.get("Content-Encoding", "")
    if "," in packing:
        raise RejectedResponse(f"an answer that is packed more than once ({packing.strip().lower()[:60]})")
    received, size = [], 0
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            size += len(chunk)
            if size > max_bytes:
                raise RejectedResponse(_too_large(max_bytes))
            received.append(chunk)
    # Private: what `aread` would keep. A limit of httpx on the size of a body would replace this.
    response._content = b"".join(received)


async def refuse_strange_redirect(response: Any) -> None:
    """A hook of the client: a redirect is followed on the same server only, or to the same name by TLS."""
    if not response.has_redirect_location:
        return
    await read_within(response)
    try:
        origin = urlsplit(str(response.request.url))
        target = urlsplit(urljoin(origin.geturl(), response.headers["Location"]))
        same_port = (target.port or _PORTS.get(target.scheme)) == (origin.port or _PORTS.get(origin.scheme))
    except ValueError:
        raise RejectedResponse("a redirect to no address") from None
    upgraded = (origin.scheme, target.scheme) == ("http", "https")
    if target.hostname != origin.hostname or not (upgraded or (target.scheme == origin.scheme and same_port)):
        raise RejectedResponse(
            f"a redirect to another server ({display_host(target.geturl())}), which is not followed: the key would go there too. "
            "Write the address that is meant into the config"
        )


def _too_large(max_bytes: int) -> str:
    return f"more than {max_bytes // 1_000_000} MB"


T = TypeVar("T")

CLIENTS = {"openai": ("AsyncOpenAI", "OpenAIError"), "anthropic": ("AsyncAnthropic", "AnthropicError")}
MOST_CONNECTIONS = 100_000
"""the limiter rules, not the pool"""
CONNECT_SECONDS = 10.0
KEPT_SECONDS = 15.0
OF_A_BODY = ("content-length", "transfer-encoding")
TELEMETRY = "x-stainless-"
"""headers in which an SDK describes itself and this machine: no server needs them"""
STREAMED = {"X-Stainless-Raw-Response": "stream"}
"""what tells the SDKs to hand over an answer before all of it has come"""
LOOK_SECONDS = 30.0
"""what a look at a list, a state or a model may take"""
STREAM_SECONDS = 3600.0
"""what a file of results may take, however slowly it comes"""
SLOWEST_STREAM = 1_000
"""bytes a second below which a file is not waited for"""
LONGEST_LINE = 64 << 20
"""bytes of a line of results"""


class Complained(Exception):
    """The provider answered with an error, or not at all."""

    def __init__(self, complaint: ProviderComplaint) -> None:
        super().__init__(complaint.words)
        self.complaint = complaint


Place = tuple[str, tuple[tuple[str, str], ...]]
"""where a post goes: its path, and headers of its own"""
_leaving: ContextVar[Callable[[Any], None] | None] = ContextVar(
    "told of a request that leaves by the client", default=None
)


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """A post of the SDK's, without its body."""

    url: Any
    headers: Any
    extensions: dict[str, Any]
    direct: "DirectSession | None" = None
    """None: it is sent by the client"""

    def request(self, content: bytes) -> Any:
        import httpx2

        request = httpx2.Request("POST", self.url, headers=self.headers, content=content, extensions=self.extensions)
        request.headers.encoding = "ascii"  # else it is found out again and again
        return request


def template_of(request: Any, key: object) -> RequestTemplate | None:
    """None where requests differ in more than their body: by credentials that change, or by an id of each."""
    headers = request.headers.copy()
    for name in [name for name in headers if name in OF_A_BODY or name.startswith(TELEMETRY)]:
        del headers[name]
    credentials = (headers.get("Authorization", ""), headers.get("X-Api-Key", ""))
    if not isinstance(key, str) or not key or credentials not in ((f"Bearer {key}", ""), ("", key)):
        return None
    if any("idempotency" in name.lower() for name in headers):
        return None
    return RequestTemplate(request.url, headers, dict(request.extensions))


class PlainResponse(NamedTuple):
    """An answer that came as it is: of a response, what its readers look at."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class DirectSession:
    """The session that the SDK's transport has opened, used as the transport uses it."""

    transport: Any
    url: Any
    options: dict[str, Any]
    payload: type[Any]
    """of a body, which aiohttp need not guess"""

    async def post(self, template: RequestTemplate, content: bytes) -> Any:
        """Only an answer that is packed, or says that something is wrong, is worth a response of the client's kind."""
        library = sys.modules[type(self.transport).__module__]
        try:
            body = self.payload(content, content_type="application/json")
            async with self.transport.client.request("POST", self.url, data=body, **self.options) as resp:
                if resp.status == 200 and has_known_length(resp.headers):
                    return PlainResponse(200, resp.headers, await resp.read())
                stream, request = library.AiohttpResponseStream(resp), template.request(content)
                response = library.httpx.Response(resp.status, headers=resp.raw_headers, stream=stream, request=request)
                await read_within(response)
                return response
        except Exception:
            with library.map_aiohttp_exceptions():  # into the SDK's own
                raise


def direct_session(client: Any, template: RequestTemplate) -> DirectSession | None:
    """None where the client's transport has no such session, or a proxy stands in between."""
    import aiohttp
    from multidict import CIMultiDict
    from yarl import URL

    # Private: only the client knows which transport, or which proxy, serves an address. Without it the client sends every request,
    # at twice the cost. An SDK that takes a ready transport beside the proxies of the environment would replace this.
    transport: Any = client._transport_for_url(template.url) if hasattr(client, "_transport_for_url") else None
    if not isinstance(getattr(transport, "client", None), aiohttp.ClientSession) or transport.proxy is not None:
        return None
    waits = template.extensions.get("timeout", {})
    options = {
        "headers": CIMultiDict(template.headers),
        "allow_redirects": False,
        "auto_decompress": False,
        "compress": False,
        "timeout": aiohttp.ClientTimeout(
            sock_connect=waits.get("connect"), sock_read=waits.get("read"), connect=waits.get("pool")
        ),
    }
    return DirectSession(transport, URL(str(template.url)), options, aiohttp.BytesPayload)


def forget_environment(client: Any) -> None:
    """Organisation, project and headers that the SDK found in the environment are for the house that made it alone."""
    # Private: Anthropic's SDK reads ANTHROPIC_CUSTOM_HEADERS whatever it is given. An option to leave the environment alone would
    # replace this.
    client._custom_headers = {}
    for name in ("organization", "project", "admin_api_key", "webhook_secret", "webhook_key"):
        if isinstance(getattr(client, name, None), str):
            setattr(client, name, None)


def _bounded(client: type[Any]) -> type[Any]:
    """The SDK's client, which reads no more than is let in; what is streamed is counted by who reads it."""

    class BoundedClient(client):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **more: Any) -> Any:
            if (on_leaving := _leaving.get()) is not None:
                on_leaving(request)
            response = await super().send(request, stream=True, **more)
            if not stream or response.is_error:
                try:
                    await read_within(response)
                finally:
                    await response.aclose()
            return response

    return BoundedClient


class SdkConnection:
    def __init__(self, endpoint: Endpoint, where: str) -> None:
        self.endpoint = endpoint
        self.where = where
        self._client: Any = None
        self._http: Any = None
        self._errors: tuple[type[Exception], ...] = (TimeoutError, RejectedResponse)
        self._response: Any = None
        self._templates: dict[Place, RequestTemplate] = {}
        self._untried: dict[Place, RequestTemplate] = {}
        """of first posts that are on their way"""

    @property
    def client(self) -> Any:
        if self._client is None:
            import aiohttp
            import httpx2

            sdk = import_module(self.endpoint.like)
            client, error = CLIENTS[self.endpoint.like]
            limits = httpx2.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=KEPT_SECONDS)
            hooks = {"response": [refuse_strange_redirect]}
            verify = trusted_certificates("httpx2")
            self._http = _bounded(sdk.DefaultAioHttpClient)(limits=limits, event_hooks=hooks, verify=verify)
            self._client = getattr(sdk, client)(
                base_url=self.where,
                max_retries=0,
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                http_client=self._http,
                **({} if self.endpoint.by_environment else {"api_key": self.endpoint.key or NO_KEY}),
            )
            if not self.endpoint.by_environment:
                forget_environment(self._client)
            self._errors += (getattr(sdk, error), httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError)
            self._response = httpx2.Response
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def post(self, path: str, content: bytes, seconds: float, headers: Mapping[str, str] | None = None) -> Any:
        """The response as it came. Raises Complained."""
        target: Place = (path, tuple((headers or {}).items()))
        if template := self._templates.get(target) or self._untried.get(target):
            return await self.send(self._again(target, template, content), seconds)
        return await self.send(self._by_client(self.client, target, content), seconds)

    async def _by_client(self, client: Any, target: Place, content: bytes) -> Any:
        """While the first is on its way, others leave after it already."""
        path, headers = target
        options = {"headers": {"Content-Type": "application/json", **dict(headers)}}
        reset_token = _leaving.set(lambda request: self._keep(self._untried, target, request))
        try:
            response = await client.post(path, cast_to=self._response, content=content, options=options)
        finally:
            _leaving.reset(reset_token)
            self._untried.pop(target, None)
        self._keep(self._templates, target, response.request)
        return response

    def _keep(self, templates: dict[Place, RequestTemplate], target: Place, request: Any) -> None:
        if template := template_of(request, self.client.api_key):
            templates[target] = replace(template, direct=direct_session(self._http, template))

    async def _again(self, target: Place, template: RequestTemplate, content: bytes) -> Any:
        # Without the client's cookies, redirects and log around it, where its transport can be had.
        if (direct := template.direct or direct_session(self._http, template)) is None:
            response = await self._http.send(template.request(content))
        elif isinstance(response := await direct.post(template, content), PlainResponse):
            return response
        if response.has_redirect_location:
            await refuse_strange_redirect(response)
            if template is not self._templates.get(target):
                return await self._by_client(self.client, target, content)
            self._templates.clear()  # the next one goes by the client again, which follows
            text = "it has moved on its own server"
            raise Complained(ProviderComplaint(None, words=text, no_reply=NoReply.BROKEN))
        if response.is_error:
            raise Complained(complaint_in(response))
        return response

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON object at a path. Raises Complained, or ProviderError where it is none."""
        client = self.client
        request = client.get(path, cast_to=self._response, options={"params": query})
        return self.load_object((await self.send(request, LOOK_SECONDS)).content)

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """The lines of what stands at a path, as they come. Only a newline ends one: JSON may hold every other separator
        of Unicode. Of a line beyond all measure the beginning is given; what came before a cut is given too."""
        line, began, received = bytearray(), time.monotonic(), 0
        failure: Complained | None = None
        try:
            async with self._streamed(path) as response:
                async for chunk in response.aiter_bytes():
                    *ends, tail = chunk.split(b"\n")
                    for end in ends:
                        line += end[: LONGEST_LINE - len(line)]
                        if line.strip():
                            yield bytes(line)
                        line.clear()
                    line += tail[: LONGEST_LINE - len(line)]
                    received += len(chunk)
                    if time.monotonic() - began > min(LOOK_SECONDS + received / SLOWEST_STREAM, STREAM_SECONDS):
                        raise Complained(ProviderComplaint(200, words="it came too slowly", no_reply=NoReply.TIMEOUT))
        except self._errors as error:
            failure = self._complained(error)
        except Complained as late:
            failure = late
        if line.strip():
            yield bytes(line)
        if failure is not None:
            raise failure

    @asynccontextmanager
    async def _streamed(self, path: str) -> AsyncIterator[Any]:
        # So long may pass without a sign of the provider. A copy of the client would read the environment again.
        options = {"headers": {"Accept": "application/binary", **STREAMED}, "timeout": LOOK_SECONDS}
        response = await self.client.get(path, cast_to=self._response, options=options)
        try:
            yield response
        finally:
            await response.aclose()

    async def send(self, request: Awaitable[T], seconds: float) -> T:
        """Any request of the client, within its time. Raises Complained."""
        try:
            async with Deadline(seconds):
                return await request
        except TimeoutError:
            text = f"nothing came within {seconds:g} s"
            raise Complained(ProviderComplaint(None, words=text, no_reply=NoReply.TIMEOUT)) from None
        except self._errors as error:
            raise self._complained(error) from None

    def _complained(self, error: Exception) -> Complained:
        for refused in (error, error.__cause__):  # an SDK may wrap what its client raised
            if isinstance(refused, RejectedResponse):
                text = str(refused)
                return Complained(ProviderComplaint(200, code=REJECTED, words=text, no_reply=NoReply.BROKEN))
        complaint = complaint_of(error)
        if complaint.status is None and complaint.no_reply is None:  # no error of the network: what came cannot be read
            complaint = replace(complaint, no_reply=NoReply.BROKEN)
        return Complained(complaint)

    def diagnose(self, complaint: ProviderComplaint) -> ProviderError:
        return diagnose(complaint, self.endpoint, self.where)

    def unreadable(self, expected: str = "a reply") -> ProviderError:
        text = f"{self.endpoint.title} at {display_host(self.where)} answered with something that is not {expected}"
        return ProviderError(ErrorClass.TRANSIENT, text, no_reply=NoReply.BROKEN)

    def load_json(self, content: bytes) -> Any:
        """The JSON of an answer; a page of a proxy in between is a fault that heals."""
        try:
            return decode_json(content)
        except UnicodeDecodeError:
            return self.load_json(content.decode("utf-8", "replace").encode())
        except (ValueError, RecursionError):
            raise self.unreadable() from None

    def load_object(self, content: bytes) -> Any:
        """The JSON object of an answer."""
        data = self.load_json(content)
        if not isinstance(data, dict):
            raise self.unreadable()
        return data
