"""The connection to one server. An SDK provides the address and the authentication, and aiohttp sends the requests.

The layers of the SDKs cost several times as much time as the network. So only the address and the headers of an SDK's
client are used, and they are computed once. This module retries nothing, since a retry could create a batch twice. Every
error becomes a `ProviderComplaint`. Bodies have a maximum size, and no redirect is followed, since it would get the key.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from tidepool.engine.providers.endpoint import NO_KEY, Endpoint, display_host
from tidepool.engine.providers.errors import REJECTED, ProviderComplaint, complaint_about, diagnose, error_in
from tidepool.engine.providers.protocol import ErrorClass, NoReply, ProviderError
from tidepool.engine.providers.replies import decode_json

MOST_BYTES = 64_000_000
"""maximum size of a body, decompressed"""
SENT_WHOLE = 1_000_000
"""maximum bytes of a body that is sent in one piece"""
CONNECT_SECONDS = 10.0
KEPT_SECONDS = 15.0
"""how long an idle connection stays open"""
LOOK_SECONDS = 30.0
"""maximum time to read a list, a state or a model"""
STREAM_SECONDS = 3600.0
"""maximum time to read a result file, at any speed"""
SLOWEST_STREAM = 1_000
"""bytes per second below which the download of a file is given up"""
LONGEST_LINE = 64 << 20
"""maximum bytes of a line of results"""
FOR_ANY_SERVER = ("accept", "user-agent", "anthropic-version")
"""headers of an SDK that also go to servers of other companies; the other headers come from the environment"""
UNSENT = ("x-stainless-", "accept-encoding", "connection", "content-type")
"""headers that describe this machine, or that aiohttp sets itself"""


class RejectedResponse(Exception):
    """A response that is not accepted; its text says why."""


class Complained(Exception):
    """The provider answered with an error, or not at all."""

    def __init__(self, complaint: ProviderComplaint) -> None:
        super().__init__(complaint.words)
        self.complaint = complaint


class Response(NamedTuple):
    headers: Mapping[str, str]
    content: bytes


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificates that the SDKs trust. Loading them takes longer than opening a session, so it happens once."""
    import httpx2

    return httpx2.create_ssl_context()


def open_client(endpoint: Endpoint, where: str) -> tuple[Any, str, dict[str, str]]:
    """The SDK's client, the address of the server, and the headers of every request."""
    key = None if endpoint.by_environment else endpoint.key or NO_KEY
    if endpoint.like == "ollama":
        import ollama

        own = None if key is None else {"Authorization": f"Bearer {key}"}
        client: Any = ollama.AsyncClient(host=where, headers=own, verify=trusted_certificates())
        # Private: a public attribute with the address and the headers would replace this.
        address, headers = str(client._client.base_url), dict(client._client.headers)
    else:
        import httpx2

        http = httpx2.AsyncClient(verify=trusted_certificates())
        if endpoint.like == "openai":
            from openai import AsyncOpenAI

            client = AsyncOpenAI(base_url=where, api_key=key, http_client=http)
        else:
            from anthropic import AsyncAnthropic

            client = AsyncAnthropic(base_url=where, api_key=key, http_client=http)
        address = str(client.base_url)
        headers = {
            name: value
            for name, value in client.default_headers.items()
            if isinstance(value, str) and (endpoint.by_environment or name.lower() in FOR_ANY_SERVER)
        }
        headers = {**client.auth_headers, **headers}
    headers = {name: value for name, value in headers.items() if not name.lower().startswith(UNSENT)}
    return client, address.rstrip("/"), headers


def proxy_for(address: str) -> str | None:
    """The proxy that the environment sets for an address."""
    parts, proxies = urlsplit(address), getproxies()
    return None if proxy_bypass(parts.hostname or "") else proxies.get(parts.scheme) or proxies.get("all")


async def read_body(response: Any) -> bytes:
    """Reads a body up to a limit, which applies to the decompressed size."""
    too_large = RejectedResponse(f"more than {MOST_BYTES // 1_000_000} MB")
    length = response.content_length
    if length is not None and length > MOST_BYTES:
        raise too_large
    if length is not None and "Content-Encoding" not in response.headers:
        whole: bytes = await response.read()
        return whole
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MOST_BYTES:
            raise too_large
    return bytes(body)


async def refuse_errors(response: Any) -> None:
    """Raises Complained for an error response, and RejectedResponse for a redirect."""
    if response.status < 300:
        return
    if response.status < 400 and (location := response.headers.get("Location")):
        raise RejectedResponse(
            f"a redirect to {display_host(urljoin(str(response.url), location))}, which is not followed because the key would be sent "
            "there too. Write the final address into the config"
        )
    body = error_in(await read_body(response))
    raise Complained(complaint_about(response.status, body, response.headers))


def complaint_of(error: Exception, seconds: float) -> ProviderComplaint:
    """Classifies a network error: whether the request was sent, and whether it may have been answered."""
    import aiohttp

    if isinstance(error, RejectedResponse):
        return ProviderComplaint(200, code=REJECTED, words=str(error), no_reply=NoReply.BROKEN)
    if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
        refused = "Connect call failed" in str(error)
        words = "connection refused" if refused else str(error).replace(" ssl:default", "")
        return ProviderComplaint(None, words=words, no_reply=NoReply.UNREACHABLE)
    if isinstance(error, TimeoutError):
        return ProviderComplaint(None, words=f"no answer within {seconds:g} s", no_reply=NoReply.TIMEOUT)
    return ProviderComplaint(None, words=str(error) or type(error).__name__, no_reply=NoReply.BROKEN)


