"""What OpenAI's and Anthropic's families share: calls through an SDK's connection, to one server or a pool; the models they
list, checked before anything is spent; and prices, from the table of genai-prices unless the endpoint declares them.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.endpoints import OWN_ENDPOINTS
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.connection import Complained, SdkConnection
from tidepool.engine.providers.endpoint import Endpoint, display_host
from tidepool.engine.providers.errors import (
    ProviderComplaint,
    complaint_about,
    is_unknown_model,
    missing_key,
    read_error,
    unknown_model,
)
from tidepool.engine.providers.pool import Host, HostedProvider, HostFault
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, ProviderError
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

TRIES = 4
REFUSING = (401, 402, 403)
_NOT_NOW = (*REFUSING, 408, 425, 429)


@dataclass(frozen=True, slots=True)
class ModelCard:
    name: str
    retires: str | None = None
    """the day on which it will be, or was, shut down, as far as announced"""


async def retry_lookup(backoff: float, look: Callable[[], Awaitable[T]]) -> T:
    """A look at a provider, repeated where it fails in a way that heals. Raises Complained."""
    for attempt in range(TRIES):
        try:
            return await look()
        except Complained as complained:
            healing = complained.complaint.status is None or complained.complaint.status >= 500
            if not healing or attempt == TRIES - 1:
                raise
        except ProviderError as error:
            if attempt == TRIES - 1:
                raise Complained(ProviderComplaint(500, words=str(error))) from None
        await asyncio.sleep(backoff * 2**attempt)
    raise AssertionError


UNREADABLE = (KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""what reading a reply may raise where it is none"""
ANSWERING = ("choices", "content", "data")
"""one of these holds the answer of a reply"""
BUSY = (502, 503, 504, 529)


