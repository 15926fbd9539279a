"""Writes answers and losses into the ledger, and reads them back on a replay.

An answer is committed under its address before its unit sees it; a final failure is a row too, and replays as one.
Replies that are not what a study hopes for are logged while something can still be done about it.
"""

import sqlite3
import time
from collections import Counter

from tidepool.engine.call import Call, Reply, prompt_hash
from tidepool.engine.errors import CallFailed, ReplayMismatch
from tidepool.engine.events import CallAnswered, CallLost, CallRetried
from tidepool.engine.providers.protocol import Answer, ProviderError
from tidepool.engine.providers.replies import explain_unusable
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.unit import PendingCall
from tidepool.storage.ledger import CallRecord
from tidepool.storage.purchases import Surplus, SurplusBook
from tidepool.storage.states import IN_FLIGHT, CallStatus, FinishReason, Source
from tidepool.storage.text import storable

_ANSWERED = CallStatus.ANSWERED.value


def answered_row(
    pending: PendingCall,
    answer: Answer,
    text: str,
    seconds: float,
    attempts: int,
    source: Source,
    order_id: str | None,
    seal: bytes | None = None,
) -> CallRecord:
    call = pending.call
    # By position: this is the hottest line of a run without latency.
    return CallRecord(
        pending.unit_id,
        call.step,
        call.wave,
        call.turn,
        call.speaker,
        call.model,
        pending.key,
        prompt_hash(call.system) if call.system else None,
        _ANSWERED,
        text,
        answer.truth,
        answer.input_tokens,
        answer.output_tokens,
        answer.cost_usd,
        seconds,
        source._value_,
        attempts,
        None,
        order_id,
        time.time(),
        None if answer.finish is None else answer.finish._value_,
        answer.served_model,
        answer.thought,
        answer.reasoning_tokens,
        answer.usage_missing,
        seal,
    )


def failed_row(
    pending: PendingCall, error: str, attempts: int, order_id: str | None, reply: Answer | None
) -> CallRecord:
    """A final failure; `reply` is what came and is no answer, and was paid for all the same."""
    came = reply or Answer("", cost_usd=0.0, finish=None)
    source = Source.BATCH if order_id else Source.LIVE
    row = answered_row(pending, came, came.text, 0.0, attempts, source, order_id)
    return row._replace(status=_FAILED, error=error, truth=None)


def reply_from_row(row: sqlite3.Row) -> Reply:
    return Reply(
        row["text"],
        row["input_tokens"],
        row["output_tokens"],
        row["cost_usd"],
        row["seconds"],
        row["source"],
        None,
        row["finish_reason"],
        row["served_model"],
    )


def replay_mismatch(number: int, step: str) -> ReplayMismatch:
    return ReplayMismatch(
        f"Unit {number} now asks something else at {step!r} than what was bought there. The batch was made by another "
        "version of Tidepool or its file was changed; run it anew instead of resuming."
    )


FEW = 0.03
"""share of replies that may be cut without a word"""
LEAST = 2
"""cut replies before a share is one"""


