"""A provider of one endpoint: calls to its server, or to the best of several; the models that they have, checked before
anything is spent; and prices, from the table of genai-prices unless the endpoint declares them. The adapter of its family
writes the requests and reads the replies.
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
from tidepool.engine.providers.adapter import Adapter, ModelCard
from tidepool.engine.providers.batch_api import SdkBatches
from tidepool.engine.providers.connection import Complained, Connection
from tidepool.engine.providers.endpoint import Endpoint, display_host, endpoint_of, scrub_keys
from tidepool.engine.providers.errors import complaint_about, is_unknown_model, missing_key, read_error, unknown_model
from tidepool.engine.providers.pool import LONGEST_REST, Host, Parallelism, Pool
from tidepool.engine.providers.protocol import Answer, ErrorClass, LiveProvider, NoReply, ProviderError
from tidepool.engine.providers.replies import encode_json

_PROBE = 1_000
"""tokens of the question whose price gives the rates: below any long-context tier"""


def price_tag(endpoint: Endpoint, model_name: str) -> PriceTag | None:
    """As declared, else as the table has it; None where the price is not known."""
    if declared := endpoint.price(model_name):
        return declared
    place = next((place for place in _places(endpoint) if _find(model_name, place)), None)
    return None if place is None else _listed_price(model_name, place)


def _places(endpoint: Endpoint) -> Iterator[dict[str, str]]:
    """Where the table may have it: by the server's address, which is somebody else's perhaps, then under its house."""
    known = OWN_ENDPOINTS.get(endpoint.name)
    if known is None or endpoint.where()[0] != known.address:
        yield {"provider_api_url": endpoint.where()[0]}
    if known is not None:
        yield {"provider_id": endpoint.name}


def _listed_price(model_name: str, place: Mapping[str, Any]) -> PriceTag:
    from genai_prices import Usage

    def rate(context: Mapping[str, str] | None, **tokens: int) -> float:
        return _calculate(model_name, place, Usage(**tokens), context) / _PROBE

    def exactly(input_tokens: int, output_tokens: int, cache_read: int, cache_write: int, batch: bool) -> float:
        usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
        )
        return _calculate(model_name, place, usage, {"processing": "batch"} if batch else None)

    def rates(context: Mapping[str, str] | None) -> PriceTag:
        return PriceTag(
            input=rate(context, input_tokens=_PROBE),
            output=rate(context, output_tokens=_PROBE),
            cache_read=rate(context, input_tokens=_PROBE, cache_read_tokens=_PROBE),
            cache_write=rate(context, input_tokens=_PROBE, cache_write_tokens=_PROBE),
        )

    return replace(rates(None), batch=rates({"processing": "batch"}), exactly=exactly)


def _find(model_name: str, place: Mapping[str, Any]) -> bool:
    from genai_prices import Usage, calc_price

    try:
        calc_price(Usage(input_tokens=1), model_name, **place)
    except LookupError:
        return False
    return True


def _calculate(model_name: str, place: Mapping[str, Any], usage: Any, context: Mapping[str, str] | None) -> float:
    from genai_prices import calc_price

    return float(calc_price(usage, model_name, **place, price_context=context).total_price)


T = TypeVar("T")

LOOKS = 4
"""how often a look that fails in a way that heals is tried"""
LOOK_SECONDS = 15.0
LOOK_AGAIN = 20.0
"""seconds between looks at servers that were silent"""
LEAST_WORK = 20
"""tokens that a call counts for beside those it writes: reading it, and the way there"""
REFUSING = (401, 402, 403)
NOT_NOW = (*REFUSING, 408, 425, 429)
BUSY = (502, 503, 504, 529)
UNREADABLE = (KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""what reading a reply may raise where it is none"""
ANSWERING = ("choices", "content", "data", "message", "embeddings")
"""one of these holds the answer of a reply"""


@dataclass(frozen=True, slots=True)
class ListedHost:
    """A server of an endpoint: what it has, or why it does not answer."""

    address: str
    models: tuple[str, ...]
    silence: str = ""


