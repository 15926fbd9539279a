"""A provider of one endpoint. Sends requests to its server, or to the best of several, and checks their models before
anything is spent. Prices come from genai-prices unless the endpoint declares them. The adapter of its family writes the
requests and reads the replies.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.endpoints import OWN_ENDPOINTS
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.adapter import Adapter
from tidepool.engine.providers.batch_api import SdkBatches
from tidepool.engine.providers.connection import Complained, Connection
from tidepool.engine.providers.endpoint import Endpoint, display_host, endpoint_of, scrub_keys
from tidepool.engine.providers.errors import (
    ProviderComplaint,
    complaint_about,
    is_unknown_model,
    missing_key,
    read_error,
)
from tidepool.engine.providers.pool import LONGEST_REST, Host, Pool
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, Provider, ProviderError
from tidepool.engine.providers.replies import encode_json

_PROBE = 1_000
"""tokens of the request that determines the rates, below any tier for long contexts"""


def price_tag(endpoint: Endpoint, model_name: str) -> PriceTag | None:
    """The declared price, else the price in the table; None if it is unknown."""
    if declared := endpoint.price(model_name):
        return declared
    for place in _places(endpoint):
        try:
            return _listed_price(model_name, place)
        except LookupError:
            continue
    return None


def _places(endpoint: Endpoint) -> Iterator[dict[str, str]]:
    """Keys to look up a price: the server's address, which may be another company's, then the endpoint's provider."""
    known = OWN_ENDPOINTS.get(endpoint.name)
    if known is None or endpoint.where()[0] != known.address:
        yield {"provider_api_url": endpoint.where()[0]}
    if known is not None:
        yield {"provider_id": endpoint.name}


def _listed_price(model_name: str, place: Mapping[str, Any]) -> PriceTag:
    """Raises LookupError if the table does not know the model."""
    from genai_prices import Usage, calc_price

    def cost(context: Mapping[str, str] | None, **tokens: int) -> float:
        price = calc_price(Usage(**tokens), model_name, **place, price_context=context)
        return float(price.total_price)

    def exactly(input_tokens: int, output_tokens: int, cache_read: int, cache_write: int, batch: bool) -> float:
        return cost(
            {"processing": "batch"} if batch else None,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
        )

    def rates(context: Mapping[str, str] | None) -> PriceTag:
        return PriceTag(
            input=cost(context, input_tokens=_PROBE) / _PROBE,
            output=cost(context, output_tokens=_PROBE) / _PROBE,
            cache_read=cost(context, input_tokens=_PROBE, cache_read_tokens=_PROBE) / _PROBE,
            cache_write=cost(context, input_tokens=_PROBE, cache_write_tokens=_PROBE) / _PROBE,
        )

    return replace(rates(None), batch=rates({"processing": "batch"}), exactly=exactly)


T = TypeVar("T")

