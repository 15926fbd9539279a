"""Looks at a provider: they cost nothing, and are repeated as long as their faults can heal."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tidepool.engine.core.accounts import Account
from tidepool.engine.core.context import RunContext
from tidepool.engine.core.limiting.outage import LONGEST_PAUSE
from tidepool.engine.providers.protocol import ErrorClass, ProviderBatchGone, ProviderError, Silence

T = TypeVar("T")

GONE_LOOKS = 12
"""how often in a row a provider may not know a provider batch before it counts as gone"""
WORDS_EVERY = 10 * GONE_LOOKS
"""looks in vain after which that is told again"""


class Looks:
    """The looks at one account's provider batches."""

    def __init__(self, context: RunContext, account: Account) -> None:
        self._context = context
        self._account = account

    @property
    def patience(self) -> float:
        """Seconds for which a provider that answers with nothing but faults is waited for."""
        return self._account.settings.outage_patience

    async def until_seen(
        self,
        look: Callable[[], Awaitable[T]],
        *,
        longest: float = math.inf,
        meanwhile: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """Raises ProviderBatchGone where there is nothing for long, and ProviderError where a fault does not heal, or
        where the provider answered with faults alone for `longest`. Nothing is known of one that does not answer at
        all, so that is waited for without an end."""
        wait, unseen, troubled, since = self._account.provider.backoff, 0, 0, time.monotonic()
        try:
            while True:
                try:
                    return await look()
                except ProviderBatchGone:
                    unseen += 1
                    if unseen >= GONE_LOOKS:
                        raise
                    pause = wait
                except ProviderError as error:
                    if error.fault not in (ErrorClass.HEALS, ErrorClass.REFUSED):
                        raise
                    silent = error.silence in (Silence.UNREACHED, Silence.TIMEOUT)
                    since = time.monotonic() if silent else since
                    troubled += 1
                    left = since + longest - time.monotonic()
                    if left <= 0 and (longest or troubled >= GONE_LOOKS):
                        raise
                    pause = min(self._account.provider.backoff * 2.0 ** min(troubled - 1, 10), self._slowest)
                    pause = pause if error.retry_after is None else min(error.retry_after, self._slowest)
                    pause = min(pause, left) if left > 0 else pause
                    self._account.batch_failed(error, since, math.inf if silent else longest, pause)
                    self._tell(troubled, error)
                if meanwhile is not None:
                    await meanwhile()
                await asyncio.sleep(pause)
                wait = min(wait * 2, max(self._account.settings.poll_interval, self._account.provider.backoff))
        finally:
            self._account.batch_answered()

    @property
    def _slowest(self) -> float:
        """Seconds between two looks that fail, at most."""
        return max(self._account.settings.poll_interval, LONGEST_PAUSE)

    def _tell(self, troubled: int, error: ProviderError) -> None:
        if troubled == GONE_LOOKS or not troubled % WORDS_EVERY:
            self._context.log(
                "warning",
                f"Looking after provider batches does not work ({error}); trying on. `tidepool orders "
                f"{self._context.run.run_id}` shows them, and gives one up.",
            )
