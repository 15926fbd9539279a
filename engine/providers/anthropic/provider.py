"""Anthropic, live and through message batches."""

import os
from collections.abc import Sequence

from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.anthropic.batches import AnthropicBatches
from tidepool.engine.providers.anthropic.request_format import AnthropicRequestFormat, answer_of
from tidepool.engine.providers.error_mapping import missing_key
from tidepool.engine.providers.keys import OWN_ADDRESSES, has_key
from tidepool.engine.providers.model_listing import ModelCard, check_models, judged
from tidepool.engine.providers.price_list import price_tag
from tidepool.engine.providers.protocol import Answer, BatchApi, ErrorClass, Notices, ProviderError, ProviderSpec
from tidepool.engine.providers.rate_headers import anthropic_limits
from tidepool.engine.providers.sdk_connection import Complained, SdkConnection
from tidepool.engine.providers.texts import packed


class AnthropicProvider:
    name = "anthropic"
    simulated = False
    backoff = 0.5

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        self.notices = Notices()
        self.line = SdkConnection(
            self.name, settings.base_url or os.environ.get("ANTHROPIC_BASE_URL") or OWN_ADDRESSES["anthropic"]
        )
        self.wire = AnthropicRequestFormat(self.notices)
        self.batches: BatchApi | None = AnthropicBatches(self.line, self.wire, self.price)
        self._tags: dict[str, PriceTag | None] = {}

    def serve(self, batch_id: str) -> None:
        """Anthropic takes no word of it."""

    def concurrency(self, max_concurrent: int) -> int:
        return max_concurrent

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        if call.operation == "embed":
            raise ProviderError(ErrorClass.OURS, "Anthropic has no embeddings: use an encoder of OpenAI or Ollama.")
        while True:
            body, headers = self.wire.body(call), self.wire.headers(call)
            try:
                response = await self.line.post("/v1/messages", packed(body), self.settings.timeout, headers)
                break
            except Complained as complained:
                if not self.wire.learn(call, complained.complaint, body):
                    raise await judged(self, call.model_name, complained.complaint) from None
        data = self.line.parsed(response.content)
        try:
            return answer_of(data, self.price(call.model_name), limits=anthropic_limits(response.headers))
        except (KeyError, TypeError, AttributeError):
            raise self.line.garbage() from None

    def price(self, model_name: str) -> PriceTag | None:
        if model_name not in self._tags:
            self._tags[model_name] = price_tag(self.name, model_name)
        return self._tags[model_name]

    async def check(self, model_names: Sequence[str]) -> None:
        if not has_key(self.name):
            raise missing_key(self.name)
        await check_models(self, model_names)

    async def models(self) -> list[ModelCard]:
        listed = await self.line.get("/v1/models", limit=1000)
        return [
            ModelCard(str(one["id"]), str(one["retires_at"])[:10] if one.get("retires_at") else None)
            for one in listed.get("data") or ()
        ]

    async def look_up(self, model_name: str) -> None:
        await self.line.get(f"/v1/models/{model_name}")

    async def close(self) -> None:
        await self.line.close()


PROVIDER = ProviderSpec(ProviderSettings, AnthropicProvider)
