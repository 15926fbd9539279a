"""Provider accounts of a run: the budget, outages, prices and errors of each. They are opened and checked before anything is spent.

The maximum cost of a request is reserved before it is sent, and settled when it returns. A request that does not fit waits while others are
in flight. If none is, the budget is exhausted. A provider's own budget is part of the budget of the batch, so its reservations and costs
count in both. Amounts are whole millionths of a millionth of a dollar, because sums of floats would not return to zero.

A provider is down if it cannot be reached, or if several different requests failed and none succeeded in between. An outage uses up no
retries: requests wait, one at a time is retried now and then, and the first answer ends the outage. After `patience`, waiting requests
fail. Until one is answered, others are tried once. A rate limit (429) is not an outage, but a provider that rejects every request with 429
for longer than `patience` is given up in the same way."""

import asyncio
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidepool.engine.call import Call, PriceTag, expected_input, most_input, worst_cost
from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.endpoints import refuse_retired, title_of
from tidepool.engine.config.sections import FrozenConfig, ProviderSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.events import Resting
from tidepool.engine.providers.endpoint import open_provider, scrub_keys
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, Provider, ProviderError, RateLimits
from tidepool.engine.reports.blocks import span
from tidepool.engine.runtime.limits import Limiter
from tidepool.engine.runtime.worker_pool import AwaitStop, RemoteProvider, WorkerPool
from tidepool.storage.text import watch

# -- budget ------------------------------------------------------------------------------------------------------------


_FINE = 10**12
_DUST = 1_000
"""rounding error of reservations that were stored and read back, far below any price"""


def _to_pico(dollars: float) -> int:
    return round(dollars * _FINE)


class Budget:
    def __init__(self, cap: float, spent: float = 0.0, reserved: float = 0.0, *, whole: "Budget | None" = None) -> None:
        self.cap = cap
        """0: no cap"""
        self.on_exhausted: Callable[[], None] = lambda: None
        self._whole = whole
        self._spent = _to_pico(spent)
        self._reserved = _to_pico(reserved)
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    @property
    def capped(self) -> bool:
        return bool(self.cap or (self._whole and self._whole.cap))

    @property
    def spent(self) -> float:
        return self._spent / _FINE

    @property
    def reserved(self) -> float:
        return self._reserved / _FINE

    async def reserve(self, amount: float) -> None:
        """Returns when the amount is reserved; calls `on_exhausted` if it can never be."""
        pico_usd = _to_pico(amount)
        if not self._waiting and self._fits(pico_usd):
            self._reserved += pico_usd
        else:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((future, pico_usd))
            self._pump()
            await future
        if self._whole:
            await self._whole.reserve(amount)

    def affordable(self, amounts: Sequence[float]) -> int:
        """Reserves the longest prefix of a wave that fits now, and returns its length."""
        for index, amount in enumerate(amounts):
            if not all(budget._fits(_to_pico(amount)) for budget in self._levels()):
                return index
            for budget in self._levels():
                budget._reserved += _to_pico(amount)
        return len(amounts)

    def is_exhausted(self, amount: float) -> bool:
        """Whether the amount does not fit, and nothing is in flight that could release money."""
        return any(not budget._fits(_to_pico(amount)) and budget._reserved <= _DUST for budget in self._levels())

    def settle(self, reserved: float, cost: float) -> None:
        for budget in self._levels():
            budget._reserved = max(0, budget._reserved - _to_pico(reserved))
            budget._spent += _to_pico(cost)
            budget._pump()

    def change(self, cap: float) -> None:
        """Sets another cap while running."""
        self.cap = cap
        self._pump()

    def _levels(self) -> "tuple[Budget, ...]":
        return (self, self._whole) if self._whole else (self,)

    def _fits(self, pico_usd: int) -> bool:
        return not self.cap or self._spent + self._reserved + pico_usd <= _to_pico(self.cap)

    def _pump(self) -> None:
        while self._waiting:
            future, pico_usd = self._waiting[0]
            if future.done():
                self._waiting.popleft()
            elif self._fits(pico_usd):
                self._waiting.popleft()
                self._reserved += pico_usd
                future.set_result(None)
            else:
                if self._reserved <= _DUST:
                    self.on_exhausted()
                return


