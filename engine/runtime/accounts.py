"""One provider account of a run: the provider, what limits it, and its prices, each resolved once."""

import math
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from tidepool.engine.call import Call, PriceTag, expected_input, most_input, worst_cost
from tidepool.engine.config.endpoints import title_of
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.events import Resting
from tidepool.engine.providers.endpoint import scrub_keys
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, Provider, ProviderError, RateLimits
from tidepool.engine.results.blocks import span
from tidepool.engine.runtime.budget import Budget
from tidepool.engine.runtime.limits import Limiter
from tidepool.engine.runtime.outage import LogFunction, Outage

LONGEST_MESSAGE = 600
"""characters of a server's or a plugin's message that a log line repeats"""
LONG_REST = 10.0
"""seconds of rest from which on it is logged"""
CALLS_IN_A_LIMIT = 20
"""calls that a minute's tokens are taken to serve at least"""


def rest_after(limits: RateLimits) -> float:
    """Seconds to wait where nothing is left. The reset is when all of a limit will be free again; it fills up evenly,
    so the next call fits long before."""
    rest = 0.0
    if limits.requests_left == 0 and limits.requests_reset:
        rest = limits.requests_reset / (limits.requests_per_minute or 1)
    if limits.tokens_left == 0 and limits.tokens_reset:
        rest = max(rest, limits.tokens_reset / CALLS_IN_A_LIMIT)
    return rest


@dataclass(slots=True)
class _ErrorCount:
    count: int = 0
    logged: int = 0


class ErrorLog:
    """Errors by class and model: the first is logged at once, then their number at 10, 100, 1,000 … and at the end.

    A run may meet thousands of errors and each line is a row of the file, so the others are only counted.
    """

    def __init__(self, log: LogFunction) -> None:
        self._log = log
        self._counts: defaultdict[tuple[str, str, bool], _ErrorCount] = defaultdict(_ErrorCount)

    def note(self, kind: str, model: str, message: str, *, lost: bool = False) -> None:
        """An attempt that failed; or, where `lost`, a request that no further attempt is made for."""
        entry = self._counts[kind, model, lost]
        entry.count += 1
        if not entry.logged:
            entry.logged = 1
            short = " ".join(scrub_keys(message).split())[:LONGEST_MESSAGE].rstrip(".")
            then = "Further ones are counted."
            if lost:
                self._log("error", f"First lost request of {model} ({kind}): {short}. {then}")
            else:
                self._log("warning", f"First {kind} of {model}: {short}. Requests are retried. {then}")
        elif entry.count >= 10 * entry.logged:
            self._log_count(kind, model, lost, "so far")

    def close(self) -> None:
        """The final numbers, where they grew since they were last logged."""
        for (kind, model, lost), entry in self._counts.items():
            if entry.count > entry.logged:
                self._log_count(kind, model, lost, "in this run")

    def _log_count(self, kind: str, model: str, lost: bool, period: str) -> None:
        entry = self._counts[kind, model, lost]
        entry.logged = entry.count
        summary = f"requests lost {period} ({kind})" if lost else f"× {kind} {period}"
        self._log("warning", f"{model}: {entry.count:,} {summary}.")


