"""A live call: a place within the limits, the provider, and retries for what can heal.

Retrying is tenacity's, entered only after a first failure: most calls never need it.
"""

import time
from collections.abc import Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential_jitter

from tidepool.engine.call import Call
from tidepool.engine.core.accounts import Account
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError

MOST_REFUSALS = 100
"""a call that was refused (429) this often fails: a limit that never opens is no limit but a fault"""
LONGEST_WAIT = 60.0


class LiveCall:
    """One call's way through an account; `attempts` and `seconds` are read afterwards."""

    __slots__ = ("account", "address", "attempts", "call", "on_retry", "seconds", "seed")

    def __init__(
        self,
        account: Account,
        call: Call,
        seed: int,
        address: tuple[int, str],
        on_retry: Callable[[ProviderError], None],
    ) -> None:
        self.account = account
        self.address = address
        self.call = call
        self.seed = seed
        self.on_retry = on_retry
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
        account.in_flight[self.address] = self.call.wave
        started = time.monotonic()
        try:
            answer = await account.provider.complete(self.call, self.seed, self.attempts)
        except ProviderError as error:
            if error.fault is ErrorClass.REFUSED:
                limiter.refused(started, error.retry_after)
            elif error.fault is ErrorClass.HEALS:
                limiter.faulted(time.monotonic() - started)
            raise
        finally:
            self.seconds = time.monotonic() - started
            del account.in_flight[self.address]
            limiter.leave()
        limiter.succeeded()
        if tokens:
            limiter.correct_tokens(answer.input_tokens + answer.output_tokens - tokens)
        if answer.limits is not None:
            account.learn(answer.limits)
        return answer

    async def _retry(self, first: ProviderError) -> Answer:
        faults = refusals = 0
        pending: ProviderError | None = first
        first_wait = self.account.provider.backoff
        backoff = wait_exponential_jitter(multiplier=first_wait, max=LONGEST_WAIT, jitter=first_wait)

        def given_up(state: RetryCallState) -> bool:
            nonlocal faults, refusals
            error = _error_of(state)
            if error.fault is ErrorClass.REFUSED:
                refusals += 1
            else:
                faults += 1
            if faults > self.account.settings.retries or refusals > MOST_REFUSALS:
                return True
            self.on_retry(error)
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
    return isinstance(error, ProviderError) and error.fault in (ErrorClass.HEALS, ErrorClass.REFUSED)