# -- outages -----------------------------------------------------------------------------------------------------------


SEVERAL = 3
"""different requests that must fail before an outage begins"""
IN_A_ROW = 10
"""failures in a row that are enough for any number of requests in flight"""
LONGEST_PAUSE = 15.0
"""maximum seconds between two attempts"""

REFUSED_SECONDS = 5.0
"""seconds of only 429 responses after which watchers see it"""

LogFunction = Callable[[str, str], None]
"""writes a level and a message to the batch's log"""


class ProviderDown(ProviderError):
    """A request that waited for its provider until the patience was over."""

    @property
    def kind(self) -> str:
        return "outage"


class Outage:
    """The outage of one account; `since` is empty while there is no outage."""

    def __init__(self, name: str, limiter: Limiter, patience: float, first_pause: float) -> None:
        self.name = name
        self.patience = patience
        """0: requests never wait"""
        self.log: LogFunction = lambda level, message: None
        self.since: float | None = None
        """the first failure after the last success"""
        self.down = False
        self.given_up = False
        """it was down for longer than requests wait, and nothing has been answered since"""
        self.refused_for = 0.0
        """seconds between the first and the latest 429, without a success in between"""
        self._refusing = False
        self._refusal_logged: bool | None = None
        """None: not logged yet; True: its end is logged too; False: over, and later ones are not logged"""
        self._limiter = limiter
        self._first_pause = self._pause = first_pause
        self._paused_at = 0.0
        self._failures = 0
        self._calls: set[tuple[int, str]] = set()
        self._reason = ""
        self._deadline: asyncio.TimerHandle | None = None

    def failed(self, address: tuple[int, str], error: ProviderError, asked_at: float, *, alone: bool) -> bool:
        """Records a temporary error; `alone`: nothing was answered since the request was sent. True if the provider is down."""
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
        """Records a 429. It ends an outage, because the provider is up, and starts the patience for its rate limit."""
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
            self.log("warning", f"{self.name} rejects every request ({error}). {self._waiting}")
        if 0 < self.patience <= self.refused_for and not (self.given_up or self._limiter.paused):
            self._give_up()

    def answered(self) -> None:
        """Records an answer, which ends every outage."""
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
        # Timeouts may mean too many requests for the server, so they resume one by one.
        self._limiter.hold(regain=error.no_reply is not NoReply.TIMEOUT)
        self._rest(now)
        self._set_deadline(now)
        state = "does not answer in time" if error.no_reply is NoReply.TIMEOUT else "is down"
        self.log("warning", f"{self.name} {state} ({error}). {self._waiting}")

    @property
    def _waiting(self) -> str:
        return (
            f"Its requests wait up to {span(self.patience)} (outage_patience) and lose no retries. One request is retried now and "
            "then. You can stop now and resume later without losing anything."
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
        """Pauses until one request is retried."""
        self._paused_at = now
        self._limiter.rest(self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _give_up(self) -> None:
        if self._limiter.paused:  # nothing waits while the batch is paused
            self.since = time.monotonic()
            self._set_deadline(self.since)
            return
        self.down, self.given_up, self._deadline = False, True, None
        self.log(
            "error",
            f"{self.name} {self._trouble} for {span(self.patience)}, longer than outage_patience, so the waiting "
            "requests fail. Resume the batch when the provider is back. Resuming retries failed units and buys nothing twice.",
        )
        self._limiter.reopen(wholly=True)
        self._limiter.fail_waiting(self.failure)

    @property
    def _trouble(self) -> str:
        return "rejected every request (429)" if self._refusing else "was down"

    def failure(self) -> ProviderError:
        """The error of a request that waited until the patience was over."""
        return ProviderDown(
            ErrorClass.CLIENT,
            f"{self.name} {self._trouble} for longer than {span(self.patience)} (outage_patience): {self._reason}",
        )


# -- accounts ----------------------------------------------------------------------------------------------------------


LONGEST_MESSAGE = 600
"""characters of a server's or a plugin's message in a log line"""
LONG_REST = 10.0
"""seconds of a pause from which on it is logged"""
CALLS_IN_A_LIMIT = 20
"""minimum number of requests that a minute's tokens are expected to serve"""


def rest_after(limits: RateLimits) -> float:
    """Seconds to wait if nothing is left of a limit. The reset is the time when the whole limit is free again. It refills
    evenly, so the next request fits long before."""
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
    """Errors by class and model. Logs the first at once, then the number at 10, 100, 1,000 … and at the end.

    A run may have thousands of errors, and each log line is a row in the file, so the other errors are only counted.
    """

    def __init__(self, log: LogFunction) -> None:
        self._log = log
        self._counts: defaultdict[tuple[str, str, bool], _ErrorCount] = defaultdict(_ErrorCount)

    def note(self, kind: str, model: str, message: str, *, lost: bool = False) -> None:
        """Records a failed attempt, or, if `lost`, a request that is not retried."""
        entry = self._counts[kind, model, lost]
        entry.count += 1
        if not entry.logged:
            entry.logged = 1
            short = " ".join(scrub_keys(message).split())[:LONGEST_MESSAGE].rstrip(".")
            then = "Further errors are only counted."
            if lost:
                self._log("error", f"First lost request of {model} ({kind}): {short}. {then}")
            else:
                self._log("warning", f"First {kind} of {model}: {short}. Requests are retried. {then}")
        elif entry.count >= 10 * entry.logged:
            self._log_count(kind, model, lost, "so far")

    def close(self) -> None:
        """Logs the final numbers that have grown since they were last logged."""
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
        """requests at the provider right now, by address, with their wave"""
        self._tags: dict[str, PriceTag | None] = {}
        self._long_rest: Resting | None = None
        """by the monotonic clock"""
        self._batch_rest: Resting | None = None
        """why its batch API is paused, by the same clock"""

    def price(self, model_name: str) -> PriceTag | None:
        if model_name not in self._tags:
            self._tags[model_name] = self.provider.price(model_name)
        return self._tags[model_name]

    @property
    def knows_prices(self) -> bool:
        """Whether the prices of all models used so far are known."""
        return None not in self._tags.values()

    def worst_cost(self, call: Call, *, batch: bool = False) -> float | None:
        """None if the price is unknown."""
        tag = self.price(call.model_name)
        return None if tag is None else worst_cost(call, tag, batch=batch)

    def booked(self, call: Call, answer: Answer, *, batch: bool = False) -> Answer:
        """A reply without plausible usage, booked with its maximum tokens and cost."""
        cost = self.worst_cost(call, batch=batch)
        return answer._replace(input_tokens=most_input(call), output_tokens=call.most_output, cost_usd=cost)

    def expected_tokens(self, call: Call) -> int:
        """The expected use of a tokens-per-minute limit; not computed without such a limit."""
        return expected_input(call) + call.most_output if self.limiter.tokens.per_minute else 0

    def change(self, name: str, value: Any) -> None:
        """Changes one limit while running."""
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
        """Uses the rate limits in the provider's headers, unless the config sets them."""
        limiter = self.limiter
        limit = limits.requests_per_minute
        if limit and limit != limiter.requests.per_minute and not self.settings.requests_per_minute:
            limiter.change(requests_per_minute=limit)
        if limits.tokens_per_minute and not self.settings.tokens_per_minute:
            limiter.tokens.per_minute = limits.tokens_per_minute
        if rest := rest_after(limits):
            self.rest(rest, "its rate limit is used up")

    def failed(
        self, error: ProviderError, call: Call, address: tuple[int, str], asked_at: float, answered_before: int
    ) -> bool:
        """Updates the account after a failed attempt. True if the provider is down, so the request is not to blame."""
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
        """Limits the wait before a retry to the time that requests wait for a provider that is down. Time with only 429
        responses is subtracted, so that the last attempt is made when the patience ends."""
        patience = self.outage.patience
        return min(seconds, max(0.0, patience - self.outage.refused_for)) if patience else seconds

    def rest(self, pause: float, cause: str) -> None:
        """Sends nothing for the time that the provider asks for. A long pause is logged with its end."""
        seconds, now = self.bounded(pause), time.monotonic()
        self.limiter.rest(seconds)
        if seconds < LONG_REST or (self._long_rest is not None and self._long_rest.until > now + seconds - 1):
            return
        self._long_rest = Resting(cause, now, now + seconds, down=False)
        shorter = f". The next attempt is after {span(seconds)} (outage_patience)" if seconds < pause else ""
        self.outage.log(
            "warning", f"{self.shown_name} asks for a pause of {span(pause)} ({cause}){shorter}. Its requests wait."
        )

    def batch_failed(self, error: ProviderError, since: float, patience: float, pause: float) -> None:
        """Records a failed request to the batch API, which is repeated after `pause`, until `patience` is over if it is finite."""
        self.errors.note(error.kind, f"{self.name} (batch API)", str(error))
        now, ends = time.monotonic(), math.isfinite(patience)
        until = max(now + pause, since + patience) if ends else now + pause
        self._batch_rest = Resting("its batch API fails", since, until, down=ends)

    def batch_answered(self) -> None:
        self._batch_rest = None

    def resting(self) -> Resting | None:
        """Why no request is sent at the moment, if the pause is long."""
        rest, now = self._batch_rest or self._long_rest, time.monotonic()
        if self.outage.down or rest is None or rest.until <= now:
            if (down := self.outage.resting()) is not None:
                return down
            if (delay := self.limiter.held_for(now)) < LONG_REST:
                return None
            rest = Resting("its rate limit", now, now + delay, down=False)
        ago = time.time() - now
        return replace(rest, since=ago + rest.since, until=ago + rest.until)


class OpenAccounts:
    def __init__(
        self,
        models: Iterable[str],
        config: FrozenConfig,
        cluster: Cluster | None = None,
        await_stop: AwaitStop | None = None,
    ) -> None:
        """`cluster`: workers for live requests; None: this process. Opening ends early when `await_stop` returns."""
        self._config = config
        self._cluster = cluster
        self._await_stop = await_stop
        self.workers: WorkerPool | None = None
        self._models = sorted(models)
        self.by_provider: dict[str, Account] = {}

    async def __aenter__(self) -> "OpenAccounts":
        watch()
        try:
            for model in self._models:
                refuse_retired(model)
            if self._cluster is not None:
                from tidepool.engine.runtime.ray_cluster import start_workers

                self.workers = await start_workers(self._cluster, self._await_stop)
                self.workers.on_change = self._fit_to_workers
            for name in sorted({model.partition(":")[0] for model in self._models}):
                limits = self._config.limits_for(name)
                provider = open_provider(name, limits)
                if self.workers is not None:
                    provider = RemoteProvider(provider, self.workers)
                self.by_provider[name] = Account(provider, limits)
                await provider.check(
                    [model.partition(":")[2] for model in self._models if model.startswith(f"{name}:")]
                )
            self._fit_to_workers()
            self._refuse_blind_budget()
        except ProviderError as error:
            await self.__aexit__()
            raise UsageError(str(error)) from error
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        for account in self.by_provider.values():
            account.outage.close()
            await account.provider.close()
        if self.workers is not None:
            await self.workers.close()

    def _fit_to_workers(self) -> None:
        """Adjusts servers on worker nodes to the current workers."""
        for account in self.by_provider.values() if self.workers is not None else ():
            account.limiter.change(max_concurrent=account.provider.concurrency(account.settings.max_concurrent))

    def name_batch(self, batch_id: str) -> None:
        for account in self.by_provider.values():
            account.provider.serve(batch_id)

    def simulated(self, providers: Iterable[str]) -> bool:
        return any(self.by_provider[name].provider.simulated for name in providers)

    def _refuse_blind_budget(self) -> None:
        for model in self._models:
            provider, _, name = model.partition(":")
            price = self.by_provider[provider].price(name)
            if price is None and (self._config.service.budget_usd or self._config.budget_of(provider)):
                raise UsageError(
                    f"budget_usd is set, but the price of {model} is not known, so the budget could not be "
                    "kept. Remove the budget, choose a model whose price `tidepool models` shows, or set its price in "
                    f"[providers.{provider}] prices."
                )
