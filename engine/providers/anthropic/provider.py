"""Anthropic."""

from collections.abc import Mapping
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.anthropic.batches import AnthropicBatches
from tidepool.engine.providers.anthropic.request_format import AnthropicRequestFormat, answer_of
from tidepool.engine.providers.error_mapping import ProviderComplaint
from tidepool.engine.providers.model_listing import ModelCard
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError, ProviderSpec
from tidepool.engine.providers.rate_headers import anthropic_limits
from tidepool.engine.providers.sdk_connection import SdkConnection
from tidepool.engine.providers.sdk_provider import SdkProvider


class AnthropicProvider(SdkProvider):
    like = "anthropic"

    def __init__(self, settings: ProviderSettings, name: str = "anthropic") -> None:
        super().__init__(settings, name)
        self.wire = AnthropicRequestFormat(self.notices)
        if self.endpoint.has_batches and not self.pooled:
            self.batches = AnthropicBatches(self.line, self.wire, self.price)

    def request(self, call: Call, seed: int) -> tuple[str, dict[str, Any], dict[str, str] | None]:
        if call.operation == "embed":
            raise ProviderError(ErrorClass.OURS, "Anthropic has no embeddings: use an encoder of OpenAI or Ollama.")
        return "/v1/messages", self.wire.body(call), self.wire.headers(call)

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        return self.wire.learn(call, complaint, sent)

    def answer(self, data: Mapping[str, Any], call: Call, headers: Mapping[str, str]) -> Answer:
        return answer_of(data, self.price(call.model_name), limits=anthropic_limits(headers))

    async def cards_at(self, line: SdkConnection) -> list[ModelCard]:
        listed = await line.get("/v1/models", limit=1000)
        return [
            ModelCard(str(one["id"]), str(one["retires_at"])[:10] if one.get("retires_at") else None)
            for one in listed.get("data") or ()
        ]

    async def look_up_at(self, line: SdkConnection, model_name: str) -> None:
        await line.get(f"/v1/models/{model_name}")


PROVIDER = ProviderSpec(ProviderSettings, AnthropicProvider)
