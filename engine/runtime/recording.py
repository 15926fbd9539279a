"""Makes a live call and records it: reserves money, waits for the limits, sends the request, retries temporary errors, and writes the row.

Retrying starts only after a first failure, since most calls never need it. An answer is committed under its address before its unit sees
it. A final failure is a row too, and replays as a failure. An unusable reply is paid for and counted, and logged early enough to react
to it."""

import random
import sqlite3
import time
from collections import Counter

from tidepool.engine.call import Call, Reply, prompt_hash
from tidepool.engine.errors import CallFailed, ReplayMismatch
from tidepool.engine.events import CallAnswered, CallLost, CallRetried
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, ProviderError
from tidepool.engine.providers.replies import UnusableReply, explain_unusable
from tidepool.engine.reports.blocks import money, number, span
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.context import RunContext
from tidepool.engine.runtime.retrying import retry
from tidepool.engine.runtime.services import ExpectedWaves
from tidepool.engine.runtime.unit import PendingCall
from tidepool.storage.ledger import CallRecord
from tidepool.storage.purchases import Surplus, SurplusBook
from tidepool.storage.states import IN_FLIGHT, CallStatus, FinishReason, Source
from tidepool.storage.text import storable

MOST_REFUSALS = 100
"""429 responses after which a call fails, even if others succeed: a call above a token limit never passes"""
MOST_EMPTY = 1
"""retries for an empty reply"""
LONGEST_WAIT = 60.0


class CallJournal:
    """Records the attempts of a call; this base class records nothing."""

    async def leaving(self, pending: PendingCall, worst_cost: float | None) -> None:
        """Called before the request is sent. From here it may be billed."""

    def returned(self, pending: PendingCall) -> None:
        """Called after an attempt without a reply."""

    def unusable(self, pending: PendingCall, account: Account, answer: Answer) -> None:
        """Called after an unusable reply, before the call is retried."""

    def possibly_paid(self, pending: PendingCall, account: Account, reason: str) -> None:
        """Called if no reply came, and the provider may have billed the request."""

    def retried(self, pending: PendingCall, error: ProviderError) -> None:
        """Called before a retry."""


class LiveCall:
    """Sends one call through an account; read `attempts` and `seconds` afterwards."""

    __slots__ = ("account", "attempts", "excused", "journal", "pending", "seconds")

    def __init__(self, account: Account, pending: PendingCall, journal: CallJournal) -> None:
        self.account = account
        self.pending = pending
        self.journal = journal
        self.attempts = 0
        self.excused = False
        """the last attempt failed because the provider is down, so it uses up no retry"""
        self.seconds = 0.0

    async def answer(self) -> Answer:
        """The provider's answer. Raises ProviderError; an UnusableReply if the last reply was unusable."""
        try:
            return await self._attempt()
        except ProviderError as error:
            return await self._retry(error)

    async def _attempt(self) -> Answer:
        account, pending, limiter = self.account, self.pending, self.account.limiter
        call = pending.call
        if account.budget.capped and not pending.reserved:
            pending.reserved = account.worst_cost(call) or 0.0
            await account.budget.reserve(pending.reserved)
        tokens = account.expected_tokens(call)
        if not limiter.try_enter(tokens):
            await limiter.enter(tokens)
        self.attempts += 1
        address = pending.address
        account.in_flight[address] = call.wave
        started, answered = time.monotonic(), limiter.answered
        left = started
        try:
            if not account.provider.simulated and not pending.in_flight_id:
                await self.journal.leaving(pending, account.worst_cost(call))
            if limiter.requests.per_minute:
                await limiter.departures.next(limiter.requests.per_minute)
            left = time.monotonic()  # waiting for the limits is not latency
            answer = await account.provider.complete(call, pending.seed, self.attempts)
        except ProviderError as error:
            self._came_back(error)
            self.excused = account.failed(error, call, address, started, answered)
            if account.outage.given_up:
                raise account.outage.failure() from error
            raise
        finally:
            self.seconds = time.monotonic() - left
            del account.in_flight[address]
            limiter.leave()
        limiter.succeeded()
        if account.outage.since is not None:
            account.outage.answered()
        self.excused = False
        if answer.usage_missing:
            answer = account.booked(call, answer)
        if tokens:
            limiter.correct_tokens(answer.input_tokens + answer.output_tokens - tokens)
        if answer.limits is not None:
            account.learn(answer.limits)
        if (answer.finish is not _COMPLETE or not answer.text) and not answer.usable:
            raise UnusableReply(answer)
        return answer

    def _came_back(self, error: ProviderError) -> None:
        """Records an attempt without a reply. It is no longer in flight, but may have been answered and billed."""
        if self.pending.in_flight_id:
            self.journal.returned(self.pending)
        if error.no_reply in (NoReply.TIMEOUT, NoReply.BROKEN, NoReply.LOST):
            self.journal.possibly_paid(self.pending, self.account, error.no_reply.value)

    async def _retry(self, first: ProviderError) -> Answer:
        faults = refusals = empty = 0
        pending: ProviderError | None = first
        account, first_wait = self.account, self.account.provider.backoff

        def pause_after(error: ProviderError) -> float | None:
            nonlocal faults, refusals, empty
            if error.fault not in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED):
                return None
            if error.fault is ErrorClass.RATE_LIMITED:
                refusals += 1
            elif not self.excused:
                faults += 1
            reply = error.answer if isinstance(error, UnusableReply) else None
            empty += reply is not None and reply.finish is FinishReason.EMPTY
            if faults > account.settings.retries or refusals > MOST_REFUSALS or empty > MOST_EMPTY:
                return None
            if reply is not None:
                self.journal.unusable(self.pending, account, reply)
            self.journal.retried(self.pending, error)
            if self.excused:
                return 0.0  # the limiter delays it until its provider is tried again
            seconds = error.retry_after
            if seconds is None:
                growing = min(LONGEST_WAIT, first_wait * 2.0 ** min(faults + refusals - 1, 30))
                seconds = growing + random.uniform(0, first_wait)
            return account.bounded(seconds)

        async def attempt() -> Answer:
            nonlocal pending
            if pending is not None:
                error, pending = pending, None
                raise error
            return await self._attempt()

        return await retry(attempt, (ProviderError,), pause_after)


