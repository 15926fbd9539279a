"""OpenAI, and every server that speaks like it."""

import os
from collections.abc import Mapping
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.error_mapping import ProviderComplaint
from tidepool.engine.providers.keys import OWN_ADDRESSES
from tidepool.engine.providers.model_listing import ModelCard
from tidepool.engine.providers.openai.batches import OpenAIBatches
from tidepool.engine.providers.openai.request_format import OpenAIRequestFormat, answer_of, path_of
from tidepool.engine.providers.price_list import price_tag
from tidepool.engine.providers.protocol import Answer, ProviderSpec
from tidepool.engine.providers.rate_headers import openai_limits
from tidepool.engine.providers.sdk_connection import SdkConnection
from tidepool.engine.providers.sdk_provider import SdkProvider


class OpenAIProvider(SdkProvider):
    name = "openai"

    def __init__(self, settings: ProviderSettings) -> None:
        own = settings.base_url or os.environ.get("OPENAI_BASE_URL") or OWN_ADDRESSES["openai"]
        super().__init__(settings, getattr(settings, "hosts", []) or [own])
        self._foreign = "api.openai.com" not in self.line.where
        self.wire = OpenAIRequestFormat(self.notices, self._foreign)
        self.batches = None if self.pooled else OpenAIBatches(self.line, self.wire, self.price)

    def request(self, call: Call, seed: int) -> tuple[str, dict[str, Any], dict[str, str] | None]:
        return path_of(call), self.wire.body(call, seed), None

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        return self.wire.learn(call, complaint, sent)

    def answer(self, data: Mapping[str, Any], call: Call, headers: Mapping[str, str]) -> Answer:
        return answer_of(data, self.price(call.model_name), limits=openai_limits(headers))

    def price_tag(self, model_name: str) -> PriceTag | None:
        return price_tag(self.name, model_name, self.line.where if self._foreign else None)

    async def cards_at(self, line: SdkConnection) -> list[ModelCard]:
        listed = await line.get("/models")
        return [ModelCard(str(one["id"]), one.get("shutdown_date")) for one in listed.get("data") or ()]

    async def look_up_at(self, line: SdkConnection, model_name: str) -> None:
        await line.get(f"/models/{model_name}")


PROVIDER = ProviderSpec(ProviderSettings, OpenAIProvider)
