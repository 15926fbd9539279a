"""A worker makes live calls with providers of its own, wherever it runs.

It knows nothing of batches, money or limits, and keeps nothing: calls come in batches, and what has come back is fetched in
batches. One message per call would cost the driver more than the call itself. A worker's keys are those of the environment it
was started in; none is ever sent to it.
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
"""seconds that a bunch gathers, on either way"""
HEARTBEAT_SECONDS = 2.0
"""seconds after which a hand says that it is there, also where nothing has come back"""


class WorkerCall(NamedTuple):
    """A call on its way to a hand."""

    number: int
    provider: str
    call: Call
    seed: int
    attempt: int


Returned = tuple[int, Answer | ProviderError]
"""a call's number, and what it came to"""


@dataclass(frozen=True, slots=True)
class WorkerCard:
    """Who a hand is."""

    node: str
    process: int
    version: str


@dataclass(frozen=True, slots=True)
class Opening:
    """A provider as a hand opens it."""

    name: str
    settings: ProviderSettings
    models: Sequence[str]
    on_node: bool = False
    """it is asked at the hand's own node"""


class Worker:
    """What a hand does, by whatever way it is spoken to; as an actor of Ray, see `ray_cluster`."""

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
        """Takes up a provider; what keeps it from being asked from here, checked as at the start of a run."""
        try:
            provider = open_provider(opening.name, opening.settings)
            provider.notices.listen(lambda text: self._notices.append((opening.name, text)))
            await provider.check(opening.models)
        except ProviderError as error:
            return _scrubbed(error)
        except TidepoolError as error:
            return ProviderError(ErrorClass.FATAL, str(error))
        if before := self._providers.get(opening.name):  # its server was gone for a while
            await before.close()
        self._providers[opening.name] = provider
        return None

    async def serve(self, batch_id: str) -> None:
        for provider in self._providers.values():
            provider.serve(batch_id)

    async def change(self, settings: Mapping[str, ProviderSettings]) -> None:
        """Limits that changed while running: of those a hand keeps the time that a call may take."""
        for name, changed in settings.items():
            if name in self._providers:
                self._providers[name].settings = changed

    async def submit(self, packed: bytes) -> None:
        """New calls. They are made at once: how many may be under way is for the process at home to say."""
        for job in pickle.loads(packed):
            task = asyncio.create_task(self._make(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def collect(self) -> bytes:
        """What has come back since it was last asked, and what the user should know, by provider. It waits for something, and
        where it has just said something, a moment longer for more."""
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
        except Exception as error:  # a fault of ours, not of the call: it stops the run
            words = scrub_keys(f"A hand met something unexpected: {type(error).__name__}: {error}")
            result = ProviderError(ErrorClass.FATAL, words, no_reply=NoReply.BROKEN)
        self._returned.append((job.number, result))
        self._ready.set()


def _scrubbed(error: ProviderError) -> ProviderError:
    return ProviderError(error.fault, scrub_keys(str(error)), error.retry_after, error.no_reply)