class Connection:
    """A connection that opens on first use, since loading an SDK takes a while."""

    def __init__(self, endpoint: Endpoint, where: str) -> None:
        self.endpoint = endpoint
        self.where = where
        self._session: Any = None
        self._client: Any = None
        self._address = ""
        self._proxy: str | None = None
        self._errors: tuple[type[Exception], ...] = (TimeoutError, OSError, RejectedResponse)

    def open(self) -> None:
        """Loads the SDK and opens the session, if that has not happened yet."""
        if self._session is not None:
            return
        import aiohttp

        self._client, self._address, headers = open_client(self.endpoint, self.where)
        self._proxy = proxy_for(self._address)
        self._errors += (aiohttp.ClientError,)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_SECONDS, ssl=trusted_certificates()),
            headers=headers,
            timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            await self._client.close()

    async def post(
        self, path: str, content: bytes, seconds: float, headers: Mapping[str, str] | None = None
    ) -> Response:
        """The response to a JSON body. Raises Complained."""
        from aiohttp import BytesIOPayload, BytesPayload

        if len(content) <= SENT_WHOLE:
            return await self._send(
                "POST", path, seconds, BytesPayload(content, content_type="application/json"), headers
            )
        body = BytesIOPayload(BytesIO(content), content_type="application/json")
        return await self._send("POST", path, seconds, body, headers)

    async def upload(self, path: str, name: str, content: bytes, seconds: float, **fields: str) -> Any:
        """Uploads a file with form fields and returns the JSON object of the response. Raises Complained or ProviderError."""
        from aiohttp import FormData

        form = FormData(fields)
        form.add_field("file", BytesIO(content), filename=name, content_type="application/octet-stream")
        return self.load_object((await self._send("POST", path, seconds, form)).content)

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON object at a path. Raises Complained, or ProviderError if it is not an object."""
        target = f"{path}?{urlencode(query)}" if query else path
        return self.load_object((await self._send("GET", target, LOOK_SECONDS)).content)

    async def delete(self, path: str) -> None:
        """Raises Complained."""
        await self._send("DELETE", path, LOOK_SECONDS)

    async def lines(
        self, path: str, content: bytes | None = None, silence: float | None = LOOK_SECONDS
    ) -> AsyncIterator[bytes]:
        """The lines of a resource, or of the response to a body, as they arrive. Only a newline ends a line, since JSON may
        contain the other separators of Unicode. Too long lines are truncated. Text before an interruption is returned too."""
        line, began, received = bytearray(), time.monotonic(), 0
        failure: Complained | None = None
        try:
            async with await self._request(
                "GET" if content is None else "POST", path, content, silence=silence
            ) as response:
                await refuse_errors(response)
                async for chunk in response.content.iter_any():
                    *ends, tail = chunk.split(b"\n")
                    for end in ends:
                        line += end[: LONGEST_LINE - len(line)]
                        if line.strip():
                            yield bytes(line)
                        line.clear()
                    line += tail[: LONGEST_LINE - len(line)]
                    received += len(chunk)
                    limit = min(LOOK_SECONDS + received / SLOWEST_STREAM, STREAM_SECONDS)
                    if silence is not None and time.monotonic() - began > limit:
                        raise Complained(
                            ProviderComplaint(200, words="the download was too slow", no_reply=NoReply.TIMEOUT)
                        )
        except self._errors as error:
            failure = Complained(complaint_of(error, silence or 0.0))
        except Complained as late:
            failure = late
        if line.strip():
            yield bytes(line)
        if failure is not None:
            raise failure

    async def _send(
        self, method: str, path: str, seconds: float, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """The whole response, within the time limit. Raises Complained."""
        self.open()  # loading an SDK may take longer than the timeout
        try:
            async with asyncio.timeout(seconds), await self._request(method, path, body, headers) as response:
                if response.status != 200:
                    await refuse_errors(response)
                return Response(response.headers, await read_body(response))
        except self._errors as error:
            raise Complained(complaint_of(error, seconds)) from None

    async def _request(
        self, method: str, path: str, body: Any, headers: Mapping[str, str] | None = None, **limits: Any
    ) -> Any:
        self.open()
        if limits:
            from aiohttp import ClientTimeout

            limits = {"timeout": ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=limits["silence"])}
        return self._session.request(
            method, self._address + path, data=body, headers=headers, proxy=self._proxy, allow_redirects=False, **limits
        )

    def diagnose(self, complaint: ProviderComplaint) -> ProviderError:
        return diagnose(complaint, self.endpoint, self.where)

    def unreadable(self, expected: str = "a reply") -> ProviderError:
        text = f"{self.endpoint.title} at {display_host(self.where)} sent a response that Tidepool cannot read as {expected}"
        return ProviderError(ErrorClass.TRANSIENT, text, no_reply=NoReply.BROKEN)

    def load_json(self, content: bytes) -> Any:
        """The JSON of a response. A page of a proxy instead of JSON is a temporary error."""
        try:
            return decode_json(content)
        except UnicodeDecodeError:
            return self.load_json(content.decode("utf-8", "replace").encode())
        except (ValueError, RecursionError):
            raise self.unreadable() from None

    def load_object(self, content: bytes) -> Any:
        """The JSON object of a response."""
        data = self.load_json(content)
        if not isinstance(data, dict):
            raise self.unreadable()
        return data
