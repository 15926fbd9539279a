"""Answers and losses on their way into the ledger, and back out of it on a replay.

An answer is committed under its address before its story sees it; a final failure is a row too, and replays as one.
"""

import sqlite3

from tidepool.engine.call import Call, Reply
from tidepool.engine.core.accounts import Account
from tidepool.engine.core.call_rows import answered, lost, mismatch, reply_of
from tidepool.engine.core.context import RunContext
from tidepool.engine.core.pending import Pending
from tidepool.engine.core.reply_watch import ReplyWatch
from tidepool.engine.errors import CallFailed
from tidepool.engine.events import CallAnswered, CallLost, CallRetried
from tidepool.engine.providers.protocol import Answer, ProviderError
from tidepool.storage.purchases import Surplus, SurplusBook
from tidepool.storage.states import UNDER_WAY, CallStatus, FinishReason, Source
from tidepool.storage.text import storable

# Looked up once: on Python 3.11 a member costs a call each time it is named, and these lines are the hottest. What is
# compared with a row is a plain text, as the row's is.
_LIVE, _REPLAY, _CACHE = Source.LIVE, Source.REPLAY, Source.CACHE
_FAILED = CallStatus.FAILED.value
_COMPLETE = FinishReason.COMPLETE

LONGEST_ERROR = 2_000
"""characters of an error that are stored with its call: a plugin's may have any length"""


class CallRecorder:
    """Writes what calls came to, and tells the listener."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._ledger = context.ledger
        self._surplus = SurplusBook(context.ledger)
        self._watch = ReplyWatch(context)
        self._seals = context.run.seals

    async def record(
        self,
        pending: Pending,
        answer: Answer,
        *,
        seconds: float,
        attempts: int,
        source: Source,
        order_id: str | None = None,
    ) -> Reply:
        """Commits an answer, whatever way it came."""
        reply = self.enter(pending, answer, seconds, attempts, source, order_id)
        await self._ledger.writer.committed()
        return self.told(pending, reply)

    def enter(
        self,
        pending: Pending,
        answer: Answer,
        seconds: float,
        attempts: int,
        source: Source = _LIVE,
        order_id: str | None = None,
    ) -> Reply:
        """Queues an answer's row; its story may see the reply once the writer has committed."""
        text = storable(answer.text)
        if pending.under_way:
            self.returned(pending)
        seal = None if self._seals is None else self._seals.received(pending.key, text)
        entry = answered(pending, answer, text, seconds, attempts, source, order_id, seal)
        self._ledger.enter(entry, pending.asked_at)
        if answer.finish is not _COMPLETE or answer.usage_missing:
            self._watch.odd(pending.call, answer)
        return Reply(
            text,
            answer.input_tokens,
            answer.output_tokens,
            answer.cost_usd,
            seconds,
            source,
            None,
            answer.finish,
            answer.served_model,
        )

    def give(self, pending: Pending, answer: Answer) -> Reply:
        """Queues the row of an answer that nobody was asked for. It need not be committed before its story sees it: after a
        kill it is given again."""
        self._ledger.enter(answered(pending, answer, answer.text, 0.0, 0, _CACHE, None), 0.0, counted=False)
        return Reply(answer.text, source=_CACHE, finish_reason=answer.finish, served_model=answer.served_model)

    def told(self, pending: Pending, reply: Reply) -> Reply:
        if (listener := self._context.listener) is not None:
            call = pending.call
            listener(CallAnswered(pending.unit_number, call.step, call.wave, reply.source, reply.cost_usd))
        return reply

    async def record_failure(
        self,
        pending: Pending,
        kind: str,
        error: str,
        attempts: int,
        order_id: str | None = None,
        reply: Answer | None = None,
    ) -> CallFailed:
        """Commits a final failure; what it returns is the caller's to raise. `reply` came, and is no answer."""
        error = storable(error)[:LONGEST_ERROR]
        self._context.accounts[pending.call.provider].errors.note(kind, pending.call.model, error, lost=True)
        if pending.under_way:
            self.returned(pending)
        if reply is not None:
            reply = reply._replace(text=storable(reply.text), thought=reply.thought and storable(reply.thought))
            self._watch.odd(pending.call, reply)
        self._ledger.enter(lost(pending, error, attempts, order_id, reply), pending.asked_at)
        await self._ledger.writer.committed()
        self._context.emit(CallLost(pending.unit_number, pending.call.step, pending.call.wave, error))
        return CallFailed(error)

    def replay(self, unit_number: int, call: Call, key: bytes, row: sqlite3.Row) -> Reply:
        """What the ledger holds at a call's address, where it is the same call."""
        if row["key"] != key:
            raise mismatch(unit_number, call.step)
        if row["status"] == _FAILED:
            self._context.emit(CallLost(unit_number, call.step, call.wave, row["error"]))
            raise CallFailed(row["error"])
        if self._seals is not None:
            self._seals.admits(key, row["text"], row["seal"])
        self._ledger.tally.replayed()
        if (listener := self._context.listener) is not None:
            listener(CallAnswered(unit_number, call.step, call.wave, _REPLAY, 0.0))
        return reply_of(row)

    async def leaving(self, pending: Pending, worst_cost: float | None) -> None:
        """A live call leaves: from now on it may be charged, whatever becomes of this process."""
        call = pending.call
        about = Surplus(call.provider, pending.address, "", 0, 0, worst_cost, UNDER_WAY)
        pending.under_way = self._surplus.leaving(about)
        await self._ledger.writer.committed()

    def returned(self, pending: Pending) -> None:
        """It is under way no longer."""
        self._surplus.arrived(pending.under_way)
        pending.under_way = 0

    def unusable(self, pending: Pending, account: Account, answer: Answer, order_id: str | None = None) -> None:
        """A reply that is no answer, of a call that is asked once more: it is paid for."""
        self._watch.odd(pending.call, answer)
        self._paid(pending, account, answer, str(answer.finish), order_id)

    def possibly_paid(self, pending: Pending, account: Account, reason: str, order_id: str | None = None) -> None:
        """An attempt that no reply came to, and that the provider may have charged for all the same."""
        nothing = Answer("", usage_missing=True)
        answer = account.booked(pending.call, nothing, batch=order_id is not None)
        self._paid(pending, account, answer, reason, order_id)

    def _paid(
        self, pending: Pending, account: Account, answer: Answer, reason: str, order_id: str | None = None
    ) -> None:
        figures = (answer.input_tokens, answer.output_tokens, answer.cost_usd)
        surplus = Surplus(order_id or pending.call.provider, pending.address, storable(answer.text), *figures, reason)
        self._surplus.add(surplus, usage_missing=answer.usage_missing)
        account.budget.settle(pending.reserved, answer.cost_usd or 0.0)
        pending.reserved = 0.0

    def retried(self, pending: Pending, error: ProviderError) -> None:
        self._ledger.tally.retried()
        self._context.emit(CallRetried(pending.unit_number, pending.call.step, str(error)))