class RequestFormat(Protocol):
    """How requests of a family are written."""

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Whether the next request for this call will differ from the one that was sent and refused."""


class SdkProvider(HostedProvider):
    wire: RequestFormat
    start_hint = "Check the network, the proxy and the addresses of its section, then run again."

    def __init__(self, settings: ProviderSettings, name: str) -> None:
        super().__init__(settings, name)
        self.connection = SdkConnection(self.endpoint, self.urls[0])
        """to the only server, or the first of several"""
        self._tags: dict[str, PriceTag | None] = {}

    # -- what a family says of itself --------------------------------------------------------------------

    @abstractmethod
    def request(self, call: Call, seed: int) -> tuple[str, dict[str, Any], dict[str, str] | None]:
        """Path, body and own headers of a call."""

    @abstractmethod
    def answer(self, data: Mapping[str, Any], call: Call, headers: Mapping[str, str]) -> Answer:
        """Raises one of UNREADABLE where the data is no answer."""

    @abstractmethod
    async def cards_at(self, connection: SdkConnection) -> list[ModelCard]:
        """The models that a server lists. Raises Complained."""

    @abstractmethod
    async def look_up_at(self, connection: SdkConnection, model_name: str) -> None:
        """Raises Complained where the server does not know the model."""

    # -- calls -------------------------------------------------------------------------------------------

    def connect(self, url: str) -> SdkConnection:
        connection = SdkConnection(self.endpoint, url)
        _ = connection.client  # loading its SDK takes longer than a look at the server may
        return connection

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        if self.pooled:
            return await self.ask_pool(call, seed)
        try:
            return await self.ask(self.connection, call, seed)
        except Complained as complained:
            if is_unknown_model(complained.complaint):
                raise unknown_model(self.endpoint, call.model_name, await self._known_models()) from None
            raise self.connection.diagnose(complained.complaint) from None

    async def ask(self, client: SdkConnection, call: Call, seed: int) -> Answer:
        while True:
            path, body, headers = self.request(call, seed)
            try:
                response = await client.post(path, encode_json(body), self.settings.timeout, headers)
                break
            except Complained as complained:
                if not self.wire.learn(call, complained.complaint, body):
                    raise
        data = client.load_json(response.content)
        if not isinstance(data, dict) or (data.get("error") and not any(map(data.get, ANSWERING))):
            raise self._unreadable_reply(client, data, response.headers)
        try:
            return self.answer(data, call, response.headers)
        except UNREADABLE:
            raise self._unreadable_reply(client, data, response.headers) from None

    def _unreadable_reply(self, client: SdkConnection, data: object, headers: Mapping[str, str]) -> Exception:
        """An error that came as if all were well, or something else that is no reply."""
        error_body = read_error(data if isinstance(data, (dict, list)) else None)
        return Complained(complaint_about(200, error_body, headers)) if error_body.words else client.unreadable()

    def price(self, model_name: str) -> PriceTag | None:
        if model_name not in self._tags:
            self._tags[model_name] = price_tag(self.endpoint, model_name)
        return self._tags[model_name]

    # -- its servers -------------------------------------------------------------------------------------

    async def check(self, model_names: Sequence[str]) -> None:
        if self.endpoint.lacks_key:
            raise missing_key(self.endpoint)
        await (self.check_hosts(model_names) if self.pooled else self._check_server(model_names))

    async def _check_server(self, model_names: Sequence[str]) -> None:
        """Raises a fatal ProviderError where nobody answers, or where the server says that it lacks a model. A server that
        lists nothing, or fails, is given the benefit of the doubt."""
        try:
            cards = await self._list(self.connection, model_names)
        except Complained as complained:
            complaint = complained.complaint
            if complaint.status is None:
                problem = f"{display_host(self.connection.where)} cannot be reached ({complaint.words})."
                advice = "Check the network, the proxy and base_url, then run again."
                raise ProviderError(ErrorClass.FATAL, f"{problem} {advice}") from None
            if complaint.status in REFUSING:
                raise self.connection.diagnose(complaint) from None
            return
        names = [card.name for card in cards]
        for name in model_names:
            if name not in names and not await self._knows(self.connection, name):
                raise unknown_model(self.endpoint, name, names)

    async def _known_models(self) -> list[str]:
        try:
            return [card.name for card in await self.models()]
        except (Complained, ProviderError):
            return []

    async def _list(self, connection: SdkConnection, wanted: Sequence[str]) -> list[ModelCard]:
        """The models that a server lists. Logs which of the wanted ones will be shut down."""
        cards = await retry_lookup(self.backoff, lambda: self.cards_at(connection))
        for card in cards:
            if card.name in wanted and card.retires:
                self.notices(f"{card.name} will be shut down on {card.retires}.")
        return cards

    async def models(self) -> list[ModelCard]:
        if not self.pooled:
            return await self.cards_at(self.connection)
        return [ModelCard(name) for name in sorted(set().union(*(card.models for card in await self.hosts())))]

    async def models_at(self, client: SdkConnection, wanted: Sequence[str]) -> set[str] | None:
        """What it lists, and what it knows without listing it; a server that has no list is taken to have all."""
        try:
            names = {card.name for card in await self._list(client, wanted)}
        except Complained as complained:
            status = complained.complaint.status or 0
            if status == 501 or (400 <= status < 500 and status not in _NOT_NOW):
                return None
            raise
        if not names:
            return None
        return names | {name for name in wanted if name not in names and await self._knows(client, name)}

    async def _knows(self, connection: SdkConnection, model_name: str) -> bool:
        """An alias may work without being listed."""
        try:
            await retry_lookup(self.backoff, lambda: self.look_up_at(connection, model_name))
        except Complained as complained:
            return not is_unknown_model(complained.complaint)
        return True

    def fault_at(self, host: Host, error: Exception) -> HostFault:
        if not isinstance(error, Complained):
            if isinstance(error, ProviderError):
                return HostFault(error)
            raise error
        complaint, judged_error = error.complaint, host.client.diagnose(error.complaint)
        refused = judged_error.fault is ErrorClass.RATE_LIMITED
        return HostFault(
            judged_error,
            lacks_model=is_unknown_model(complaint),
            rests=refused or complaint.status is None or complaint.status in BUSY,
            not_sent=refused or judged_error.no_reply is NoReply.UNREACHABLE,
        )

    def words_of(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return "no answer in time"
        return error.complaint.words if isinstance(error, Complained) else str(error)

    def fetch_hint(self, model_name: str, similar: str) -> str:
        return f"Did you mean {similar}?" if similar else "`tidepool models` lists those there are."

    async def close(self) -> None:
        await super().close()
        await self.connection.close()