# -- recording ---------------------------------------------------------------------------------------------------------


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
    # By position, since this is the hottest line of a run without latency.
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


def reply_from_row(row: sqlite3.Row) -> Reply:
    return Reply(
        row["text"],
        row["input_tokens"],
        row["output_tokens"],
        row["cost_usd"],
        row["seconds"],
        row["source"],
        row["finish_reason"],
        row["served_model"],
    )


def replay_mismatch(number: int, step: str) -> ReplayMismatch:
    return ReplayMismatch(
        f"Unit {number} now sends another request at {step!r} than the stored one. The batch was made by another "
        "version of Tidepool, or its file was changed. Run the config again instead of resuming."
    )


FEW = 0.03
"""share of truncated replies without a warning"""
LEAST = 2
"""minimum number of truncated replies for a warning"""


class ReplyWatch:
    """Warns once for each kind of problem and model; the batch's counters have the rest."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._cut: Counter[tuple[str, str]] = Counter()
        self._warned: set[tuple[str, str]] = set()

    def odd(self, call: Call, answer: Answer) -> None:
        """Checks a reply that is truncated or unusable, or whose usage is implausible."""
        if answer.usage_missing:
            words = "has no plausible token counts. Such replies count with their maximum cost"
            self._warn_once(call, "usage", f"A reply of {call.model} {words}.")
        if answer.usable and answer.finish is FinishReason.CUT:
            self._count_cut(call)
        elif not answer.usable:
            words = f"A reply of {call.model} is unusable ({explain_unusable(answer)}). It is paid for, and its request counts as missing."
            self._warn_once(call, str(answer.finish), words)

    def _count_cut(self, call: Call) -> None:
        kind = (call.model, call.form_name)
        self._cut[kind] += 1
        cut, calls = self._cut[kind], self._context.ledger.tally.by_model[call.model]
        if cut >= LEAST and cut > FEW * calls:
            form = f" to a request for a {call.form_name}" if call.form_name else ""
            words = f"{cut:,} of {calls:,} replies of {call.model}{form} reached their length limit of {call.max_tokens:,} tokens"
            advice = "Raise max_tokens, or max_reasoning_tokens if the model reasons"
            self._warn_once(call, f"cut {call.form_name}", f"{words}, so they are incomplete. {advice}.")

    def _warn_once(self, call: Call, what: str, words: str) -> None:
        if (call.model, what) not in self._warned:
            self._warned.add((call.model, what))
            self._context.log("warning", words)


# Looked up once: on Python 3.11, each access of a member costs a call, and these lines are the hottest. The value
# for a comparison with a row is plain text, like the row's.
_LIVE, _REPLAY, _CACHE = Source.LIVE, Source.REPLAY, Source.CACHE
_FAILED = CallStatus.FAILED.value
_COMPLETE = FinishReason.COMPLETE

LONGEST_ERROR = 2_000
"""characters of an error that are stored with its call, since a plugin's error may have any length"""


