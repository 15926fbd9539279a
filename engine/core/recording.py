"""Answers and losses on their way into the ledger, and back out of it on a replay.

An answer is committed under its address before its story sees it; a final failure is a row too, and replays as one.
"""

import sqlite3

from tidepool.engine.call import Call, Reply
from tidepool.engine.core.call_rows import answered, lost, mismatch, reply_of
from tidepool.engine.core.context import RunContext
from tidepool.engine.core.pending import Pending
from tidepool.engine.errors import CallFailed
from tidepool.engine.events import CallAnswered, CallLost, CallRetried
from tidepool.engine.providers.protocol import Answer, ProviderError
from tidepool.storage.states import CallStatus, Source
from tidepool.storage.text import storable

# Looked up once: on Python 3.11 a member costs a call each time it is named, and these lines are the hottest. What is
# compared with a row is a plain text, as the row's is.
_LIVE, _REPLAY = Source.LIVE, Source.REPLAY
_FAILED = CallStatus.FAILED.value


class CallRecorder:
    """Writes what calls came to, and tells the listener."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._ledger = context.ledger

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
        entry = answered(pending, answer, text, seconds, attempts, source, order_id)
        self._ledger.enter(entry, pending.asked_at)
        return Reply(text, answer.input_tokens, answer.output_tokens, answer.cost_usd, seconds, source)

    def told(self, pending: Pending, reply: Reply) -> Reply:
        if (listener := self._context.listener) is not None:
            call = pending.call
            listener(CallAnswered(pending.unit_number, call.step, call.wave, reply.source, reply.cost_usd))
        return reply

    async def record_failure(
        self, pending: Pending, error: str, attempts: int, order_id: str | None = None
    ) -> CallFailed:
        """Commits a final failure; what it returns is the caller's to raise."""
        error = storable(error)
        self._ledger.enter(lost(pending, error, attempts, order_id), pending.asked_at)
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
        self._ledger.tally.replayed()
        if (listener := self._context.listener) is not None:
            listener(CallAnswered(unit_number, call.step, call.wave, _REPLAY, 0.0))
        return reply_of(row)

    def retried(self, pending: Pending, error: ProviderError) -> None:
        self._ledger.tally.retried()
        self._context.emit(CallRetried(pending.unit_number, pending.call.step, str(error)))
