"""Makes provider batches: of the calls of a wave, and of what the file remembers after a restart."""

import re
import time
from collections import Counter

from tidepool.engine.batching.call_names import Absent, CallNames
from tidepool.engine.batching.provider_batch import ProviderBatch, content_hash, order_id
from tidepool.engine.call import expected_input
from tidepool.engine.core.accounts import Account
from tidepool.engine.core.pending import Gathered
from tidepool.engine.errors import FileError
from tidepool.engine.providers.protocol import ProviderBatchTicket
from tidepool.storage.purchases import ProviderBatchBook, StoredProviderBatch

REMOTE_ID = re.compile(r"(?!.*\.\.)[\w.:-]{1,200}", re.ASCII)
"""ids become parts of addresses"""


def affordable(account: Account, pendings: list[Gathered]) -> list[Gathered]:
    """The part of a wave that the budget pays for now; it is reserved."""
    budget = account.budget
    if not budget.capped or not pendings:
        return pendings
    amounts = [account.worst_cost(pending.call, batch=True) for pending in pendings]
    count = budget.affordable(amounts)
    if not count and budget.is_exhausted(amounts[0]):
        budget.on_exhausted()
    for pending, amount in zip(pendings[:count], amounts, strict=False):
        pending.reserved = amount
    return pendings[:count]


class BatchAssembly:
    """Gives each provider batch its ticket: an id that follows from what it holds."""

    def __init__(self, batch_id: str, book: ProviderBatchBook) -> None:
        self._batch_id = batch_id
        self._book = book
        self._made: Counter[str] = Counter()
        """how many were made so far, by content"""

    def take_up(self) -> None:
        """After a restart: the same content once more is another provider batch."""
        self._made = self._book.made_so_far()

    def new(self, provider: str, group: str, pendings: list[Gathered]) -> ProviderBatch:
        addresses = {pending.address: pending.key.hex() for pending in pendings}
        content = content_hash(addresses.values())
        self._made[content] += 1
        name = order_id(self._batch_id, content, self._made[content])
        return ProviderBatch(
            self._ticket(name, content, list(addresses.values()), max(pending.call.wave for pending in pendings)),
            provider,
            group,
            addresses,
            tokens=sum(expected_input(pending.call) for pending in pendings),
            waiting={pending.address: pending for pending in pendings},
        )

    def restored(self, stored: StoredProviderBatch, *, absent: bool = False) -> ProviderBatch:
        """With the calls that are still open, and those that were answered another way since. `absent`: there are too many
        to keep, so whoever waits is told when it has come to something."""
        named = (stored.remote_id, stored.upload_id or None)
        if not all(one is None or REMOTE_ID.fullmatch(one) for one in named):
            raise FileError(
                "A provider batch of this file has an id that is none. The file was changed; take care with it."
            )
        answered = self._book.answered(address for address, _ in stored.calls)
        recorded = self._book.surplus_of(stored.order_id)
        keys = [key for _, key in stored.calls]
        still_open = {address: key for address, key in stored.calls if address not in answered}
        return ProviderBatch(
            self._ticket(stored.order_id, stored.content_hash, keys, stored.wave, stored.created_at),
            stored.provider,
            stored.group,
            {} if absent else still_open,
            upload_id=stored.upload_id,
            remote_id=stored.remote_id,
            unsure=stored.unsure,
            older=max(0.0, time.time() - stored.created_at),
            held=stored.reservation_usd,
            held_each=stored.reservation_usd / max(1, len(stored.calls)),
            absent=Absent(unit for unit, _ in still_open) if absent else Absent(),
            booked=frozenset(recorded),
            abandoned={
                address: key
                for address, key in stored.calls
                if answered.get(address, stored.order_id) != stored.order_id and address not in recorded
            },
        )

    def _ticket(
        self, name: str, content: str, keys: list[str], wave: int, created_at: float = 0.0
    ) -> ProviderBatchTicket:
        names = CallNames(name, keys)
        return ProviderBatchTicket(name, content, len(keys), created_at, self._batch_id, wave, names)
