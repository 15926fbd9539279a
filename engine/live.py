"""A live call: a place within the limits, the provider, and retries for what can heal.

Retrying is tenacity's, entered only after a first failure: most calls never need it.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential_jitter

from engine.accounts import Account
from engine.providers.provider import Answer, Fault, ProviderError

if TYPE_CHECKING:
    from engine.tide import Pending

MOST_REFUSALS = 100
"""a call that was refused (429) this often fails: a limit that never opens is no limit but a fault"""
LONGEST_WAIT = 60.0


class LiveCall:
    """One call's way through an account; `attempts` and `seconds` are read afterwards."""

    __slots__ = ("_on_retry", "_pending", "account", "attempts", "call", "seconds")

    def __init__(
        self, account: Account, pending: "Pending", on_retry: "Callable[[Pending, ProviderError], None]"
    ) -> None:
        self.account = account
        self.call = pending.call
        self._pending = pending
        self._on_retry = on_retry
        self.attempts = 0
        self.seconds = 0.0

    async def answer(self) -> Answer:
        try:
            return await self._attempt()
        except ProviderError as error:
            if not _can_heal(error):
                raise
            return await self._retry(error)

    async def _attempt(self) -> Answer:
        account, limiter = self.account, self.account.limiter
        tokens = account.expected_tokens(self.call)
        if not limiter.try_enter(tokens):
            await limiter.enter(tokens)
        self.attempts += 1
        address = (self._pending.unit.number, self.call.step)
        account.in_flight[address] = self.call.wave
        started = time.monotonic()
        try:
            answer = await account.provider.complete(self.call, self._pending.seed, self.attempts)
        except ProviderError as error:
            if error.fault is Fault.REFUSED:
                limiter.refused(started, error.retry_after)
            elif error.fault is Fault.HEALS:
                limiter.faulted(time.monotonic() - started)
            raise
        finally:
            self.seconds = time.monotonic() - started
            del account.in_flight[address]
            limiter.leave()
        limiter.succeeded()
        if tokens:
            limiter.tokens.correct(answer.input_tokens + answer.output_tokens - tokens)
        if answer.limits is not None:
            account.learn(answer.limits)
        return answer

    async def _retry(self, first: ProviderError) -> Answer:
        faults = refusals = 0
        pending: ProviderError | None = first
        backoff = wait_exponential_jitter(initial=self.account.provider.backoff, max=LONGEST_WAIT)

        def given_up(state: RetryCallState) -> bool:
            nonlocal faults, refusals
            error = _error_of(state)
            if error.fault is Fault.REFUSED:
                refusals += 1
            else:
                faults += 1
            if faults > self.account.settings.retries or refusals > MOST_REFUSALS:
                return True
            self._on_retry(self._pending, error)
            return False

        def wait(state: RetryCallState) -> float:
            error = _error_of(state)
            return backoff(state) if error.retry_after is None else error.retry_after

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
    return isinstance(error, ProviderError) and error.fault in (Fault.HEALS, Fault.REFUSED)