class CallRecorder(CallJournal):
    """Writes the results of calls, and notifies the listener."""

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
        """Commits an answer from any source."""
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
        """Queues an answer's row. The unit may see the reply once the writer has committed."""
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
            answer.finish,
            answer.served_model,
        )

    def give(self, pending: PendingCall, answer: Answer) -> Reply:
        """Queues the row of an answer without a request. The unit may see it before the commit, since it is given again
        after a kill."""
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
        """Commits a final failure. Returns the exception for the caller to raise. `reply` is an unusable reply that was paid for."""
        error = storable(error)[:LONGEST_ERROR]
        self._context.accounts[pending.call.provider].errors.note(kind, pending.call.model, error, lost=True)
        if pending.in_flight_id:
            self.returned(pending)
        if reply is not None:
            reply = reply._replace(text=storable(reply.text), thought=reply.thought and storable(reply.thought))
            self._watch.odd(pending.call, reply)
        came = reply or Answer("", cost_usd=0.0, finish=None)
        source = Source.BATCH if order_id else Source.LIVE
        row = answered_row(pending, came, came.text, 0.0, attempts, source, order_id)
        row = row._replace(status=_FAILED, error=error, truth=None)
        self._ledger.enter(row, pending.call.system, pending.asked_at)
        await self._ledger.writer.committed()
        self._context.emit(CallLost(pending.unit_number, pending.call.step, pending.call.wave, error))
        return CallFailed(error)

    def replay(self, unit_number: int, call: Call, key: bytes, row: sqlite3.Row) -> Reply:
        """The stored result at a call's address, if it is the same call."""
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
        """Records that a live call is sent. From now on it may be billed, even if this process dies."""
        call = pending.call
        about = Surplus(call.provider, pending.address, "", 0, 0, worst_cost, IN_FLIGHT)
        pending.in_flight_id = self._surplus.leaving(about)
        await self._ledger.writer.committed()

    def returned(self, pending: PendingCall) -> None:
        """Records that the call is no longer in flight."""
        self._surplus.arrived(pending.in_flight_id)
        pending.in_flight_id = 0

    def unusable(self, pending: PendingCall, account: Account, answer: Answer, order_id: str | None = None) -> None:
        """Records an unusable reply of a call that is retried; the reply is paid for."""
        self._watch.odd(pending.call, answer)
        self._paid(pending, account, answer, str(answer.finish), order_id)

    def possibly_paid(self, pending: PendingCall, account: Account, reason: str, order_id: str | None = None) -> None:
        """Records an attempt without a reply that the provider may have billed."""
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


# -- the log of waves and runs ------------------------------------------------------------------------------------------


class PerformanceLog:
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._since = time.monotonic()
        self._before = context.ledger.tally.so_far()

    def write(self, scope: str) -> None:
        """Logs the performance since the last line."""
        before, since = self._before, self._since
        now = self._before = self._context.ledger.tally.so_far()
        self._since = time.monotonic()
        seconds = max(1e-9, self._since - since)
        calls, live = now.calls - before.calls, now.call_seconds - before.call_seconds
        cached, bought = now.cached - before.cached, now.bought - before.bought
        tokens = now.input_tokens + now.output_tokens - before.input_tokens - before.output_tokens
        peak = sum(account.limiter.peak for account in self._context.accounts.values())
        figures = [
            f"{span(seconds)}",
            f"{calls:,} requests ({number(calls / seconds, 1)}/s)",
            f"{number(live / seconds, 1)} in flight on average, peak {peak:,}",
            *([f"mean latency {span(live / bought)}"] if live and bought else []),
            f"{cached:,} from the cache ({100 * cached / calls if calls else 0:.0f} %)",
            f"{now.retried - before.retried:,} retried",
            f"{now.failed - before.failed:,} failed",
            f"{tokens:,} tokens ({tokens / seconds:,.0f}/s)",
            money(None if now.unpriced > before.unpriced else now.cost_usd - before.cost_usd),
        ]
        self._context.log("info", f"Performance of {scope}: {', '.join(figures)}.")


EVERY_WAVE = 20
"""waves of a run that are all logged; later, the 32nd, the 64th and so on, since a run may have 100,000"""


class WaveLog:
    """Logs the start and the end of each wave: requests, seconds, and the mean per message.

    A wave ends with the last request that the study expects in it. If that number is unknown, it ends when the next wave
    starts. All open waves end with the run.
    """

    def __init__(self, context: RunContext, expected: ExpectedWaves) -> None:
        self._context = context
        self._expected = expected
        self.started: set[int] = set()
        self._open: set[int] = set()
        context.ledger.tally.on_wave = self._recorded

    def start(self, wave: int) -> None:
        """Records the first request of a wave in this run."""
        self.started.add(wave)
        for earlier in sorted(self._open):
            if self._expected.calls_in(earlier) is None and earlier < wave:
                self._end(earlier)
        number = len(self.started)
        if number <= EVERY_WAVE or not number & (number - 1):
            self._open.add(wave)
            calls = self._expected.calls_in(wave)
            planned = "" if calls is None else f": {calls:,} request{'s' * (calls != 1)} planned"
            self._context.log("info", f"Wave {wave:,} started{planned}.")

    def close(self) -> None:
        for wave in sorted(self._open):
            self._end(wave)

    def _recorded(self, wave: int, calls: int) -> None:
        if wave in self._open and (expected := self._expected.calls_in(wave)) is not None and calls >= expected:
            try:
                self._end(wave)
            except Exception as error:  # raised by a listener; the writer calls this and must continue
                self._context.fail(error)

    def _end(self, wave: int) -> None:
        self._open.discard(wave)
        calls, failed, seconds = self._context.ledger.tally.wave_figures(wave)
        mean = f", {span(seconds / calls)} per message" if calls else ""
        failures = f", {failed:,} lost" if failed else ""
        requests = f"{calls:,} request{'s' * (calls != 1)}"
        self._context.log("info", f"Wave {wave:,} ended: {requests} in {span(seconds)}{mean}{failures}.")
