"""The line to a provider through its SDK's client: opened when first used, on the SDK's fastest transport.

Requests go by the client's low-level call: authentication, address and error classes stay the SDK's, and its typed
layers, which cost more than the network, stay out. Its own retries are off: they would repeat batch creation.
Every error becomes a complaint that can be judged.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any, TypeVar

from engine.providers.diagnosis import NAMES, Complaint, complaint_of, diagnosed
from engine.providers.keys import shown_host
from engine.providers.provider import Fault, ProviderError

T = TypeVar("T")

CLIENTS = {"openai": ("AsyncOpenAI", "OpenAIError"), "anthropic": ("AsyncAnthropic", "AnthropicError")}
MOST_CONNECTIONS = 100_000
"""the limiter rules, not the pool"""
CONNECT_SECONDS = 10.0
KEPT_SECONDS = 15.0
LOOK_SECONDS = 30.0
"""what a look at a list, a state or a model may take"""


class Complained(Exception):
    """The provider answered with an error, or not at all."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint.words)
        self.complaint = complaint


class Line:
    def __init__(self, provider: str, where: str) -> None:
        self.provider = provider
        self.where = where
        self._client: Any = None
        self._errors: tuple[type[Exception], ...] = ()
        self._response: Any = None

    @property
    def client(self) -> Any:
        if self._client is None:
            import httpx2

            sdk = import_module(self.provider)
            client, error = CLIENTS[self.provider]
            limits = httpx2.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=KEPT_SECONDS)
            self._client = getattr(sdk, client)(
                base_url=self.where,
                max_retries=0,
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                http_client=sdk.DefaultAioHttpClient(limits=limits),
            )
            self._errors = (getattr(sdk, error), httpx2.HTTPError)
            self._response = httpx2.Response
        return self._client

    def within(self, seconds: float) -> Any:
        """The same client for requests that are streamed: so long may pass without a sign of the provider."""
        return self.client.with_options(timeout=seconds)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def post(self, path: str, content: bytes, seconds: float, headers: Mapping[str, str] | None = None) -> Any:
        """The response as it came. Raises Complained."""
        headers = {"Content-Type": "application/json", **(headers or {})}
        client = self.client
        request = client.post(path, cast_to=self._response, content=content, options={"headers": headers})
        return await self.send(request, seconds)

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON object at a path. Raises Complained, or ProviderError where it is none."""
        client = self.client
        request = client.get(path, cast_to=self._response, options={"params": query})
        return self.parsed((await self.send(request, LOOK_SECONDS)).content)

    async def lines(self, opening: AbstractAsyncContextManager[Any]) -> AsyncIterator[bytes]:
        """The lines of a streamed answer. Only a newline ends one: JSON may hold every other separator of Unicode."""
        rest = b""
        try:
            async with opening as response:
                async for chunk in response.iter_bytes():
                    *whole, rest = (rest + chunk).split(b"\n")
                    for line in whole:
                        if line.strip():
                            yield line
        except self._errors as error:
            raise Complained(complaint_of(error)) from None
        if rest.strip():
            yield rest

    async def send(self, request: Awaitable[T], seconds: float) -> T:
        """Any request of the client, within its time. Raises Complained."""
        try:
            async with asyncio.timeout(seconds):
                return await request
        except TimeoutError:
            raise Complained(Complaint(None, words=f"nothing came within {seconds:g} s")) from None
        except self._errors as error:
            raise Complained(complaint_of(error)) from None

    def diagnosed(self, complaint: Complaint) -> ProviderError:
        return diagnosed(complaint, self.provider, self.where)

    def garbage(self, what: str = "a reply") -> ProviderError:
        words = f"{NAMES[self.provider]} at {shown_host(self.where)} answered with something that is not {what}"
        return ProviderError(Fault.HEALS, words)

    def parsed(self, content: bytes) -> Any:
        """The JSON object of an answer; a page of a proxy in between is a fault that heals."""
        try:
            data = json.loads(content)
        except ValueError:
            raise self.garbage() from None
        if not isinstance(data, dict):
            raise self.garbage()
        return data
