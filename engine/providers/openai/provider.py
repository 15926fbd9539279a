"""OpenAI, and every server that speaks like it."""

import os
from collections.abc import Sequence

from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.prices import PriceTag
from tidepool.engine.providers.error_mapping import missing_key
from tidepool.engine.providers.keys import OWN_ADDRESSES, has_key
from tidepool.engine.providers.model_listing import ModelCard, check_models, judged
from tidepool.engine.providers.openai.batches import OpenAIBatches
from tidepool.engine.providers.openai.request_format import OpenAIRequestFormat, answer_of, path_of
from tidepool.engine.providers.price_list import price_tag
from tidepool.engine.providers.protocol import Answer, BatchApi, Notices, ProviderSpec
from tidepool.engine.providers.rate_headers import openai_limits
from tidepool.engine.providers.sdk_connection import Complained, SdkConnection
from tidepool.engine.providers.texts import packed


class OpenAIProvider:
    name = "openai"
    simulated = False
    backoff = 0.5

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        self.notices = Notices()
        self.line = SdkConnection(
            self.name, settings.base_url or os.environ.get("OPENAI_BASE_URL") or OWN_ADDRESSES["openai"]
        )
        self._foreign = "api.openai.com" not in self.line.where
        self.wire = OpenAIRequestFormat(self.notices, self._foreign)
        self.batches: BatchApi | None = OpenAIBatches(self.line, self.wire, self.price)
        self._tags: dict[str, PriceTag | None] = {}

    def serve(self, batch_id: str) -> None:
        """Provider batches carry the study's id; single calls need none."""

    def concurrency(self, max_concurrent: int) -> int:
        return max_concurrent

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        while True:
            body = self.wire.body(call, seed)
            try:
                response = await self.line.post(path_of(call), packed(body), self.settings.timeout)
                break
            except Complained as complained:
                if not self.wire.learn(call, complained.complaint, body):
                    raise await judged(self, call.model_name, complained.complaint) from None
        data = self.line.parsed(response.content)
        try:
            return answer_of(data, self.price(call.model_name), limits=openai_limits(response.headers))
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self.line.garbage() from None

    def price(self, model_name: str) -> PriceTag | None:
        if model_name not in self._tags:
            self._tags[model_name] = price_tag(self.name, model_name, self.line.where if self._foreign else None)
        return self._tags[model_name]

    async def check(self, model_names: Sequence[str]) -> None:
        if not has_key(self.name):
            raise missing_key(self.name)
        await check_models(self, model_names)

    async def models(self) -> list[ModelCard]:
        listed = await self.line.get("/models")
        return [ModelCard(str(one["id"]), one.get("shutdown_date")) for one in listed.get("data") or ()]

    async def look_up(self, model_name: str) -> None:
        await self.line.get(f"/models/{model_name}")

    async def close(self) -> None:
        await self.line.close()


PROVIDER = ProviderSpec(ProviderSettings, OpenAIProvider)
