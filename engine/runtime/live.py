"""A live call: money set aside, a place within the limits, the provider, and retries for what can heal.

Retrying is tenacity's, entered only after a first failure: most calls never need it. A reply that is no answer is paid
for and counted, whatever becomes of its call.
"""

import random
import time
from typing import Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, ProviderError
from tidepool.engine.providers.replies import UnusableReply
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.unit import PendingCall
from tidepool.storage.states import FinishReason

MOST_REFUSALS = 100
"""429s after which a call fails, even while others succeed: one that is larger than a token limit never passes"""
MOST_EMPTY = 1
"""how often a model that said nothing is asked once more"""
LONGEST_WAIT = 60.0
_COMPLETE = FinishReason.COMPLETE


class CallJournal(Protocol):
    """Where the attempts of a call are written."""

    async def leaving(self, pending: PendingCall, worst_cost: float | None) -> None:
        """The call is about to leave, and may be charged from now on."""

    def returned(self, pending: PendingCall) -> None:
        """It came back without a reply."""

    def unusable(self, pending: PendingCall, account: Account, answer: Answer) -> None:
        """A reply came that is no answer, and the call is asked again."""

    def possibly_paid(self, pending: PendingCall, account: Account, reason: str) -> None:
        """No reply came, and the provider may have charged for it all the same."""

    def retried(self, pending: PendingCall, error: ProviderError) -> None: ...


class LiveCall:
    """One call's way through an account; `attempts` and `seconds` are read afterwards."""

    __slots__ = ("account", "attempts", "excused", "journal", "pending", "seconds")

    def __init__(self, account: Account, pending: PendingCall, journal: CallJournal) -> None:
        self.account = account
        self.pending = pending
        self.journal = journal
        self.attempts = 0
        self.excused = False
        """the last attempt failed because the provider is down: no retry is used up"""
        self.seconds = 0.0

    async def answer(self) -> Answer:
        """Raises ProviderError; an UnusableReply where the last thing that came is no answer."""
        try:
            return await self._attempt()
        except ProviderError as error:
            if not _can_heal(error):
                raise
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
            left = time.monotonic()  # waiting for its turn is no latency
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
        """Without a reply: it is under way no longer, but may have been answered, and charged, where nobody heard it."""
        if self.pending.in_flight_id:
            self.journal.returned(self.pending)
        if error.no_reply in (NoReply.TIMEOUT, NoReply.BROKEN, NoReply.LOST):
            self.journal.possibly_paid(self.pending, self.account, error.no_reply.value)

    async def _retry(self, first: ProviderError) -> Answer:
        faults = refusals = empty = 0
        pending: ProviderError | None = first
        account, first_wait = self.account, self.account.provider.backoff

        def given_up(state: RetryCallState) -> bool:
            nonlocal faults, refusals, empty
            error = _error_of(state)
            if error.fault is ErrorClass.RATE_LIMITED:
                refusals += 1
            elif not self.excused:
                faults += 1
            reply = error.answer if isinstance(error, UnusableReply) else None
            empty += reply is not None and reply.finish is FinishReason.EMPTY
            if faults > account.settings.retries or refusals > MOST_REFUSALS or empty > MOST_EMPTY:
                return True
            if reply is not None:
                self.journal.unusable(self.pending, account, reply)
            self.journal.retried(self.pending, error)
            return False

        def wait(state: RetryCallState) -> float:
            if self.excused:
                return 0.0  # the limiter holds it back until its provider is tried again
            seconds = _error_of(state).retry_after
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

        retrying = AsyncRetrying(stop=given_up, wait=wait, retry=retry_if_exception(_can_heal), reraise=True)
        return await retrying(attempt)


def _error_of(state: RetryCallState) -> ProviderError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, ProviderError)
    return error


def _can_heal(error: BaseException) -> bool:
    return isinstance(error, ProviderError) and error.fault in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED)
