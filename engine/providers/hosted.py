"""What the families of providers share: their servers, one or several as a pool.

A family says how a server is opened, what models it has, how it is asked, and what an error of it means. Here stands what
is the same for all: which server gets a call, when one rests, and what is told where none has a model or none answers.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.endpoints import Family
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.keys import shown_host
from tidepool.engine.providers.parallelism import Parallelism
from tidepool.engine.providers.pool import LONGEST_REST, Host, Pool
from tidepool.engine.providers.protocol import Answer, BatchApi, ErrorClass, Notices, ProviderError, Silence

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
    unasked: bool = False
    """the server certainly did not begin with it: another may be asked at once"""


class HostedProvider(ABC):
    like: Family
    simulated = False
    backoff = 0.5
    batches: BatchApi | None = None
    start_hint: str
    """what to do where no server answers"""
    nothing_there = "no server answers"
    """what a list says where it has nothing to show"""

    def __init__(self, settings: ProviderSettings, name: str) -> None:
        self.name = name
        self.settings = settings
        self.endpoint = endpoint_of(name, settings)
        self.notices = Notices()
        self.urls = list(self.endpoint.where())
        self._pool: Pool | None = None
        self._silent: set[str] = set()
        """servers that did not answer when they were looked at"""
        self._next_look = 0.0
        self._looking: asyncio.Task[None] | None = None

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
    def price(self, model_name: str) -> PriceTag | None: ...

    @abstractmethod
    def fault_at(self, host: Host, error: Exception) -> HostFault: ...

    @abstractmethod
    def words_of(self, error: Exception) -> str:
        """Why a server does not answer, in a few words."""

    @abstractmethod
    def fetch_hint(self, model_name: str, near: str) -> str:
        """What to do where no server has a model."""

    async def hang_up(self, client: Any) -> None:
        await client.close()

    @staticmethod
    def full_name(model_name: str) -> str:
        return model_name

    # -- the pool ----------------------------------------------------------------------------------------

    def serve(self, batch_id: str) -> None:
        """A single call needs no word of it."""
        return

    @property
    def pooled(self) -> bool:
        return len(self.urls) > 1

    def concurrency(self, max_concurrent: int) -> int:
        """Configured for each server."""
        most = max_concurrent * len(self.urls)
        if self._pool is not None:
            self._pool.most = most
            for host in self._pool.hosts:
                host.parallelism.change(max_concurrent)
        return most

    @property
    def pool(self) -> Pool:
        if self._pool is None:
            most = self.settings.max_concurrent
            self._pool = Pool([Host(url, self.connect(url), Parallelism(most)) for url in self.urls])
        return self._pool

    async def ask_pool(self, call: Call, seed: int) -> Answer:
        """One call, where it is answered first; elsewhere where a server did not even begin with it."""
        model = self.full_name(call.model_name)
        if not self.pool.having(model):
            await self.look_around([call.model_name])
        if self._silent and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_AGAIN
            self._looking = asyncio.create_task(self._look_at_silent(call.model_name))
        while True:
            try:
                host = await self.pool.take(model)
            except LookupError:
                raise self.missing(call.model_name) from None
            beside, started = host.in_flight, time.monotonic()
            try:
                answer = await self.ask(host.client, call, seed)
                now = time.monotonic()
                host.answered(now - started, beside, answer.output_tokens + LEAST_WORK, now)
                return answer._replace(seconds=now - started)
            except Exception as error:
                fault = self.fault_at(host, error)
                if not self._goes_elsewhere(host, model, fault, started):
                    raise self._final(fault, call.model_name) from None
            finally:
                self.pool.give_back(host)

    def _goes_elsewhere(self, host: Host, model: str, fault: HostFault, asked_at: float) -> bool:
        """Judges the server by its fault; whether the call is to be asked of another one right now."""
        now = time.monotonic()
        if fault.lacks_model:
            host.lacks(model)
        host.gone = fault.error.silence is Silence.UNREACHED
        hopeless = fault.error.fault is ErrorClass.SYSTEMIC and not fault.lacks_model
        if fault.rests or (hopeless and self.pooled):
            host.rest(asked_at, now, LONGEST_REST if hopeless else fault.error.retry_after or 0.0)
        if hopeless and self.pooled:
            self.notices(f"{shown_host(host.url)} takes no calls and rests: {fault.error}")
        return (fault.unasked or fault.lacks_model or hopeless) and bool(self.pool.awake(model, now))

    def _final(self, fault: HostFault, model_name: str) -> ProviderError:
        if not fault.lacks_model:
            return fault.error
        others = self.pool.having(self.full_name(model_name))
        return ProviderError(ErrorClass.HEALS, str(fault.error)) if others else self.missing(model_name)

    # -- looking at the servers --------------------------------------------------------------------------

    async def look_around(self, wanted: Sequence[str] = ()) -> dict[str, str]:
        """Asks every server for its models; those that do not answer, with the reason."""
        reasons = await asyncio.gather(*(self._look(host, wanted) for host in self.pool.hosts))
        silent = {host.url: reason for host, reason in zip(self.pool.hosts, reasons, strict=True) if reason is not None}
        self._silent, self._next_look = set(silent), time.monotonic() + LOOK_AGAIN
        return silent

    async def _look(self, host: Host, wanted: Sequence[str]) -> str | None:
        """Why it does not answer; None: it does."""
        try:
            async with asyncio.timeout(min(LOOK_SECONDS, self.settings.timeout)):
                host.shows(await self.models_at(host.client, wanted))
        except Exception as error:
            return self.words_of(error)
        return None

    async def _look_at_silent(self, model_name: str) -> None:
        """A server that comes later joins in."""
        for host in self.pool.hosts:
            if host.url in self._silent and await self._look(host, [model_name]) is None:
                self._silent.discard(host.url)
                self.notices(
                    f"The {self.kind} server {shown_host(host.url)} answers now: it gets calls like the others."
                )
                self.pool.pump()

    async def check_hosts(self, model_names: Sequence[str]) -> None:
        silent = await self.look_around(model_names)
        if len(silent) == len(self.urls):
            raise ProviderError(ErrorClass.SYSTEMIC, self.nobody_there(silent))
        for url, reason in silent.items():
            self.notices(f"The {self.kind} server {shown_host(url)} does not answer ({reason}): the others carry on.")
        for name in model_names:
            having = self.pool.having(self.full_name(name))
            if not having:
                raise self.missing(name)
            lacking = [host.url for host in self.pool.hosts if host not in having and host.url not in silent]
            if lacking:
                self.notices(self.lacking_words(", ".join(map(shown_host, lacking)), name))

    async def hosts(self) -> list[HostCard]:
        silent = await self.look_around()
        return [HostCard(host.url, tuple(sorted(host.models)), silent.get(host.url, "")) for host in self.pool.hosts]

    # -- words -------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return self.endpoint.title

    def lacking_words(self, where: str, model_name: str) -> str:
        return f"{where} has no {model_name} and gets no calls to it."

    def missing(self, model_name: str) -> ProviderError:
        known = sorted(set().union(*(host.models for host in self.pool.hosts)))
        near = " or ".join(get_close_matches(self.full_name(model_name), known, n=2, cutoff=0.5))
        where = ", ".join(map(shown_host, self.urls))
        hint = self.fetch_hint(model_name, near)
        return ProviderError(
            ErrorClass.SYSTEMIC, f"No {self.kind} server ({where}) has the model {model_name!r}. {hint}"
        )

    def nobody_there(self, silent: dict[str, str]) -> str:
        where = "; ".join(f"{shown_host(url)}: {reason}" for url, reason in silent.items())
        return f"No {self.kind} server answers ({where}). {self.start_hint}"

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        if self._pool is not None:
            self._pool.close()
            for host in self._pool.hosts:
                await self.hang_up(host.client)