class ReplyWatch:
    """Tells each kind of trouble once for each model; the batch's counters keep the rest."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._cut: Counter[tuple[str, str]] = Counter()
        self._warned: set[tuple[str, str]] = set()

    def odd(self, call: Call, answer: Answer) -> None:
        """A reply that is cut or no answer, or whose usage cannot be believed."""
        if answer.usage_missing:
            words = "came without believable usage: such replies are counted at the most that they can have cost"
            self._warn_once(call, "usage", f"A reply of {call.model} {words}.")
        if answer.usable and answer.finish is FinishReason.CUT:
            self._count_cut(call)
        elif not answer.usable:
            words = f"A reply of {call.model} is no answer ({explain_unusable(answer)}): it is paid for, and its call is missing."
            self._warn_once(call, str(answer.finish), words)

    def _count_cut(self, call: Call) -> None:
        kind = (call.model, call.form)
        self._cut[kind] += 1
        cut, calls = self._cut[kind], self._context.ledger.tally.by_model[call.model]
        if cut >= LEAST and cut > FEW * calls:
            replies = f"{cut:,} of {calls:,} replies of {call.model}"
            limit = f"reached their length limit of {call.max_tokens:,} tokens"
            if call.form and call.form != "query":  # no study sets their limit
                words = f"{replies}, asked for a {call.form}, {limit}: where it came too late, it is missing"
                advice = "choose a model that is brief, or raise max_reasoning_tokens where it reasons"
            else:
                words = f"{replies} {limit}, so what they say is incomplete"
                advice = "raise max_tokens, or max_reasoning_tokens where the model reasons"
            self._warn_once(call, f"cut {call.form}", f"{words}: {advice}.")

    def _warn_once(self, call: Call, what: str, words: str) -> None:
        if (call.model, what) not in self._warned:
            self._warned.add((call.model, what))
            self._context.log("warning", words)


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
        pending: PendingCall,
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
        return self.announce(pending, reply)

    def enter(
        self,
        pending: PendingCall,
        answer: Answer,
        seconds: float,
        attempts: int,
        source: Source = _LIVE,
        order_id: str | None = None,
    ) -> Reply:
        """Queues an answer's row; its story may see the reply once the writer has committed."""
        text = storable(answer.text)
        if pending.in_flight_id:
            self.returned(pending)
        seal = None if self._seals is None else self._seals.received(pending.key, text)
        entry = answered_row(pending, answer, text, seconds, attempts, source, order_id, seal)
        self._ledger.enter(entry, pending.call.system, pending.asked_at)
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

    def give(self, pending: PendingCall, answer: Answer) -> Reply:
        """Queues the row of an answer that nobody was asked for. It need not be committed before its story sees it: after a
        kill it is given again."""
        row = answered_row(pending, answer, answer.text, 0.0, 0, _CACHE, None)
        self._ledger.enter(row, pending.call.system, 0.0, counted=False)
        return Reply(answer.text, source=_CACHE, finish_reason=answer.finish, served_model=answer.served_model)

    def announce(self, pending: PendingCall, reply: Reply) -> Reply:
        if (listener := self._context.listener) is not None:
            call = pending.call
            listener(CallAnswered(pending.unit_number, call.step, call.wave, reply.source, reply.cost_usd))
        return reply

    async def record_failure(
        self,
        pending: PendingCall,
        kind: str,
        error: str,
        attempts: int,
        order_id: str | None = None,
        reply: Answer | None = None,
    ) -> CallFailed:
        """Commits a final failure; what it returns is the caller's to raise. `reply` came, and is no answer."""
        error = storable(error)[:LONGEST_ERROR]
        self._context.accounts[pending.call.provider].errors.note(kind, pending.call.model, error, lost=True)
        if pending.in_flight_id:
            self.returned(pending)
        if reply is not None:
            reply = reply._replace(text=storable(reply.text), thought=reply.thought and storable(reply.thought))
            self._watch.odd(pending.call, reply)
        row = failed_row(pending, error, attempts, order_id, reply)
        self._ledger.enter(row, pending.call.system, pending.asked_at)
        await self._ledger.writer.committed()
        self._context.emit(CallLost(pending.unit_number, pending.call.step, pending.call.wave, error))
        return CallFailed(error)

    def replay(self, unit_number: int, call: Call, key: bytes, row: sqlite3.Row) -> Reply:
        """What the ledger holds at a call's address, where it is the same call."""
        if row["key"] != key:
            raise replay_mismatch(unit_number, call.step)
        if row["status"] == _FAILED:
            self._context.emit(CallLost(unit_number, call.step, call.wave, row["error"]))
            raise CallFailed(row["error"])
        if self._seals is not None:
            self._seals.admits(key, row["text"], row["seal"])
        self._ledger.tally.replayed()
        if (listener := self._context.listener) is not None:
            listener(CallAnswered(unit_number, call.step, call.wave, _REPLAY, 0.0))
        return reply_from_row(row)

    async def leaving(self, pending: PendingCall, worst_cost: float | None) -> None:
        """A live call leaves: from now on it may be charged, whatever becomes of this process."""
        call = pending.call
        about = Surplus(call.provider, pending.address, "", 0, 0, worst_cost, IN_FLIGHT)
        pending.in_flight_id = self._surplus.leaving(about)
        await self._ledger.writer.committed()

    def returned(self, pending: PendingCall) -> None:
        """It is under way no longer."""
        self._surplus.arrived(pending.in_flight_id)
        pending.in_flight_id = 0

    def unusable(self, pending: PendingCall, account: Account, answer: Answer, order_id: str | None = None) -> None:
        """A reply that is no answer, of a call that is asked once more: it is paid for."""
        self._watch.odd(pending.call, answer)
        self._paid(pending, account, answer, str(answer.finish), order_id)

    def possibly_paid(self, pending: PendingCall, account: Account, reason: str, order_id: str | None = None) -> None:
        """An attempt that no reply came to, and that the provider may have charged for all the same."""
        nothing = Answer("", usage_missing=True)
        answer = account.booked(pending.call, nothing, batch=order_id is not None)
        self._paid(pending, account, answer, reason, order_id)

    def _paid(
        self, pending: PendingCall, account: Account, answer: Answer, reason: str, order_id: str | None = None
    ) -> None:
        figures = (answer.input_tokens, answer.output_tokens, answer.cost_usd)
        surplus = Surplus(order_id or pending.call.provider, pending.address, storable(answer.text), *figures, reason)
        self._surplus.add(surplus, usage_missing=answer.usage_missing)
        account.budget.settle(pending.reserved, answer.cost_usd or 0.0)
        pending.reserved = 0.0

    def retried(self, pending: PendingCall, error: ProviderError) -> None:
        self._ledger.tally.retried()
        self._context.emit(CallRetried(pending.unit_number, pending.call.step, str(error)))
