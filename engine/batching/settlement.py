"""What the results of a provider batch come to for each call: an answer, a failure, or being asked again; and the money.

What a provider may have charged for counts as bought: replies that are no answers, and calls whose results cannot be
read. Those that it says it did not do are free.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from tidepool.engine.batching.open_jobs import LOST, OpenJobs
from tidepool.engine.batching.provider_batch import Fate, ProviderBatch, fate_of
from tidepool.engine.call import Reply
from tidepool.engine.core.context import RunContext
from tidepool.engine.core.live import MOST_EMPTY
from tidepool.engine.core.pending import Gathered
from tidepool.engine.core.recording import CallRecorder
from tidepool.engine.errors import CallFailed
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.providers.replies import words_of
from tidepool.storage.purchases import Address
from tidepool.storage.states import FinishReason, Source, batch_number_of

UNREADABLE = "unreadable"
"""the reason of a surplus: the provider was done with it, and its result cannot be read"""


class Settlement:
    """Judges results one by one, and books them."""

    def __init__(
        self,
        context: RunContext,
        recorders: Mapping[int, CallRecorder],
        open_jobs: OpenJobs,
        returned: Counter[Address],
    ) -> None:
        self._context = context
        self._recorders = recorders
        """by the number of the batch"""
        self._open = open_jobs
        self._returned = returned
        self._unusable: Counter[Address] = Counter()

    def _recorder(self, pending: Gathered) -> CallRecorder:
        """Of the batch whose call it is."""
        return self._recorders[batch_number_of(pending.unit_id)]

    def fate(self, job: ProviderBatch, pending: Gathered) -> Fate:
        """A reply that is no answer and may become one is paid for, and its call is open again: an empty one once, one
        that was broken off as often as a server's fault."""
        assert job.results is not None
        result, address = job.results.get(pending.key.hex()), pending.address
        fate = fate_of(result)
        if fate is not Fate.OPEN or address in job.booked:
            return fate
        account = self._context.accounts[job.provider]
        if result is None:
            if job.unread:
                self._recorder(pending).possibly_paid(pending, account, UNREADABLE, job.id)
        elif result.answer is not None:
            self._unusable[address] += 1
            most = MOST_EMPTY if result.answer.finish is FinishReason.EMPTY else account.settings.retries
            if self._unusable[address] > most:
                return Fate.FAILED
            self._recorder(pending).unusable(pending, account, self._booked(job, pending, result.answer), job.id)
        return fate

    def book_lost(self, job: ProviderBatch, pendings: Iterable[Gathered]) -> None:
        """It existed, and nothing of it comes back: its calls may be charged all the same."""
        for pending in pendings:
            self._recorder(pending).possibly_paid(pending, self._context.accounts[job.provider], LOST, job.id)

    async def record(self, job: ProviderBatch, pending: Gathered) -> Reply | CallFailed:
        assert job.results is not None
        result = job.results[pending.key.hex()]
        attempts = 1 + self._returned.get(pending.address, 0)
        answer = None if result.answer is None else self._booked(job, pending, result.answer)
        self._open.budget_of(job).settle(pending.reserved, (answer.cost_usd if answer is not None else None) or 0.0)
        if answer is None or not answer.usable:
            kind, words = "unusable reply", words_of(answer) if answer is not None else ""
            if answer is None:
                kind, words = "rejected request", result.error or "no answer"
            return await self._recorder(pending).record_failure(pending, kind, words, attempts, job.id, answer)
        return await self._recorder(pending).record(
            pending, answer, seconds=job.age, source=Source.BATCH, attempts=attempts, order_id=job.id
        )

    def _booked(self, job: ProviderBatch, pending: Gathered, answer: Answer) -> Answer:
        account = self._context.accounts[job.provider]
        return account.booked(pending.call, answer, batch=True) if answer.usage_missing else answer
