"""What most providers share that answer one call at a time: no batch API, no price, nothing to check or to close."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.protocol import Answer, BatchApi, Notices


class LiveProvider(ABC):
    """To be derived from: a provider of another package needs `name` and `complete`."""

    name: str
    simulated = False
    batches: BatchApi | None = None

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        self.backoff = 0.5
        self.notices = Notices()

    def serve(self, batch_id: str) -> None:
        return None

    def concurrency(self, max_concurrent: int) -> int:
        return max_concurrent

    @abstractmethod
    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        """One live call, within its timeout. Raises ProviderError."""

    def price(self, model_name: str) -> PriceTag | None:
        """Unknown, unless told otherwise: then costs are unknown too, and a budget is refused. `FREE` says what it says."""
        return None

    async def check(self, model_names: Sequence[str]) -> None:
        return None

    async def close(self) -> None:
        return None