class EndpointProvider(LiveProvider):
    def __init__(
        self, adapter: type[Adapter], batches: type[SdkBatches] | None, settings: ProviderSettings, name: str
    ) -> None:
        super().__init__(settings)
        self.name = name
        self.endpoint = endpoint_of(name, settings)
        self.adapter = adapter(self.notices, self.endpoint)
        self.urls = list(self.endpoint.where())
        self.pool = Pool(
            [Host(url, Connection(self.endpoint, url), Parallelism(settings.max_concurrent)) for url in self.urls]
        )
        self.connection: Connection = self.pool.hosts[0].client
        self.pooled = len(self.urls) > 1 or self.endpoint.like == "ollama"
        """calls wait for a place at a server: how many it answers at once has to be found"""
        if self.endpoint.has_batches and not self.pooled and batches is not None:
            self.batches = batches(self.connection, self.adapter, self.price)
        self._tags: dict[str, PriceTag | None] = {}
        self._silent: set[str] = set()
        """servers that did not answer when they were looked at"""
        self._next_refresh = 0.0
        self._refreshing: asyncio.Task[None] | None = None

    def concurrency(self, max_concurrent: int) -> int:
        """Configured for each server."""
        self.pool.most = max_concurrent * len(self.urls)
        for host in self.pool.hosts:
            host.parallelism.change(max_concurrent)
        return self.pool.most

    def price(self, model_name: str) -> PriceTag | None:
        if model_name not in self._tags:
            self._tags[model_name] = price_tag(self.endpoint, model_name)
        return self._tags[model_name]

    async def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
        self.pool.close()
        for host in self.pool.hosts:
            await host.client.close()

    # -- calls -------------------------------------------------------------------------------------------

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        if self.pooled:
            return await self._ask_pool(call, seed)
        try:
            return await self._ask(self.connection, call, seed)
        except Complained as complained:
            if is_unknown_model(complained.complaint):
                raise unknown_model(self.endpoint, call.model_name, await self._known_models()) from None
            raise self.connection.diagnose(complained.complaint) from None

    async def _ask(self, connection: Connection, call: Call, seed: int) -> Answer:
        """One call to one server, within its time."""
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
        error_body = read_error(data if isinstance(data, (dict, list)) else None)  # it came as if all were well
        raise (
            Complained(complaint_about(200, error_body, response.headers))
            if error_body.words
            else connection.unreadable()
        )

    async def _ask_pool(self, call: Call, seed: int) -> Answer:
        """One call, where it is answered first; elsewhere where a server did not even begin with it."""
        model = self.adapter.full_name(call.model_name)
        if not self.pool.having(model):
            await self._refresh_hosts([call.model_name])
        if self._silent and time.monotonic() >= self._next_refresh:
            self._next_refresh = time.monotonic() + LOOK_AGAIN
            self._refreshing = asyncio.create_task(self._refresh_silent(call.model_name))
        while True:
            try:
                host = await self.pool.take(model)
            except LookupError:
                raise self._missing(call.model_name) from None
            others, started = host.in_flight, time.monotonic()
            try:
                answer = await self._ask(host.client, call, seed)
                now = time.monotonic()
                host.answered(now - started, others, answer.output_tokens + LEAST_WORK, now)
                return answer._replace(seconds=now - started)
            except Complained as complained:
                if (error := self._judge(host, call.model_name, complained, started)) is not None:
                    raise error from None
            finally:
                self.pool.give_back(host)

    def _judge(self, host: Host, model_name: str, complained: Complained, sent_at: float) -> ProviderError | None:
        """What a failed call says of its server, and what it comes to. None: another server is to be asked right now."""
        complaint, now, model = complained.complaint, time.monotonic(), self.adapter.full_name(model_name)
        error: ProviderError = host.client.diagnose(complaint)
        lacks_model, several = is_unknown_model(complaint), len(self.urls) > 1
        busy = error.fault is ErrorClass.RATE_LIMITED or complaint.status == 503
        hopeless = error.fault is ErrorClass.FATAL and not lacks_model
        host.unreachable = error.no_reply is NoReply.UNREACHABLE
        if lacks_model:
            host.lacks(model)
        if busy and self.adapter.busy_hint:
            hint, where = self.adapter.busy_hint, display_host(host.url)
            self.notices(f"The {self.endpoint.title} server {where} is busy and rests for a while. {hint}")
            error = ProviderError(ErrorClass.TRANSIENT, f"{error} ({hint})", error.retry_after)
        if hopeless and several:
            host.rest(sent_at, now, LONGEST_REST)
            self.notices(f"{display_host(host.url)} takes no calls and rests: {error}")
        elif busy or complaint.status is None or complaint.status in BUSY:
            host.rest(sent_at, now, error.retry_after or 0.0)
        if (busy or host.unreachable or lacks_model or hopeless) and self.pool.awake(model, now):
            return None
        if not lacks_model:
            return error
        return ProviderError(ErrorClass.TRANSIENT, str(error)) if self.pool.having(model) else self._missing(model_name)

    # -- its servers -------------------------------------------------------------------------------------

    async def check(self, model_names: Sequence[str]) -> None:
        """Raises a fatal ProviderError where nobody answers, or where no server has a model. A single server that lists
        nothing, or fails, is given the benefit of the doubt."""
        if self.endpoint.lacks_key:
            raise missing_key(self.endpoint)
        silent = await self._refresh_hosts(model_names)
        if len(silent) == len(self.urls):
            error = silent[self.urls[0]]
            complaint = error.complaint if isinstance(error, Complained) else None
            if not self.pooled and complaint is not None and complaint.status in REFUSING:
                raise self.connection.diagnose(complaint)
            unreachable = complaint.status is None if complaint is not None else isinstance(error, TimeoutError)
            if self.pooled or unreachable:
                raise ProviderError(ErrorClass.FATAL, self.no_server(silent))
            return
        for url, error in silent.items():
            reason = _reason(error)
            self.notices(
                f"The {self.endpoint.title} server {display_host(url)} does not answer ({reason}): the others carry on."
            )
        for name in model_names:
            having = self.pool.having(self.adapter.full_name(name))
            if not having:
                raise self._missing(name)
            lacking = [host.url for host in self.pool.hosts if host not in having and host.url not in silent]
            if lacking:
                self.notices(f"{', '.join(map(display_host, lacking))} has no {name} and gets no calls to it.")

    async def hosts(self) -> list[ListedHost]:
        """Its servers, as they are now."""
        silent = await self._refresh_hosts()
        return [
            ListedHost(
                display_host(host.url),
                tuple(sorted(host.models)),
                scrub_keys(_reason(silent[host.url])) if host.url in silent else "",
            )
            for host in self.pool.hosts
        ]

    async def models(self, connection: Connection | None = None) -> list[ModelCard]:
        """The models that a server lists; the first one, unless another is named. Raises Complained."""
        listed = await (connection or self.connection).get(self.adapter.models_path)
        return list(self.adapter.cards(listed))

    async def _known_models(self) -> list[str]:
        try:
            return [card.name for card in await self.models()]
        except (Complained, ProviderError):
            return []

    async def _models_at(self, connection: Connection, wanted: Sequence[str]) -> set[str] | None:
        """What it lists, and what it knows without listing it; None: it has no list. Logs which of the wanted ones will be
        shut down."""
        try:
            cards = await self._look(self.models, connection)
        except Complained as complained:
            status = complained.complaint.status or 0
            if status == 501 or (400 <= status < 500 and status not in NOT_NOW):
                return None
            raise
        for card in cards:
            if card.name in wanted and card.retires:
                self.notices(f"{card.name} will be shut down on {card.retires}.")
        names = {card.name for card in cards}
        if self.endpoint.like == "ollama":
            return names
        unlisted = [name for name in wanted if name not in names]
        return (names | {name for name in unlisted if await self._knows(connection, name)}) if names else None

    async def _knows(self, connection: Connection, model_name: str) -> bool:
        """An alias may work without being listed."""
        path = f"{self.adapter.models_path.partition('?')[0]}/{model_name}"
        try:
            await self._look(connection.get, path)
        except Complained as complained:
            return not is_unknown_model(complained.complaint)
        return True

    async def _look(self, look: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """A look at a server, repeated where it fails in a way that heals."""
        waits = wait_exponential(multiplier=self.backoff)
        retry = retry_if_exception(_heals)
        return await AsyncRetrying(stop=stop_after_attempt(LOOKS), wait=waits, retry=retry, reraise=True)(
            look, *arguments
        )

    async def _refresh_hosts(self, wanted: Sequence[str] = ()) -> dict[str, Exception]:
        """Asks every server for its models; those that do not answer, with the reason."""
        errors = await asyncio.gather(*(self._refresh(host, wanted) for host in self.pool.hosts))
        silent = {host.url: error for host, error in zip(self.pool.hosts, errors, strict=True) if error is not None}
        self._silent, self._next_refresh = set(silent), time.monotonic() + LOOK_AGAIN
        return silent

    async def _refresh(self, host: Host, wanted: Sequence[str]) -> Exception | None:
        """Why it does not answer; None: it does."""
        host.client.open()  # loading its SDK takes longer than an answer may
        try:
            async with asyncio.timeout(min(LOOK_SECONDS, self.settings.timeout)):
                host.shows(await self._models_at(host.client, wanted))
        except (Complained, ProviderError, TimeoutError, *UNREADABLE) as error:
            return error
        return None

    async def _refresh_silent(self, model_name: str) -> None:
        """A server that comes later joins in."""
        for host in self.pool.hosts:
            if host.url in self._silent and await self._refresh(host, [model_name]) is None:
                self._silent.discard(host.url)
                where = f"{self.endpoint.title} server {display_host(host.url)}"
                self.notices(f"The {where} answers now: it gets calls like the others.")
                self.pool.pump()

    def _missing(self, model_name: str) -> ProviderError:
        models = sorted(set().union(*(host.models for host in self.pool.hosts)))
        if not self.pooled:
            return unknown_model(self.endpoint, model_name, models)
        similar = " or ".join(get_close_matches(self.adapter.full_name(model_name), models, n=2, cutoff=0.5))
        where = ", ".join(map(display_host, self.urls))
        text = f"No {self.endpoint.title} server ({where}) has the model {model_name!r}."
        return ProviderError(ErrorClass.FATAL, f"{text} {self.adapter.fetch_hint(model_name, similar)}")

    def no_server(self, silent: Mapping[str, Exception]) -> str:
        """What is said where no server answers."""
        if not self.pooled:
            reason = _reason(silent[self.urls[0]])
            advice = "Check the network, the proxy and base_url, then run again."
            return f"{display_host(self.urls[0])} cannot be reached ({reason}). {advice}"
        where = "; ".join(f"{display_host(url)}: {_reason(error)}" for url, error in silent.items())
        return f"No {self.endpoint.title} server answers ({where}). {self.adapter.start_hint}"


def _reason(error: Exception) -> str:
    return "no answer in time" if isinstance(error, TimeoutError) else str(error)


def _heals(error: BaseException) -> bool:
    if isinstance(error, Complained):
        return error.complaint.status is None or error.complaint.status >= 500
    return isinstance(error, ProviderError)
