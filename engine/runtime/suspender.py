"""Suspends units that wait for a provider batch, when there are too many to keep in memory, and resumes them.

A suspended unit is nothing but what the file says of it. It is replayed when its provider batch has results: it asks the same
under the same addresses, and is attached to the provider batch that holds its request, as after a restart. Until then a
waiting call costs a few bytes beside its row.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, islice

from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.open_jobs import OpenJobs
from tidepool.engine.runtime.provider_batch import ProviderBatch
from tidepool.engine.runtime.unit import CHUNK, CollectedCall, UnitGroup, UnitSuspended
from tidepool.storage.purchases import Address, ProviderBatchBook
from tidepool.storage.states import batch_number_of, sequence_number_of, unit_id


class UnitSuspender:
    """Lets stories go, and brings them back."""

    def __init__(self, context: RunContext, open_jobs: OpenJobs, records: ProviderBatchBook) -> None:
        self._context = context
        self._open = open_jobs
        self._records = records
        self._stories: dict[int, UnitGroup] = {}
        """by the number of the batch"""
        self._restored: set[ProviderBatch] = set()
        """of an earlier run: this one has not replayed the units that wait for them"""
        self._replayed: set[int] = set()
        """units that wait for such a one and were replayed because of another one"""
        self._out: tuple[range, set[int]] = range(0), set()
        """of these units those that are out"""
        context.run.window.suspend = self.suspend_units

    def register(self, batch_number: int, stories: UnitGroup) -> None:
        """The units of this batch can be replayed by this group."""
        self._stories[batch_number] = stories

    # -- letting go --------------------------------------------------------------------------------------

    def suspend_units(self, stories: int) -> None:
        """Lets go of so many, where they wait for provider batches and for nothing else: of the newest, which others come
        before."""
        calls_by_unit: dict[int, list[tuple[ProviderBatch, CollectedCall]]] = defaultdict(list)
        for job in sorted(self._open.all, key=lambda job: job.since, reverse=True):
            if job.remote_id is None or job.handler is not None:
                continue
            to_suspend: list[CollectedCall] = []
            for pending in job.waiting.values():
                if batch_number_of(pending.unit_id) not in self._stories:
                    continue
                if pending.unit.asking == 1:
                    to_suspend.append(pending)
                    stories -= 1
                else:
                    calls = calls_by_unit[pending.unit_id]
                    calls.append((job, pending))
                    stories -= len(calls) == pending.unit.asking
                if stories <= 0:
                    break
            self._suspend(job, to_suspend)
            if stories <= 0:
                break
        for unit_calls in calls_by_unit.values():
            if len(unit_calls) == unit_calls[0][1].unit.asking:
                for job, pending in unit_calls:
                    self._suspend(job, [pending])

    def _suspend(self, job: ProviderBatch, calls: list[CollectedCall]) -> None:
        if not calls:
            return
        tasks = self._context.run.tasks
        for pending in calls:
            job.held += pending.reserved
            self._open.detach(job, pending.address)
            self._stories[batch_number_of(pending.unit_id)].suspend(pending.unit_number)
            tasks.release(pending.future, UnitSuspended())
        job.suspended.add(pending.unit_id for pending in calls)
        if job in self._restored:
            self._replayed.update(pending.unit_id for pending in calls)
        job.held_each = job.held / len(job.suspended)

    # -- bringing back -----------------------------------------------------------------------------------

    async def bring_back(self, job: ProviderBatch) -> None:
        """The next of those who wait for it, as soon as there is room for them."""
        await self._context.run.window.wait_urgently(self._context.run.tasks)
        units = set(islice(filter(self._can_replay, job.suspended), CHUNK))
        unknown = units - self._replayed if job in self._restored else set[int]()
        for group, checked in ((unknown, True), (units - unknown, False)):
            if group:
                self._reattach(group, checked=checked)

    def can_bring_back(self, job: ProviderBatch) -> bool:
        return not job.bringing_back and any(map(self._can_replay, job.suspended))

    def _can_replay(self, identity: int) -> bool:
        """After a restart, units come in their turn."""
        stories = self._stories.get(batch_number_of(identity))
        return stories is not None and sequence_number_of(identity) <= stories.reached

    def _reattach(self, units: set[int], *, checked: bool) -> None:
        """All that is asked by these units, whichever provider batch holds it; then their stories."""
        first, last = min(units), max(units)
        for job in self._open.all:
            if job.suspended and (suspended_units := units.intersection(job.suspended.between(first, last))):
                self._open.reattach(job, self._calls_of(job, suspended_units))
                job.suspended.discard(suspended_units)
        by_batch: dict[int, list[int]] = defaultdict(list)
        for identity in sorted(units):
            by_batch[batch_number_of(identity)].append(sequence_number_of(identity))
        for number, sequence_numbers in by_batch.items():
            if stories := self._stories.get(number):
                stories.replay_units(sequence_numbers, checked=checked)

    def _calls_of(self, job: ProviderBatch, units: set[int]) -> Iterator[tuple[Address, str]]:
        """Its calls that these units wait for."""
        calls = [call for call in self._records.calls_of(job.id) if call[0][0] in units]
        if job not in self._restored:
            return iter(calls)
        answered = self._records.answered(address for address, _ in calls)
        return (call for call in calls if call[0] not in answered)

    # -- restarts ----------------------------------------------------------------------------------------

    def add_restored(self, job: ProviderBatch) -> None:
        if job.suspended:
            self._restored.add(job)

    def is_out(self, batch_number: int, sequence_number: int) -> bool:
        """After a restart: a provider batch holds a call of the unit, which is replayed when that has results."""
        identity = unit_id(batch_number, sequence_number)
        if identity not in self._out[0]:
            looked_at = range(identity, identity + CHUNK)
            suspended = (job.suspended.between(looked_at[0], looked_at[-1]) for job in self._restored)
            self._out = looked_at, set(chain.from_iterable(suspended))
        return identity in self._out[1]

    def reattach_unit(self, identity: int) -> None:
        """After a restart, for a unit that runs by itself: loads the whole provider batch that holds its calls."""
        if batch_number_of(identity) in self._stories:
            return
        for job in [job for job in self._restored if identity in job.suspended]:
            everyone = set(job.suspended)
            self._open.reattach(job, self._calls_of(job, everyone))
            job.suspended.discard(everyone)

    def left_out(self, job: ProviderBatch) -> dict[Address, str]:
        """Its calls whose units were never replayed, when the study is over."""
        return dict(self._calls_of(job, set(job.suspended))) if job.suspended else {}

    def forget(self, job: ProviderBatch) -> None:
        """It is closed."""
        self._restored.discard(job)
