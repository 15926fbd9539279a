"""Several servers as one provider: each call goes to the server that will be through with it first.

Servers differ in speed, so "least busy" is counted in time, not in calls: what a server has in flight, times what a call
takes there. While more calls wait than the pool is ever given at once, every server works; towards the end a slow one
gets a call only where waiting for a faster one would take longer. A server that is busy, silent or gone rests for a
while, longer each time, and the others carry on. `HostedProvider` is the base of all providers with servers: a family says
how a server is opened, which models it has, how it is asked, and what an error of it means.
"""

import asyncio
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from tidepool.engine.call import Call
from tidepool.engine.config.endpoints import Family
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import display_host, endpoint_of
from tidepool.engine.providers.protocol import Answer, ErrorClass, LiveProvider, NoReply, ProviderError

FIRST = 2
GAIN = 1.3
"""output must grow by this factor for a doubling to count as help"""
HOLD = 12
"""windows for which a found number is kept before more is tried again"""


class Parallelism:
    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = min(FIRST, ceiling)
        self._best_limit = 0
        """the largest number that still brought more"""
        self._best = 0.0
        self._hold_windows = 0
        self._start_window()

    def change(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = min(self.limit, ceiling)

    def done(self, work: float, now: float, full: bool) -> None:
        """A call came back with so much work in it; `full`: the server had as many calls as it may."""
        if not full:
            self._start_window()
            return
        if not self._count:
            self._since = now
        else:
            self._work += work
        self._count += 1
        enough = 2 * self.limit if self._hold_windows else self.limit
        if self._count > enough and now > self._since:
            self._judge(self._work / (now - self._since))
            self._start_window()

    def failed(self) -> None:
        """Busy, or too slow: half of it must do for a while."""
        self.limit = self._best_limit = max(1, self.limit // 2)
        self._hold_windows = HOLD
        self._best = 0.0
        self._start_window()

    def _judge(self, output: float) -> None:
        if self._hold_windows:
            self._hold_windows -= 1
            self._best = output
            if not self._hold_windows:
                self.limit = min(self.ceiling, 2 * max(1, self._best_limit))
            return
        if output >= self._best * GAIN:
            self._best, self._best_limit = output, self.limit
            self.limit = min(self.ceiling, self.limit * 2)
        else:
            self.limit = min(self.ceiling, self._best_limit + 1)
            self._hold_windows = HOLD

    def _start_window(self) -> None:
        self._count = 0
        self._work = 0.0
        self._since = 0.0


FIRST_REST = 0.5
LONGEST_REST = 60.0
SMOOTHING = 0.2


@dataclass(slots=True)
class Rest:
    """Of a server that is busy, silent or gone: longer each time, until it answers."""

    until: float = 0.0
    times: int = 0
    """in a row"""

    def begin(self, sent_at: float, now: float, at_least: float = 0.0) -> bool:
        """False: that call was asked before the last rest, and says nothing new."""
        if sent_at < self.until:
            return False
        self.until = now + max(at_least, min(LONGEST_REST, FIRST_REST * 2**self.times))
        self.times += 1
        return True


@dataclass(slots=True, eq=False)
class Host:
    url: str
    client: Any
    parallelism: Parallelism
    models: set[str] = field(default_factory=set)
    lists_models: bool = True
    """false: it does not tell what it has, and is taken to have every model that it has not refused"""
    lacking: set[str] = field(default_factory=set)
    """models that it refused"""
    in_flight: int = 0
    resting: Rest = field(default_factory=Rest)
    unreachable: bool = False
    """it rests because it cannot be reached"""
    share: float = 0.0
    """seconds of the server that one call takes, others beside it counted"""
    quickest: float = 0.0

    def has(self, model: str) -> bool:
        return model in self.models if self.lists_models else model not in self.lacking

    def shows(self, models: Iterable[str] | None) -> None:
        """What a look at it brought; None: it does not tell."""
        self.lists_models = models is not None
        self.models = set(models or ())
        self.lacking.clear()

    def lacks(self, model: str) -> None:
        self.models.discard(model)
        self.lacking.add(model)

    def full(self) -> bool:
        return self.in_flight >= self.parallelism.limit

    def expected_seconds(self) -> float:
        """Seconds until one more call would be answered here; a server not tried yet is taken for quick."""
        return max(self.quickest, self.share * (self.in_flight + 1))

    def answered(self, seconds: float, others: int, work: float, now: float) -> None:
        share = seconds / max(1, others)
        self.share = share if not self.share else self.share + SMOOTHING * (share - self.share)
        self.quickest = min(seconds, self.quickest * 1.01) if self.quickest else seconds
        self.resting.times = 0
        if self.unreachable:
            self.unreachable, self.resting.until = False, 0.0
        self.parallelism.done(work, now, self.in_flight >= self.parallelism.limit)

    def rest(self, sent_at: float, now: float, at_least: float = 0.0) -> None:
        if self.resting.begin(sent_at, now, at_least):
            self.parallelism.failed()


class Pool:
    def __init__(self, hosts: list[Host]) -> None:
        self.hosts = hosts
        self.most = sum(host.parallelism.ceiling for host in hosts)
        """calls that it is given at once: as many mean that more may be waiting outside"""
        self._waiting: deque[tuple[asyncio.Future[Host], str]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def having(self, model: str) -> list[Host]:
        return [host for host in self.hosts if host.has(model)]

    def awake(self, model: str, now: float) -> list[Host]:
        return [host for host in self.hosts if host.resting.until <= now and host.has(model)]

    async def take(self, model: str) -> Host:
        """A place at the best server that has the model, as soon as there is one; LookupError where none has it."""
        future: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, model))
        self.pump()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.give_back(future.result())
            raise

    def give_back(self, host: Host) -> None:
        host.in_flight -= 1
        self.pump()

    def best(self, model: str, now: float) -> Host | None:
        """The server that will be through first, unless waiting for a faster one is quicker still. Where all rest, those
        that cannot be reached are tried all the same: how often, is for the account to say, which is down."""
        awake = self.awake(model, now) or [host for host in self.having(model) if host.unreachable]
        free = [host for host in awake if not host.full()]
        if not free:
            return None
        chosen = min(free, key=lambda host: (host.expected_seconds(), host.in_flight))
        if len(self._waiting) + sum(host.in_flight for host in self.hosts) >= self.most:
            return chosen
        fastest = min(awake, key=lambda host: host.share)
        queue = fastest.share * (fastest.in_flight + len(self._waiting))
        return chosen if chosen is fastest or chosen.expected_seconds() <= max(queue, fastest.quickest) else None

    def pump(self) -> None:
        now = time.monotonic()
        unassigned: deque[tuple[asyncio.Future[Host], str]] = deque()
        nowhere: set[str] = set()
        while self._waiting:
            future, model = self._waiting[0]
            host = None if model in nowhere or future.done() else self.best(model, now)
            self._waiting.popleft()
            if future.done():
                continue
            if not self.having(model):
                future.set_exception(LookupError(model))
            elif host is None:
                nowhere.add(model)
                unassigned.append((future, model))
            else:
                host.in_flight += 1
                future.set_result(host)
        self._waiting = unassigned
        if unassigned:
            self._wake_with_first(now)

    def _wake_with_first(self, now: float) -> None:
        resting = [host.resting.until for host in self.hosts if host.resting.until > now]
        if resting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(min(resting) - now + 0.001, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.pump()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


LOOK_SECONDS = 15.0
LOOK_AGAIN = 20.0
"""seconds between looks at servers that were silent"""
LEAST_WORK = 20
"""tokens that a call counts for beside those it writes: reading it, and the way there"""


@dataclass(frozen=True, slots=True)
class HostCard:
    """One server: what it has, or why it does not answer."""

    url: str
    models: tuple[str, ...]
    silence: str = ""


@dataclass(frozen=True, slots=True)
class HostFault:
    """What a failed call says of its server."""

    error: ProviderError
    """what the call comes to where nobody else can answer it"""
    lacks_model: bool = False
    rests: bool = False
    not_sent: bool = False
    """the server certainly did not begin with it: another may be asked at once"""


class HostedProvider(LiveProvider):
    like: Family
    start_hint: str
    """what to do where no server answers"""
    nothing_there = "no server answers"
    """what a list says where it has nothing to show"""

    def __init__(self, settings: ProviderSettings, name: str) -> None:
        super().__init__(settings)
        self.name = name
        self.endpoint = endpoint_of(name, settings)
        self.urls = list(self.endpoint.where())
        self._pool: Pool | None = None
        self._silent: set[str] = set()
        """servers that did not answer when they were looked at"""
        self._next_refresh = 0.0
        self._refreshing: asyncio.Task[None] | None = None

    # -- what a family says of itself --------------------------------------------------------------------

    @abstractmethod
    def connect(self, url: str) -> Any:
        """The client of one server."""

    @abstractmethod
    async def models_at(self, client: Any, wanted: Sequence[str]) -> set[str] | None:
        """The models of one server, by their full names; None where it does not tell."""

    @abstractmethod
    async def ask(self, client: Any, call: Call, seed: int) -> Answer:
        """One call to one server, within its time."""

    @abstractmethod
    def fault_at(self, host: Host, error: Exception) -> HostFault: ...

    @abstractmethod
    def words_of(self, error: Exception) -> str:
        """Why a server does not answer, in a few words."""

    @abstractmethod
    def fetch_hint(self, model_name: str, similar: str) -> str:
        """What to do where no server has a model."""

    async def disconnect(self, client: Any) -> None:
        await client.close()

    @staticmethod
    def full_name(model_name: str) -> str:
        return model_name

    # -- the pool ----------------------------------------------------------------------------------------

    @property
    def pooled(self) -> bool:
        return len(self.urls) > 1

    def concurrency(self, max_concurrent: int) -> int:
        """Configured for each server."""
        limit = max_concurrent * len(self.urls)
        if self._pool is not None:
            self._pool.most = limit
            for host in self._pool.hosts:
                host.parallelism.change(max_concurrent)
        return limit

    @property
    def pool(self) -> Pool:
        if self._pool is None:
            limit = self.settings.max_concurrent
            self._pool = Pool([Host(url, self.connect(url), Parallelism(limit)) for url in self.urls])
        return self._pool

    async def ask_pool(self, call: Call, seed: int) -> Answer:
        """One call, where it is answered first; elsewhere where a server did not even begin with it."""
        model = self.full_name(call.model_name)
        if not self.pool.having(model):
            await self.refresh_hosts([call.model_name])
        if self._silent and time.monotonic() >= self._next_refresh:
            self._next_refresh = time.monotonic() + LOOK_AGAIN
            self._refreshing = asyncio.create_task(self._refresh_silent(call.model_name))
        while True:
            try:
                host = await self.pool.take(model)
            except LookupError:
                raise self.missing(call.model_name) from None
            others, started = host.in_flight, time.monotonic()
            try:
                answer = await self.ask(host.client, call, seed)
                now = time.monotonic()
                host.answered(now - started, others, answer.output_tokens + LEAST_WORK, now)
                return answer._replace(seconds=now - started)
            except Exception as error:
                fault = self.fault_at(host, error)
                if not self._goes_elsewhere(host, model, fault, started):
                    raise self._final(fault, call.model_name) from None
            finally:
                self.pool.give_back(host)

    def _goes_elsewhere(self, host: Host, model: str, fault: HostFault, sent_at: float) -> bool:
        """Judges the server by its fault; whether the call is to be asked of another one right now."""
        now = time.monotonic()
        if fault.lacks_model:
            host.lacks(model)
        host.unreachable = fault.error.no_reply is NoReply.UNREACHABLE
        hopeless = fault.error.fault is ErrorClass.FATAL and not fault.lacks_model
        if fault.rests or (hopeless and self.pooled):
            host.rest(sent_at, now, LONGEST_REST if hopeless else fault.error.retry_after or 0.0)
        if hopeless and self.pooled:
            self.notices(f"{display_host(host.url)} takes no calls and rests: {fault.error}")
        return (fault.not_sent or fault.lacks_model or hopeless) and bool(self.pool.awake(model, now))

    def _final(self, fault: HostFault, model_name: str) -> ProviderError:
        if not fault.lacks_model:
            return fault.error
        others = self.pool.having(self.full_name(model_name))
        return ProviderError(ErrorClass.TRANSIENT, str(fault.error)) if others else self.missing(model_name)

    # -- looking at the servers --------------------------------------------------------------------------

    async def refresh_hosts(self, wanted: Sequence[str] = ()) -> dict[str, str]:
        """Asks every server for its models; those that do not answer, with the reason."""
        reasons = await asyncio.gather(*(self._refresh(host, wanted) for host in self.pool.hosts))
        silent = {host.url: reason for host, reason in zip(self.pool.hosts, reasons, strict=True) if reason is not None}
        self._silent, self._next_refresh = set(silent), time.monotonic() + LOOK_AGAIN
        return silent

    async def _refresh(self, host: Host, wanted: Sequence[str]) -> str | None:
        """Why it does not answer; None: it does."""
        try:
            async with asyncio.timeout(min(LOOK_SECONDS, self.settings.timeout)):
                host.shows(await self.models_at(host.client, wanted))
        except Exception as error:
            return self.words_of(error)
        return None

    async def _refresh_silent(self, model_name: str) -> None:
        """A server that comes later joins in."""
        for host in self.pool.hosts:
            if host.url in self._silent and await self._refresh(host, [model_name]) is None:
                self._silent.discard(host.url)
                self.notices(
                    f"The {self.kind} server {display_host(host.url)} answers now: it gets calls like the others."
                )
                self.pool.pump()

    async def check_hosts(self, model_names: Sequence[str]) -> None:
        silent = await self.refresh_hosts(model_names)
        if len(silent) == len(self.urls):
            raise ProviderError(ErrorClass.FATAL, self.no_server(silent))
        for url, reason in silent.items():
            self.notices(f"The {self.kind} server {display_host(url)} does not answer ({reason}): the others carry on.")
        for name in model_names:
            having = self.pool.having(self.full_name(name))
            if not having:
                raise self.missing(name)
            lacking = [host.url for host in self.pool.hosts if host not in having and host.url not in silent]
            if lacking:
                self.notices(self.lacking_words(", ".join(map(display_host, lacking)), name))

    async def hosts(self) -> list[HostCard]:
        silent = await self.refresh_hosts()
        return [HostCard(host.url, tuple(sorted(host.models)), silent.get(host.url, "")) for host in self.pool.hosts]

    # -- words -------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return self.endpoint.title

    def lacking_words(self, where: str, model_name: str) -> str:
        return f"{where} has no {model_name} and gets no calls to it."

    def missing(self, model_name: str) -> ProviderError:
        models = sorted(set().union(*(host.models for host in self.pool.hosts)))
        similar = " or ".join(get_close_matches(self.full_name(model_name), models, n=2, cutoff=0.5))
        where = ", ".join(map(display_host, self.urls))
        hint = self.fetch_hint(model_name, similar)
        return ProviderError(ErrorClass.FATAL, f"No {self.kind} server ({where}) has the model {model_name!r}. {hint}")

    def no_server(self, silent: dict[str, str]) -> str:
        where = "; ".join(f"{display_host(url)}: {reason}" for url, reason in silent.items())
        return f"No {self.kind} server answers ({where}). {self.start_hint}"

    async def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
        if self._pool is not None:
            self._pool.close()
            for host in self._pool.hosts:
                await self.disconnect(host.client)