LOOKS = 4
"""attempts to read a list of models or the state of a provider batch, if errors are temporary"""
LOOK_SECONDS = 15.0
REFUSING = (401, 402, 403)
NOT_NOW = (*REFUSING, 408, 425, 429)
BUSY = (502, 503, 504, 529)
UNREADABLE = (KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""exceptions from reading a response that is not a reply"""
ANSWERING = ("choices", "content", "data", "message", "embeddings")
"""keys that contain the answer of a reply"""


@dataclass(frozen=True, slots=True)
class ListedHost:
    """A server of an endpoint: its models, or why it does not answer."""

    address: str
    models: tuple[str, ...]
    silence: str = ""


class EndpointProvider(Provider):
    def __init__(
        self, adapter: type[Adapter], batches: type[SdkBatches] | None, settings: ProviderSettings, name: str
    ) -> None:
        super().__init__(settings)
        self.name = name
        self.endpoint = endpoint_of(name, settings)
        self.adapter = adapter(self.notices, self.endpoint)
        self.urls = list(self.endpoint.where())
        self.pool = Pool([Host(url, Connection(self.endpoint, url), settings.max_concurrent) for url in self.urls])
        self.connection: Connection = self.pool.hosts[0].client
        if self.endpoint.has_batches and len(self.urls) == 1 and batches is not None:
            self.batches = batches(self.connection, self.adapter, self.price)
        self._tags: dict[str, PriceTag | None] = {}

    def concurrency(self, max_concurrent: int) -> int:
        """Applies the limit to each server and returns the total."""
        for host in self.pool.hosts:
            host.limit = max_concurrent
        return max_concurrent * len(self.urls)

    def price(self, model_name: str) -> PriceTag | None:
        if model_name not in self._tags:
            self._tags[model_name] = price_tag(self.endpoint, model_name)
        return self._tags[model_name]

    async def close(self) -> None:
        self.pool.close()
        for host in self.pool.hosts:
            await host.client.close()

    # -- calls -------------------------------------------------------------------------------------------

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        """Sends a request to the best server, or to another one if a server did not start on it."""
        model = self.adapter.full_name(call.model_name)
        while True:
            try:
                host = await self.pool.take(model)
            except LookupError:
                raise self._missing(call.model_name) from None
            beside, started = host.in_flight, time.monotonic()
            try:
                answer = await self._ask(host.client, call, seed)
                seconds = time.monotonic() - started
                host.answered(seconds, beside)
                return answer._replace(seconds=seconds)
            except Complained as complained:
                if (error := self._judge(host, call.model_name, complained.complaint, started)) is not None:
                    raise error from None
            finally:
                self.pool.give_back(host)

    async def _ask(self, connection: Connection, call: Call, seed: int) -> Answer:
        """Sends one request to one server, within its timeout."""
        adapter = self.adapter
        path = adapter.path(call)
        while True:
            body = adapter.body(call, seed)
            try:
                content = encode_json(body)
                response = await connection.post(path, content, self.settings.timeout, adapter.headers(call))
                break
            except Complained as complained:
                if not adapter.learn(call, complained.complaint, body):
                    raise
        data = connection.load_json(response.content)
        if isinstance(data, dict) and (not data.get("error") or any(map(data.get, ANSWERING))):
            try:
                return adapter.answer(data, call, self.price(call.model_name), adapter.limits(response.headers))
            except UNREADABLE:
                pass
        error_body = read_error(
            data if isinstance(data, (dict, list)) else None
        )  # an error in a response with a success status
        raise (
            Complained(complaint_about(200, error_body, response.headers))
            if error_body.words
            else connection.unreadable()
        )

    def _judge(self, host: Host, model_name: str, complaint: ProviderComplaint, sent_at: float) -> ProviderError | None:
        """Updates the server's state after a failed request and returns the error. None: try another server now."""
        model = self.adapter.full_name(model_name)
        error: ProviderError = host.client.diagnose(complaint)
        lacks_model = is_unknown_model(complaint)
        busy = error.fault is ErrorClass.RATE_LIMITED or complaint.status == 503
        if lacks_model:
            host.lacking.add(model)
        if busy and self.adapter.busy_hint:
            hint, where = self.adapter.busy_hint, display_host(host.url)
            self.notices(f"The {self.endpoint.title} server {where} is busy. {hint}")
            error = ProviderError(error.fault, f"{error} ({hint})", error.retry_after)
        if len(self.urls) > 1:
            hopeless = error.fault is ErrorClass.FATAL and not lacks_model
            host.unreachable = error.no_reply is NoReply.UNREACHABLE
            if hopeless:
                host.rest(sent_at, LONGEST_REST)
                self.notices(f"{display_host(host.url)} rejects all requests and is paused: {error}")
            elif busy or complaint.status is None or complaint.status in BUSY:
                host.rest(sent_at, error.retry_after or 0.0)
            if (busy or host.unreachable or lacks_model or hopeless) and self.pool.awake(model):
                return None
        if not lacks_model:
            return error
        return ProviderError(ErrorClass.TRANSIENT, str(error)) if self.pool.having(model) else self._missing(model_name)

    # -- its servers -------------------------------------------------------------------------------------

    async def check(self, model_names: Sequence[str]) -> None:
        """Raises a fatal ProviderError if no server answers, or if no server has a model. A server that lists nothing, or
        fails, is assumed to have it."""
        if self.endpoint.lacks_key:
            raise missing_key(self.endpoint)
        silent = await self._refresh_hosts(model_names)
        if len(silent) == len(self.urls):
            complaints = [error.complaint for error in silent.values() if isinstance(error, Complained)]
            if refusals := [complaint for complaint in complaints if complaint.status in REFUSING]:
                raise self.connection.diagnose(refusals[0])
            unreachable = [complaint for complaint in complaints if complaint.status is None]
            if unreachable or any(isinstance(error, TimeoutError) for error in silent.values()):
                raise ProviderError(ErrorClass.FATAL, self.no_server(silent))
            return
        for url, error in silent.items():
            where = f"{self.endpoint.title} server {display_host(url)}"
            self.notices(f"The {where} does not answer ({_reason(error)}). The other servers are used.")
        answering = [host for host in self.pool.hosts if host.url not in silent]
        for name in model_names:
            without_model = [host.url for host in answering if not host.has(self.adapter.full_name(name))]
            if len(without_model) == len(answering):
                raise self._missing(name)
            if without_model:
                self.notices(
                    f"{', '.join(map(display_host, without_model))} does not have {name}, so other servers get its requests."
                )

    async def hosts(self) -> list[ListedHost]:
        """The current state of its servers."""
        silent = await self._refresh_hosts()
        return [
            ListedHost(
                display_host(host.url),
                tuple(host.models or ()),
                scrub_keys(_reason(silent[host.url])) if host.url in silent else "",
            )
            for host in self.pool.hosts
        ]

    async def _models_at(self, connection: Connection, wanted: Sequence[str]) -> dict[str, str | None] | None:
        """The listed models, and those that the server knows without listing them; None: it has no list. Logs which of the
        wanted models will be shut down."""
        try:
            listed = await self._look(connection.get, self.adapter.models_path)
        except Complained as complained:
            status = complained.complaint.status or 0
            if status == 501 or (400 <= status < 500 and status not in NOT_NOW):
                return None
            raise
        models = {card.name: card.retires for card in self.adapter.cards(listed)}
        for name in wanted:
            if models.get(name):
                self.notices(f"{name} will be shut down on {models[name]}.")
        if self.endpoint.like == "ollama":
            return models
        unlisted = [name for name in wanted if name not in models]
        known = [name for name in unlisted if models and await self._knows(connection, name)]
        return {**models, **dict.fromkeys(known)} or None

    async def _knows(self, connection: Connection, model_name: str) -> bool:
        """Whether the server knows a model that it does not list, such as an alias."""
        path = f"{self.adapter.models_path.partition('?')[0]}/{model_name}"
        try:
            await self._look(connection.get, path)
        except Complained as complained:
            return not is_unknown_model(complained.complaint)
        return True

    async def _look(self, look: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Reads from a server, with retries after temporary errors."""
        waits = wait_exponential(multiplier=self.backoff)
        retry = retry_if_exception(_heals)
        return await AsyncRetrying(stop=stop_after_attempt(LOOKS), wait=waits, retry=retry, reraise=True)(
            look, *arguments
        )

    async def _refresh_hosts(self, wanted: Sequence[str] = ()) -> dict[str, Exception]:
        """Asks every server for its models. Returns those that do not answer, with the reason."""
        errors = await asyncio.gather(*(self._refresh(host, wanted) for host in self.pool.hosts))
        return {host.url: error for host, error in zip(self.pool.hosts, errors, strict=True) if error is not None}

    async def _refresh(self, host: Host, wanted: Sequence[str]) -> Exception | None:
        """Why the server does not answer; None: it answers."""
        host.client.open()  # loading its SDK takes longer than the timeout
        try:
            async with asyncio.timeout(min(LOOK_SECONDS, self.settings.timeout)):
                host.models = await self._models_at(host.client, wanted)
        except (Complained, ProviderError, TimeoutError, *UNREADABLE) as error:
            return error
        return None

    def _missing(self, model_name: str) -> ProviderError:
        models = sorted({name for host in self.pool.hosts for name in host.models or ()})
        near = get_close_matches(self.adapter.full_name(model_name), models, n=3, cutoff=0.5)
        hint = self.adapter.fetch_hint(model_name, " or ".join(near))
        return ProviderError(ErrorClass.FATAL, f"{self.endpoint.title} does not know the model {model_name!r}. {hint}")

    def no_server(self, silent: Mapping[str, Exception]) -> str:
        """The error message if no server answers."""
        where = "; ".join(f"{display_host(url)}: {_reason(error)}" for url, error in silent.items())
        return f"No {self.endpoint.title} server answers ({where}). {self.adapter.start_hint}"


def _reason(error: Exception) -> str:
    return "no answer in time" if isinstance(error, TimeoutError) else str(error)


def _heals(error: BaseException) -> bool:
    if isinstance(error, Complained):
        return error.complaint.status is None or error.complaint.status >= 500
    return isinstance(error, ProviderError)
