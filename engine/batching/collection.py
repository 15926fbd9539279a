"""What the readings of a provider batch's results bring together: one result for each call, by its key."""

from tidepool.engine.batching.call_names import parts_of
from tidepool.engine.providers.protocol import ProviderBatchResult, ProviderBatchTicket


class ResultCollection:
    """An answer wins over an error, whichever came first, and of two answers the first."""

    def __init__(self, ticket: ProviderBatchTicket) -> None:
        self._ticket = ticket
        self.by_key: dict[str, ProviderBatchResult] = {}
        self.unread = False
        """it could not be read whole, however often"""
        self._read: set[str] = set()
        self.strangers = 0
        """results of the last reading that belong to no call of ours"""
        self.repeated = 0
        """results of the last reading whose call had one already"""

    def begin_reading(self) -> None:
        self._read = set()
        self.strangers = self.repeated = 0

    def add(self, result: ProviderBatchResult) -> None:
        name = result.custom_id
        if name not in self._ticket.custom_ids:
            self.strangers += 1
            return
        self.repeated += name in self._read
        self._read.add(name)
        _, key = parts_of(name)
        known = self.by_key.get(key)
        if known is None or _worth(result) > _worth(known):
            self.by_key[key] = result

    @property
    def is_whole(self) -> bool:
        """Every call has its answer: whatever else stands in the files does not matter."""
        return len(self.by_key) == self._ticket.count and all(one.answer is not None for one in self.by_key.values())

    @property
    def has_strayed(self) -> bool:
        """Results came that cannot be told whose they are, and calls have none: those may be theirs."""
        return self.strangers > 0 and len(self.by_key) < self._ticket.count

    @property
    def is_foreign(self) -> bool:
        """There are results, and none of them is ours."""
        return self.strangers > 0 and not self.by_key


def _worth(result: ProviderBatchResult) -> int:
    """An answer is worth more than a reply that is none, and that more than an error."""
    return 0 if result.answer is None else 1 + result.answer.usable
