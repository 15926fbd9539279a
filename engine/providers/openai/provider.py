"""OpenAI, and every server that speaks like it."""

from collections.abc import Mapping
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.error_mapping import ProviderComplaint
from tidepool.engine.providers.model_listing import ModelCard
from tidepool.engine.providers.openai.batches import OpenAIBatches
from tidepool.engine.providers.openai.request_format import OpenAIRequestFormat, answer_of, path_of
from tidepool.engine.providers.protocol import Answer, ProviderSpec
from tidepool.engine.providers.rate_headers import openai_limits
from tidepool.engine.providers.sdk_connection import SdkConnection
from tidepool.engine.providers.sdk_provider import SdkProvider


class OpenAIProvider(SdkProvider):
    like = "openai"

    def __init__(self, settings: ProviderSettings, name: str = "openai") -> None:
        super().__init__(settings, name)
        self.wire = OpenAIRequestFormat(self.notices, "api.openai.com" not in self.line.where)
        if self.endpoint.has_batches and not self.pooled:
            self.batches = OpenAIBatches(self.line, self.wire, self.price)

    def request(self, call: Call, seed: int) -> tuple[str, dict[str, Any], dict[str, str] | None]:
        return path_of(call), self.wire.body(call, seed), None

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        return self.wire.learn(call, complaint, sent)

    def answer(self, data: Mapping[str, Any], call: Call, headers: Mapping[str, str]) -> Answer:
        return answer_of(data, self.price(call.model_name), limits=openai_limits(headers))

    async def cards_at(self, line: SdkConnection) -> list[ModelCard]:
        listed = await line.get("/models")
        return [
            ModelCard(str(one["id"]).removeprefix("models/"), one.get("shutdown_date"))
            for one in listed.get("data") or ()
        ]

    async def look_up_at(self, line: SdkConnection, model_name: str) -> None:
        await line.get(f"/models/{model_name}")


PROVIDER = ProviderSpec(ProviderSettings, OpenAIProvider)