class Account:
    def __init__(self, provider: Provider, settings: ProviderSettings) -> None:
        self.provider = provider
        self.name = provider.name
        self.settings = settings
        self.limiter = Limiter(
            provider.concurrency(settings.max_concurrent), settings.requests_per_minute, settings.tokens_per_minute
        )
        self.shown_name = title_of(provider.name)
        self.outage = Outage(self.shown_name, self.limiter, settings.outage_patience, provider.backoff)
        self.errors = ErrorLog(lambda level, message: self.outage.log(level, message))
        self.budget = Budget(0.0)
        """its own part of the batch's budget"""
        self.in_flight: dict[tuple[int, str], int] = {}
        """calls at the provider right now, by address, with their wave"""
        self._tags: dict[str, PriceTag | None] = {}
        self._long_rest: Resting | None = None
        """by a clock that nobody sets"""
        self._batch_rest: Resting | None = None
        """why its batch API is waited for, by the same clock"""

    def price(self, model_name: str) -> PriceTag | None:
        if model_name not in self._tags:
            self._tags[model_name] = self.provider.price(model_name)
        return self._tags[model_name]

    @property
    def knows_prices(self) -> bool:
        """Of the models it was asked about so far."""
        return None not in self._tags.values()

    def worst_cost(self, call: Call, *, batch: bool = False) -> float | None:
        """None where the price is unknown."""
        tag = self.price(call.model_name)
        return None if tag is None else worst_cost(call, tag, batch=batch)

    def booked(self, call: Call, answer: Answer, *, batch: bool = False) -> Answer:
        """A reply without believable usage: what it may have taken and cost at most."""
        cost = self.worst_cost(call, batch=batch)
        return answer._replace(input_tokens=most_input(call), output_tokens=call.most_output, cost_usd=cost)

    def expected_tokens(self, call: Call) -> int:
        """What a call takes of a tokens-per-minute limit; not worked out where there is none."""
        return expected_input(call) + call.most_output if self.limiter.tokens.per_minute else 0

    def change(self, name: str, value: Any) -> None:
        """One limit, changed while running."""
        self.settings = self.provider.settings = self.settings.model_copy(update={name: value})
        if name == "budget_usd":
            self.budget.change(value)
        elif name == "max_concurrent":
            self.limiter.change(max_concurrent=self.provider.concurrency(value))
        elif name in ("requests_per_minute", "tokens_per_minute"):
            self.limiter.change(**{name: value})
        elif name == "outage_patience":
            self.outage.change(value)

    def learn(self, limits: RateLimits) -> None:
        """Lets the provider's own headers set the pace where the config sets none."""
        limiter = self.limiter
        limit = limits.requests_per_minute
        if limit and limit != limiter.requests.per_minute and not self.settings.requests_per_minute:
            limiter.change(requests_per_minute=limit)
        if limits.tokens_per_minute and not self.settings.tokens_per_minute:
            limiter.tokens.per_minute = limits.tokens_per_minute
        if rest := rest_after(limits):
            self.rest(rest, "nothing left of its limit")

    def failed(
        self, error: ProviderError, call: Call, address: tuple[int, str], asked_at: float, answered_before: int
    ) -> bool:
        """What a failed attempt tells of the provider. True where it is down: then the call is not to blame."""
        limiter, outage = self.limiter, self.outage
        if error.fault in (ErrorClass.RATE_LIMITED, ErrorClass.TRANSIENT):
            self.errors.note(error.kind, call.model, str(error))
        if error.fault is ErrorClass.RATE_LIMITED:
            outage.refused(error)
            limiter.refused(asked_at)
            self.rest(error.retry_after or 0.0, "Retry-After")
            return False
        if error.fault is not ErrorClass.TRANSIENT:
            if outage.since is not None:
                outage.answered()
            return False
        if error.no_reply is NoReply.LOST:
            return False
        if outage.failed(address, error, asked_at, alone=limiter.answered == answered_before):
            return True
        if error.no_reply in (NoReply.TIMEOUT, NoReply.UNREACHABLE):
            limiter.strained(asked_at, answered_before)
        else:
            limiter.faulted(time.monotonic() - asked_at)
        return False

    def bounded(self, seconds: float) -> float:
        """How long to wait before a retry: never longer than calls wait for a provider that is down. Time in which it
        answered nothing but 429 is subtracted, so that the last try is made when the patience ends."""
        patience = self.outage.patience
        return min(seconds, max(0.0, patience - self.outage.refused_for)) if patience else seconds

    def rest(self, pause: float, cause: str) -> None:
        """The provider wants nothing to leave for so long. A long rest is logged, with its end."""
        seconds, now = self.bounded(pause), time.monotonic()
        self.limiter.rest(seconds)
        if seconds < LONG_REST or (self._long_rest is not None and self._long_rest.until > now + seconds - 1):
            return
        self._long_rest = Resting(cause, now, now + seconds, down=False)
        shorter = f"; it is asked again after {span(seconds)} (outage_patience)" if seconds < pause else ""
        self.outage.log("warning", f"{self.shown_name} wants {span(pause)} of rest ({cause}){shorter}. Its calls wait.")

    def batch_failed(self, error: ProviderError, since: float, patience: float, pause: float) -> None:
        """A request to the batch API failed and is repeated after `pause`, until `patience` is over, if that ends."""
        self.errors.note(error.kind, f"{self.name} (batch API)", str(error))
        now, ends = time.monotonic(), math.isfinite(patience)
        until = max(now + pause, since + patience) if ends else now + pause
        self._batch_rest = Resting("its batch API fails", since, until, down=ends)

    def batch_answered(self) -> None:
        self._batch_rest = None

    def resting(self) -> Resting | None:
        """Why nothing leaves just now, where that takes long."""
        rest, now = self._batch_rest or self._long_rest, time.monotonic()
        if self.outage.down or rest is None or rest.until <= now:
            if (down := self.outage.resting()) is not None:
                return down
            if (delay := self.limiter.held_for(now)) < LONG_REST:
                return None
            rest = Resting("its rate limit", now, now + delay, down=False)
        ago = time.time() - now
        return replace(rest, since=ago + rest.since, until=ago + rest.until)
