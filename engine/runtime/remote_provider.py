"""A provider whose live calls leave from workers. All else of it stays in the driver: prices, limits, its batch API."""

from collections.abc import Sequence
from typing import Any

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.endpoints import LOCAL
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import endpoint_of, has_credentials, is_endpoint
from tidepool.engine.providers.protocol import Answer, BatchApi, ErrorClass, NoReply, Notices, Provider, ProviderError
from tidepool.engine.runtime.worker import Opening
from tidepool.engine.runtime.worker_pool import NoWorkerLeft, WorkerPool

NO_WORKER = "No hand is left that can ask {name}: its calls leave from this process until one is back."


class RemoteProvider:
    def __init__(self, local: Provider, workers: WorkerPool) -> None:
        self.name = local.name
        self.simulated = local.simulated
        self.backoff = local.backoff
        self.batches: BatchApi | None = local.batches
        self.notices: Notices = local.notices
        self._local = local
        self._workers = workers
        self._on_node = local.settings.hosts == [LOCAL]
        """each hand asks the server of its own node: no other will do"""

    @property
    def settings(self) -> Any:
        return self._local.settings

    @settings.setter
    def settings(self, changed: ProviderSettings) -> None:
        self._local.settings = changed
        self._workers.change(self.name, self._worker_settings())

    def serve(self, batch_id: str) -> None:
        self._local.serve(batch_id)
        self._workers.serve(batch_id)

    def concurrency(self, max_concurrent: int) -> int:
        """Configured for each server: of those beside the hands there are as many as nodes."""
        return (
            max_concurrent * max(1, self._workers.nodes(self.name))
            if self._on_node
            else self._local.concurrency(max_concurrent)
        )

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        try:
            return await self._workers.complete(self.name, call, seed, attempt)
        except NoWorkerLeft:
            if self._on_node:
                error_text = f"No hand is left beside a server of {self.name}"
                raise ProviderError(ErrorClass.TRANSIENT, error_text, no_reply=NoReply.UNREACHABLE) from None
            self.notices(NO_WORKER.format(name=self.name))
            return await self._local.complete(call, seed, attempt)

    def price(self, model_name: str) -> PriceTag | None:
        return self._local.price(model_name)

    async def check(self, model_names: Sequence[str]) -> None:
        """From here, where its batches are ordered and where calls leave if no hand is left; and from every hand."""
        if not self._on_node:
            await self._local.check(model_names)
        await self._workers.open(
            Opening(self.name, self._worker_settings(), tuple(model_names), on_node=self._on_node), self.notices
        )

    async def close(self) -> None:
        await self._local.close()

    def _worker_settings(self) -> ProviderSettings:
        """With the addresses that hold here, by the environment too. One with a password in it does not travel: every node
        has it in an environment of its own, like the keys."""
        settings: ProviderSettings = self._local.settings
        if self._on_node or not is_endpoint(self.name, settings):
            return settings
        addresses = endpoint_of(self.name, settings).addresses
        if any(map(has_credentials, addresses)):
            return settings
        changes = {"hosts": list(addresses)} if len(addresses) > 1 else {"base_url": addresses[0], "hosts": []}
        return settings.model_copy(update=changes)
