"""What OpenAI's and Anthropic's families share: a call through an SDK's connection, to one server or to a pool of them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.error_bodies import read_error
from tidepool.engine.providers.error_mapping import ProviderComplaint, complaint_about, is_unknown_model, missing_key
from tidepool.engine.providers.hosted import HostedProvider, HostFault
from tidepool.engine.providers.model_listing import ModelCard, check_models, judged, lists_nothing, look_again
from tidepool.engine.providers.pool import Host
from tidepool.engine.providers.price_list import price_tag
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError, Silence
from tidepool.engine.providers.sdk_connection import Complained, SdkConnection
from tidepool.engine.providers.texts import packed

UNREADABLE = (KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""what reading a reply may raise where it is none"""
ANSWERING = ("choices", "content", "data")
"""one of these holds the answer of a reply"""
BUSY = (502, 503, 504, 529)


class SdkProvider(HostedProvider):
    start_hint = "Check the network, the proxy and the addresses of its section, then run again."

    def __init__(self, settings: ProviderSettings, name: str) -> None:
        super().__init__(settings, name)
        self.line = SdkConnection(self.endpoint, self.urls[0])
        """to the only server, or the first of several"""
        self._tags: dict[str, PriceTag | None] = {}

    # -- what a family says of itself --------------------------------------------------------------------

    @abstractmethod
    def request(self, call: Call, seed: int) -> tuple[str, dict[str, Any], dict[str, str] | None]:
        """Path, body and own headers of a call."""

    @abstractmethod
    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Whether the next request for this call will differ from the one that was sent and refused."""

    @abstractmethod
    def answer(self, data: Mapping[str, Any], call: Call, headers: Mapping[str, str]) -> Answer:
        """Raises one of UNREADABLE where the data is no answer."""

    @abstractmethod
    async def cards_at(self, line: SdkConnection) -> list[ModelCard]:
        """The models that a server lists. Raises Complained."""

    @abstractmethod
    async def look_up_at(self, line: SdkConnection, model_name: str) -> None:
        """Raises Complained where the server does not know the model."""

    # -- calls -------------------------------------------------------------------------------------------

    def connect(self, url: str) -> SdkConnection:
        line = SdkConnection(self.endpoint, url)
        _ = line.client  # loading its SDK takes longer than a look at the server may
        return line

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        if self.pooled:
            return await self.ask_pool(call, seed)
        try:
            return await self.ask(self.line, call, seed)
        except Complained as complained:
            raise await judged(self, call.model_name, complained.complaint) from None

    async def ask(self, client: SdkConnection, call: Call, seed: int) -> Answer:
        while True:
            path, body, headers = self.request(call, seed)
            try:
                response = await client.post(path, packed(body), self.settings.timeout, headers)
                break
            except Complained as complained:
                if not self.learn(call, complained.complaint, body):
                    raise
        data = client.loaded(response.content)
        if not isinstance(data, dict) or (data.get("error") and not any(map(data.get, ANSWERING))):
            raise self._no_reply(client, data, response.headers)
        try:
            return self.answer(data, call, response.headers)
        except UNREADABLE:
            raise self._no_reply(client, data, response.headers) from None

    def _no_reply(self, client: SdkConnection, data: object, headers: Mapping[str, str]) -> Exception:
        """An error that came as if all were well, or something else that is no reply."""
        said = read_error(data if isinstance(data, (dict, list)) else None)
        return Complained(complaint_about(200, said, headers)) if said.words else client.garbage()

    def price(self, model_name: str) -> PriceTag | None:
        if model_name not in self._tags:
            self._tags[model_name] = price_tag(self.endpoint, model_name)
        return self._tags[model_name]

    # -- its servers -------------------------------------------------------------------------------------

    async def check(self, model_names: Sequence[str]) -> None:
        if self.endpoint.lacks_key:
            raise missing_key(self.endpoint)
        await (self.check_hosts(model_names) if self.pooled else check_models(self, model_names))

    async def models(self) -> list[ModelCard]:
        if not self.pooled:
            return await self.cards_at(self.line)
        return [ModelCard(name) for name in sorted(set().union(*(card.models for card in await self.hosts())))]

    async def look_up(self, model_name: str) -> None:
        await self.look_up_at(self.line, model_name)

    async def models_at(self, client: SdkConnection, wanted: Sequence[str]) -> set[str] | None:
        """What it lists, and what it knows without listing it; a server that has no list is taken to have all."""
        try:
            cards = await look_again(self.backoff, lambda: self.cards_at(client))
        except Complained as complained:
            if lists_nothing(complained.complaint):
                return None
            raise
        for card in cards:
            if card.name in wanted and card.retires:
                self.notices(f"{card.name} will be shut down on {card.retires}.")
        names = {card.name for card in cards}
        if not names:
            return None
        return names | {name for name in wanted if name not in names and await self._knows(client, name)}

    async def _knows(self, client: SdkConnection, model_name: str) -> bool:
        """An alias may work without being listed."""
        try:
            await self.look_up_at(client, model_name)
        except Complained as complained:
            return not is_unknown_model(complained.complaint)
        except ProviderError:
            return True
        return True

    def fault_at(self, host: Host, error: Exception) -> HostFault:
        if not isinstance(error, Complained):
            if isinstance(error, ProviderError):
                return HostFault(error)
            raise error
        complaint, judged_error = error.complaint, host.client.diagnosed(error.complaint)
        refused = judged_error.fault is ErrorClass.REFUSED
        return HostFault(
            judged_error,
            lacks_model=is_unknown_model(complaint),
            rests=refused or complaint.status is None or complaint.status in BUSY,
            unasked=refused or judged_error.silence is Silence.UNREACHED,
        )

    def words_of(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return "no answer in time"
        return error.complaint.words if isinstance(error, Complained) else str(error)

    def fetch_hint(self, model_name: str, near: str) -> str:
        return f"Did you mean {near}?" if near else "`tidepool models` lists those there are."

    async def close(self) -> None:
        await super().close()
        await self.line.close()
