"""Whether a provider is down, and how long its calls wait for it.

A provider is down when it cannot be reached, or when several different calls failed and none succeeded between them.
That is no call's own failure, so it uses up no retries: calls wait, one at a time tries again now and then, and the first
answer ends it. When `patience` is over, those that wait fail; until somebody is answered, others are tried once.

A rate limit (429) is not an outage: the provider is up, and calls are retried. But a provider that refuses every call
with 429 for longer than `patience` is given up in the same way.
"""

import asyncio
import time
from collections.abc import Callable

from tidepool.engine.events import Resting
from tidepool.engine.providers.protocol import ErrorClass, NoReply, ProviderError
from tidepool.engine.results.blocks import span
from tidepool.engine.runtime.limits import Limiter

SEVERAL = 3
"""different calls that must have failed"""
IN_A_ROW = 10
"""failures without a success that are enough, however many calls may be in flight"""
LONGEST_PAUSE = 15.0
"""seconds between two tries at most"""

REFUSED_SECONDS = 5.0
"""seconds with nothing but 429 from which on watchers see it"""

LogFunction = Callable[[str, str], None]
"""a level and a message, for the batch's log"""


class ProviderDown(ProviderError):
    """A call that waited for its provider in vain."""

    @property
    def kind(self) -> str:
        return "outage"


class Outage:
    """The outage of one account: there is none as long as `since` is None."""

    def __init__(self, name: str, limiter: Limiter, patience: float, first_pause: float) -> None:
        self.name = name
        self.patience = patience
        """0: calls never wait"""
        self.log: LogFunction = lambda level, message: None
        self.since: float | None = None
        """the first failure after the last success"""
        self.down = False
        self.given_up = False
        """it was down for longer than anybody waits, and nobody has been answered since"""
        self.refused_for = 0.0
        """seconds between the first and the latest 429, without a success between them"""
        self._refusing = False
        self._refusal_logged: bool | None = None
        """None: not yet; True: its end is logged too; False: over, and later ones are not logged"""
        self._limiter = limiter
        self._first_pause = self._pause = first_pause
        self._paused_at = 0.0
        self._failures = 0
        self._calls: set[tuple[int, str]] = set()
        self._reason = ""
        self._deadline: asyncio.TimerHandle | None = None

    def failed(self, address: tuple[int, str], error: ProviderError, asked_at: float, *, alone: bool) -> bool:
        """A fault that may heal; `alone`: nobody was answered since the call left. True where the provider is down."""
        if not self.patience:
            return False
        now = time.monotonic()
        if self.since is None:
            self.since = now
        self._failures += 1
        self._calls.add(address)
        if self.down:
            if asked_at >= self._paused_at:
                self._rest(now)
        elif not self.given_up and ((alone and error.no_reply is NoReply.UNREACHABLE) or self._several()):
            self._begin(now, error)
        return self.down

    def refused(self, error: ProviderError) -> None:
        """A 429. It ends an outage, because the provider is up, and starts the patience with its rate limit."""
        now = time.monotonic()
        if not self._refusing:
            if self.since is not None:
                self.answered()
            self.since, self._refusing = now, True
        self._failures, self._reason = 0, str(error)
        self._calls.clear()
        # Nothing is sent during a pause, so the time before and during it does not count.
        self.refused_for = now - max(self.since or now, self._limiter.resumed_at)
        if self._refusal_logged is None and self.patience and now - (self.since or now) >= LONGEST_PAUSE:
            self._refusal_logged = True
            self.log("warning", f"{self.name} refuses every call ({error}). {self._waiting}")
        if 0 < self.patience <= self.refused_for and not (self.given_up or self._limiter.paused):
            self._give_up()

    def answered(self) -> None:
        """Somebody was answered: whatever was, is over."""
        if self.down or self.given_up or (self._refusing and self._refusal_logged):
            lasted = time.monotonic() - (self.since or 0.0)
            self.log("warning", f"{self.name} answers again, after {span(lasted)}.")
            if self.down:
                self._limiter.reopen()
        self.since, self.down, self.given_up = None, False, False
        if self._refusing and self._refusal_logged:
            self._refusal_logged = False
        self._refusing, self.refused_for = False, 0.0
        self._failures, self._pause = 0, self._first_pause
        self._calls.clear()
        self.close()

    def resting(self) -> Resting | None:
        if self.since is None or not self.patience or self.given_up:
            return None
        refused = self._refusing and time.monotonic() - self.since >= REFUSED_SECONDS
        if not (self.down or refused):
            return None
        ago = time.time() - time.monotonic()
        return Resting(self._reason, ago + self.since, ago + self.since + self.patience, down=True)

    def close(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _several(self) -> bool:
        enough = min(IN_A_ROW, max(SEVERAL, int(self._limiter.allowed)))
        return len(self._calls) >= SEVERAL and self._failures >= enough

    def _begin(self, now: float, error: ProviderError) -> None:
        self.down, self._refusing, self._reason = True, False, str(error)
        # Calls that timed out may have been too many for the server, so these come back one by one.
        self._limiter.hold(regain=error.no_reply is not NoReply.TIMEOUT)
        self._rest(now)
        self._set_deadline(now)
        state = "does not answer in time" if error.no_reply is NoReply.TIMEOUT else "is down"
        self.log("warning", f"{self.name} {state} ({error}). {self._waiting}")

    @property
    def _waiting(self) -> str:
        return (
            f"Its calls wait up to {span(self.patience)} (outage_patience) and lose no retries; one tries again now and "
            "then. Nothing is lost by stopping now and resuming later."
        )

    def change(self, patience: float) -> None:
        self.patience = patience
        if self.down:
            self._set_deadline(time.monotonic())

    def _set_deadline(self, now: float) -> None:
        self.close()
        left = (self.since or now) + self.patience - now
        self._deadline = asyncio.get_running_loop().call_later(max(0.0, left), self._give_up)

    def _rest(self, now: float) -> None:
        """Until one call tries again."""
        self._paused_at = now
        self._limiter.rest(self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _give_up(self) -> None:
        if self._limiter.paused:  # nobody waits while the batch is paused
            self.since = time.monotonic()
            self._set_deadline(self.since)
            return
        self.down, self.given_up, self._deadline = False, True, None
        self.log(
            "error",
            f"{self.name} {self._trouble} for {span(self.patience)}, longer than calls wait (outage_patience): those that "
            "waited fail. Resume the batch when it is back: failed units are tried again, nothing is bought twice.",
        )
        self._limiter.reopen(wholly=True)
        self._limiter.fail_waiting(self.failure)

    @property
    def _trouble(self) -> str:
        return "refused every call (429)" if self._refusing else "was down"

    def failure(self) -> ProviderError:
        """Of a call that waited in vain."""
        return ProviderDown(
            ErrorClass.CLIENT,
            f"{self.name} {self._trouble} for longer than {span(self.patience)} (outage_patience): {self._reason}",
        )
