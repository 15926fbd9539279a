"""Sends collected calls: a full provider batch leaves at once, the rest when no task can go on by itself, each as far as the
budget and the provider's queue reach. Provider batches are made of the calls of a wave, or of what the file remembers
after a restart.
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from tidepool.engine.call import expected_input
from tidepool.engine.errors import FileError
from tidepool.engine.providers.protocol import ProviderBatchTicket
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.batch_lifecycle import BatchLifecycle
from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.open_jobs import OpenJobs
from tidepool.engine.runtime.provider_batch import (
    CallNames,
    ProviderBatch,
    SuspendedUnits,
    content_hash,
    order_id,
    split,
)
from tidepool.engine.runtime.unit import CollectedCall
from tidepool.storage.purchases import ProviderBatchBook, StoredProviderBatch

REMOTE_ID = re.compile(r"(?!.*\.\.)[\w.:-]{1,200}", re.ASCII)
"""ids become parts of addresses"""


def reserve_affordable(account: Account, pendings: list[CollectedCall]) -> list[CollectedCall]:
    """The part of a wave that the budget pays for now; it is reserved."""
    budget = account.budget
    if not budget.capped or not pendings:
        return pendings
    amounts = [account.worst_cost(pending.call, batch=True) or 0.0 for pending in pendings]
    count = budget.affordable(amounts)
    if not count and budget.is_exhausted(amounts[0]):
        budget.on_exhausted()
    for pending, amount in zip(pendings[:count], amounts, strict=False):
        pending.reserved = amount
    return pendings[:count]


class BatchAssembly:
    """Gives each provider batch its ticket: an id that follows from what it holds."""

    def __init__(self, batch_id: str, records: ProviderBatchBook) -> None:
        self._batch_id = batch_id
        self._records = records
        self._repetitions: Counter[str] = Counter()
        """how many were made so far, by content"""

    def resume(self) -> None:
        """After a restart: the same content once more is another provider batch."""
        self._repetitions = self._records.made_so_far()

    def new(self, provider: str, group: str, pendings: list[CollectedCall]) -> ProviderBatch:
        addresses = {pending.address: pending.key.hex() for pending in pendings}
        content = content_hash(addresses.values())
        self._repetitions[content] += 1
        name = order_id(self._batch_id, content, self._repetitions[content])
        return ProviderBatch(
            self._ticket(name, content, list(addresses.values()), max(pending.call.wave for pending in pendings)),
            provider,
            group,
            addresses,
            tokens=sum(expected_input(pending.call) for pending in pendings),
            waiting={pending.address: pending for pending in pendings},
        )

    def restored(self, stored: StoredProviderBatch, *, suspended: bool = False) -> ProviderBatch:
        """With the calls that are still open, and those that were answered another way since. `suspended`: there are too many
        to keep, so whoever waits is told when it has come to something."""
        remote_names = (stored.remote_id, stored.upload_id or None)
        if not all(name is None or REMOTE_ID.fullmatch(name) for name in remote_names):
            raise FileError(
                "A provider batch of this file has an id that is none. The file was changed; take care with it."
            )
        answered = self._records.answered(address for address, _ in stored.calls)
        recorded = self._records.surplus_of(stored.order_id)
        keys = [key for _, key in stored.calls]
        still_open = {address: key for address, key in stored.calls if address not in answered}
        return ProviderBatch(
            self._ticket(stored.order_id, stored.content_hash, keys, stored.wave, stored.created_at),
            stored.provider,
            stored.group,
            {} if suspended else still_open,
            upload_id=stored.upload_id,
            remote_id=stored.remote_id,
            unsure=stored.unsure,
            older=max(0.0, time.time() - stored.created_at),
            held=stored.reservation_usd,
            held_each=stored.reservation_usd / max(1, len(stored.calls)),
            suspended=SuspendedUnits(unit for unit, _ in still_open) if suspended else SuspendedUnits(),
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


BatchGroup = tuple[str, str]
"""a provider, and a group of calls that may share one of its batches"""


class WaveSender:
    """Keeps gathered calls until they leave."""

    def __init__(
        self,
        context: RunContext,
        assembly: BatchAssembly,
        open_jobs: OpenJobs,
        lifecycle_at: Callable[[str], BatchLifecycle | None],
        send: Callable[[ProviderBatch, BatchLifecycle], None],
        go_live: Callable[[list[CollectedCall]], None],
    ) -> None:
        self._context = context
        self._assembly = assembly
        self._open = open_jobs
        self._lifecycle_at = lifecycle_at
        """of a provider whose batch API takes something"""
        self._send = send
        self._go_live = go_live
        self._gathered: dict[BatchGroup, list[CollectedCall]] = defaultdict(list)
        self._full: dict[BatchGroup, int] = {}
        """at how many gathered calls some leave"""
        self._most_calls: dict[str, int] = {}

    def add(self, pending: CollectedCall) -> None:
        """A call more; where they are enough for a provider batch, that leaves."""
        provider = pending.call.provider
        lifecycle = self._lifecycle_at(provider)
        group = provider, lifecycle.api.group(pending.call) if lifecycle is not None else ""
        gathered = self._gathered[group]
        gathered.append(pending)
        if lifecycle is not None and len(gathered) >= (self._full.get(group) or self._most(lifecycle.account)):
            self._send_full(group, lifecycle)

    def add_all(self, pendings: Iterable[CollectedCall]) -> None:
        for pending in pendings:
            self.add(pending)

    def halve(self, provider: str, count: int) -> None:
        """So many calls are too large a provider batch."""
        self._most_calls[provider] = count // 2
        self._full = {}

    def send_all(self) -> bool:
        """All of them, as far as they may; whether any did."""
        gathered, self._gathered, self._full = self._gathered, defaultdict(list), {}
        for group, pendings in gathered.items():
            lifecycle = self._lifecycle_at(group[0])
            if lifecycle is None:
                self._go_live(pendings)
            elif pendings:
                self._send_together(group, lifecycle, list(pendings))
        return sum(map(len, self._gathered.values())) < sum(map(len, gathered.values()))

    @property
    def is_empty(self) -> bool:
        return not any(self._gathered.values())

    def _most(self, account: Account) -> int:
        most = account.settings.batch_size
        return max(2, min(most, self._most_calls.get(account.name, most)))

    def _send_full(self, group: BatchGroup, lifecycle: BatchLifecycle) -> None:
        run = self._context.run
        if run.closing or run.paused:
            return
        pendings = self._gathered.pop(group)
        ready = self._reserve_fitting(group, lifecycle, pendings)
        most, chunks = self._most(lifecycle.account), split(ready, self._most(lifecycle.account), lifecycle.api.bounds)
        remainder: list[CollectedCall] = []
        if len(ready) == len(pendings) and chunks and len(chunks[-1]) < most:
            remainder = chunks.pop()
            for pending in remainder:
                self._open.free(pending)
        for chunk in chunks:
            self._send_chunk(group, lifecycle, chunk)
        self._gathered[group] = remainder + pendings[len(ready) :]
        # What could not leave now is not tried again with every call that comes.
        self._full[group] = len(self._gathered[group]) + most if len(ready) < len(pendings) else most

    def _send_together(self, group: BatchGroup, lifecycle: BatchLifecycle, pendings: list[CollectedCall]) -> None:
        account = lifecycle.account
        pendings.sort(key=lambda pending: pending.call.wave)
        if len(pendings) == 1:
            self._context.log("info", f"A wave of one call of {account.name} goes live.")
            self._go_live(pendings)
            return
        queue = self._open.queue(*group)
        if not queue.waiting and queue.count_fitting([pending.call for pending in pendings]) < 2:
            warning = f"{account.name} has no room for {len(pendings)} calls in a batch: they go live."
            self._context.log("warning", warning)
            self._go_live(pendings)
            return
        ready = self._reserve_fitting(group, lifecycle, pendings)
        self._gathered[group] = pendings[len(ready) :]
        for chunk in split(ready, self._most(account), lifecycle.api.bounds):
            self._send_chunk(group, lifecycle, chunk)

    def _reserve_fitting(
        self, group: BatchGroup, lifecycle: BatchLifecycle, pendings: list[CollectedCall]
    ) -> list[CollectedCall]:
        """Those that the queue has room for and the budget pays for: they are reserved."""
        fitting = self._open.queue(*group).count_fitting([pending.call for pending in pendings])
        return reserve_affordable(lifecycle.account, pendings[:fitting]) if fitting > 1 else []

    def _send_chunk(self, group: BatchGroup, lifecycle: BatchLifecycle, chunk: list[CollectedCall]) -> None:
        job = self._assembly.new(*group, chunk)
        self._open.add(job)
        self._send(job, lifecycle)
