"""A worker sends live requests with its own providers, on any machine.

It knows nothing about batches, money or limits, and stores nothing. Calls arrive in groups, and results are fetched in
groups, since one message per call would cost the driver more than the call itself. A worker uses the keys of the
environment that it was started in. No key is ever sent to it.
"""

import asyncio
import os
import pickle
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.errors import TidepoolError
from tidepool.engine.providers.endpoint import open_provider, scrub_keys
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, Provider, ProviderError
from tidepool.engine.registries import program_version

WINDOW = 0.015
"""seconds for which calls are grouped, in each direction"""
HEARTBEAT_SECONDS = 2.0
"""seconds after which a worker reports that it is alive, even without results"""


class WorkerCall(NamedTuple):
    """A call for a worker."""

    number: int
    provider: str
    call: Call
    seed: int
    attempt: int


Returned = tuple[int, Answer | ProviderError]
"""a call's number, and its result"""


@dataclass(frozen=True, slots=True)
class WorkerCard:
    """The identity of a worker."""

    node: str
    process: int
    version: str


@dataclass(frozen=True, slots=True)
class Opening:
    """A provider for a worker to open."""

    name: str
    settings: ProviderSettings
    models: Sequence[str]
    on_node: bool = False
    """the provider's server is on the worker's own node"""


class Worker:
    """The methods of a worker, for any transport; `ray_cluster` makes it a Ray actor."""

    def __init__(self) -> None:
        self._providers: dict[str, Provider] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._returned: list[Returned] = []
        self._notices: list[tuple[str, str]] = []
        self._ready = asyncio.Event()
        self._collected_at = 0.0

    async def card(self) -> WorkerCard:
        return WorkerCard(socket.gethostname(), os.getpid(), program_version())

    async def open(self, opening: Opening) -> ProviderError | None:
        """Opens a provider and checks it as at the start of a run. Returns what prevents its use from here."""
        try:
            provider = open_provider(opening.name, opening.settings)
            provider.notices.listen(lambda text: self._notices.append((opening.name, text)))
            await provider.check(opening.models)
        except ProviderError as error:
            return _scrubbed(error)
        except TidepoolError as error:
            return ProviderError(ErrorClass.FATAL, str(error))
        if before := self._providers.get(opening.name):  # its server was unavailable for a while
            await before.close()
        self._providers[opening.name] = provider
        return None

    async def serve(self, batch_id: str) -> None:
        for provider in self._providers.values():
            provider.serve(batch_id)

    async def change(self, settings: Mapping[str, ProviderSettings]) -> None:
        """Applies changed limits; a worker only uses the timeout."""
        for name, changed in settings.items():
            if name in self._providers:
                self._providers[name].settings = changed

    async def submit(self, packed: bytes) -> None:
        """Receives new calls and sends them at once, since the driver limits the number in flight."""
        for job in pickle.loads(packed):
            task = asyncio.create_task(self._make(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def collect(self) -> bytes:
        """The results since the last call, and messages for the user, by provider. Waits for something to return, and, after a
        recent return, slightly longer for more."""
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            pass
        else:
            await asyncio.sleep(max(0.0, self._collected_at + WINDOW - time.monotonic()))
        self._collected_at = time.monotonic()
        batch = self._returned, self._notices
        self._returned, self._notices = [], []
        self._ready.clear()
        return pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for provider in self._providers.values():
            await provider.close()

    async def _make(self, job: WorkerCall) -> None:
        started = time.monotonic()
        result: Answer | ProviderError
        try:
            answer = await self._providers[job.provider].complete(job.call, job.seed, job.attempt)
            result = answer if answer.seconds is not None else answer._replace(seconds=time.monotonic() - started)
        except ProviderError as error:
            result = _scrubbed(error)
        except Exception as error:  # an error in Tidepool, not in the call; it stops the run
            words = scrub_keys(f"Something unexpected went wrong in a worker: {type(error).__name__}: {error}")
            result = ProviderError(ErrorClass.FATAL, words, no_reply=NoReply.BROKEN)
        self._returned.append((job.number, result))
        self._ready.set()


def _scrubbed(error: ProviderError) -> ProviderError:
    return ProviderError(error.fault, scrub_keys(str(error)), error.retry_after, error.no_reply)
