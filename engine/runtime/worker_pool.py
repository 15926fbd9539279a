"""The workers of a run, from the driver's side: distributes calls and handles lost workers.

Calls are sent in groups, and answers return by long polling. A worker is lost if its process or node dies, or if it is silent for long. Its calls
are lost too: they may have been billed, and are retried elsewhere. A worker whose own server is unavailable is treated the same way, because it
fails fast and would attract calls. A lost worker is restarted, each time after a longer pause. Without any worker, calls wait as for a provider
that is down. Prices, limits and the batch API of a provider stay in the driver.
"""

import asyncio
import pickle
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.config.endpoints import LOCAL
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import endpoint_of, has_credentials, is_endpoint
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, Notices, Provider, ProviderError
from tidepool.engine.registries import program_version
from tidepool.engine.runtime.worker import WINDOW, Opening, WorkerCall, WorkerCard

PIECE = 20
"""calls that justify a message of their own"""
LOST_SECONDS = 60.0
"""seconds of silence after which a worker counts as lost; it normally reports every two seconds"""
GOODBYE_SECONDS = 2.0
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""maximum seconds before a lost worker is restarted"""
MOST_NAMED = 5

H = TypeVar("H")
AwaitStop = Callable[[], Coroutine[Any, Any, object]]
"""returns when the user wants to stop the run"""
Sent = tuple[WorkerCall, "asyncio.Future[Answer]"]
"""a call, and the future of its answer"""


def distribute_calls(count: int, loads: Mapping[H, int], piece: int = PIECE) -> list[tuple[H, int]]:
    """The number of calls for each worker: few calls go to the least busy one, many are spread so that all are equally busy."""
    taking = max(1, min(len(loads), count // piece))
    totals = dict(sorted(loads.items(), key=lambda load: load[1])[:taking])
    for _ in range(count if totals else 0):
        totals[min(totals, key=totals.__getitem__)] += 1
    return [(worker, total - loads[worker]) for worker, total in totals.items() if total > loads[worker]]


def first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "")[:300]


class RemoteWorker(Protocol):
    """The connection to a `Worker`. Any exception means that the worker is lost."""

    async def call(self, method: str, *arguments: Any) -> Any:
        """Calls a method of the worker."""

    def kill(self) -> None:
        """Ends the worker at once."""


class Starter(Protocol):
    """Starts workers."""

    start_seconds: float
    """after this time, the run begins with the workers that have started"""

    async def start(self) -> RemoteWorker:
        """A new worker, as soon as there is room for it."""

    async def close(self) -> None: ...


class WorkerClient:
    """One worker, with its calls."""

    def __init__(self, remote: RemoteWorker, card: WorkerCard, pool: "WorkerPool", pause: float) -> None:
        self.remote = remote
        self.card = card
        self.pause = pause
        """seconds before it is replaced if it is lost"""
        self.providers: set[str] = set()
        """providers that it can use"""
        self.in_flight: dict[int, Sent] = {}
        self._pool = pool
        self._lost = False
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, sent: Sequence[Sent]) -> None:
        self.in_flight.update({job.number: (job, answer) for job, answer in sent})
        self.send("submit", pickle.dumps([job for job, _ in sent], pickle.HIGHEST_PROTOCOL))

    def send(self, method: str, *arguments: Any) -> None:
        """Calls a method of the worker without waiting for it."""
        self.spawn(self.remote.call(method, *arguments))

    def begin(self) -> None:
        self.spawn(self._collect())

    async def close(self) -> None:
        self._lost = True
        for task in self._tasks:
            task.cancel()
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self.remote.call("close")
        except Exception:  # the result is not awaited
            pass
        finally:
            self.remote.kill()

    def lose(self, reason: str) -> None:
        if self._lost:
            return
        self._lost = True
        self.remote.kill()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._pool.lost(self, reason)
        error_text = f"The worker on {self.card.node} was lost ({reason})"
        for _, answer in self.in_flight.values():
            if not answer.done():
                answer.set_exception(ProviderError(ErrorClass.TRANSIENT, error_text, no_reply=NoReply.LOST))
        self.in_flight.clear()

    async def _collect(self) -> None:
        while not self._lost:
            async with asyncio.timeout(LOST_SECONDS):
                packed = await self.remote.call("collect")
            returned, notices = pickle.loads(packed)
            for provider, text in notices:
                self._pool.listeners[provider](text)
            for number, result in returned:
                self._settle(number, result)

    def _settle(self, number: int, result: Answer | ProviderError) -> None:
        if number not in self.in_flight:  # lost in the meantime
            return
        job, answer = self.in_flight.pop(number)
        if isinstance(result, ProviderError) and self._pool.cannot_ask(job.provider, result):
            self._pool.set_aside(self, job.provider, result)
        if answer.done():  # no task waits for it any more
            return
        if isinstance(result, ProviderError):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            timed_out = isinstance(error, TimeoutError)
            self.lose("it does not answer" if timed_out else f"{type(error).__name__}: {first_line(error)}")


class WorkerPool:
    def __init__(self, starter: Starter, workers: int) -> None:
        self.workers: list[WorkerClient] = []
        self.notices = Notices()
        self.on_change: Callable[[], None] = lambda: None
        """called when a worker starts or is lost"""
        self.listeners: dict[str, Notices] = {}
        """receives the workers' messages about a provider"""
        self._starter = starter
        self._target = workers
        self._openings: dict[str, Opening] = {}
        self._batch_id = ""
        self._outbox: dict[str, list[Sent]] = {}
        self._number = 0
        self._sent_at = 0.0
        self._starting: set[asyncio.Task[None]] = set()
        self._closed = False

    async def gather(self, await_stop: AwaitStop | None = None) -> None:
        """Starts the workers. Waits for all of them, until the time limit, or until the user stops the run. Raises an error if
        none starts."""
        first = [self._begin_start() for _ in range(self._target)]
        ends: list[asyncio.Future[Any]] = [asyncio.ensure_future(await_stop())] if await_stop else []
        ends.append(asyncio.ensure_future(asyncio.wait(first, timeout=self._starter.start_seconds)))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
        if not self.workers and await_stop and ends[0].done():
            raise UsageError("Stopped before a worker had started. No request was sent.")
        if not self.workers:
            failed = next((task.exception() for task in first if task.done() and task.exception()), None)
            why = f" ({first_line(failed)})" if failed else ""
            raise UsageError(
                f"No worker could be started{why}. Lower `resources` in [cluster], or add nodes. To run without workers, use "
                "--set cluster.hands=0.",
                ("cluster", "resources"),
            )
        if len(self.workers) < self._target:
            self.notices(
                f"{len(self.workers)} of {self._target} workers have started and send requests. The others join "
                "as soon as there is room."
            )

    async def open(self, opening: Opening, notices: Notices) -> None:
        """Opens a provider on every worker. Raises a ProviderError if no worker can use it."""
        self._openings[opening.name], self.listeners[opening.name] = opening, notices
        workers = list(self.workers)
        faults = await asyncio.gather(*(self._open_at(worker, opening) for worker in workers))
        if self.having(opening.name):
            return
        for worker, fault in zip(workers, faults, strict=True):
            if fault is not None:
                prefix = (
                    f"No worker can use {opening.name}. Each worker has the keys and the network of its own node. On "
                )
                raise ProviderError(fault.fault, f"{prefix}{worker.card.node}: {fault}", no_reply=fault.no_reply)
        raise ProviderError(ErrorClass.FATAL, "No worker is left. Check the cluster, then resume.")

    def serve(self, batch_id: str) -> None:
        self._batch_id = batch_id
        for worker in self.workers:
            worker.send("serve", batch_id)

    def change(self, name: str, settings: ProviderSettings) -> None:
        if (opening := self._openings.get(name)) is None:
            return
        self._openings[name] = replace(opening, settings=settings)
        for worker in self.having(name):
            worker.send("change", {name: settings})

    def having(self, provider: str) -> list[WorkerClient]:
        return [worker for worker in self.workers if provider in worker.providers]

    def cannot_ask(self, provider: str, error: ProviderError) -> bool:
        """Whether the server on the worker's node is unavailable, so that another worker may be used."""
        systemic = error.fault is ErrorClass.FATAL and error.no_reply is not NoReply.BROKEN
        return self._openings[provider].on_node and (systemic or error.no_reply is NoReply.UNREACHABLE)

    def complete(self, provider: str, call: Call, seed: int, attempt: int) -> "asyncio.Future[Answer]":
        """Sends one call from a worker that has the provider."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._number += 1
        if not self._outbox:
            self._send_soon()
        self._outbox.setdefault(provider, []).append((WorkerCall(self._number, provider, call, seed, attempt), answer))
        return answer

    @property
    def summary(self) -> str:
        nodes = sorted({worker.card.node for worker in self.workers})
        count = f"{len(self.workers)} workers" if len(self.workers) != 1 else "one worker"
        more = f" and {len(nodes) - MOST_NAMED:,} more nodes" if len(nodes) > MOST_NAMED else ""
        return f"Live requests are sent from {count} on {', '.join(nodes[:MOST_NAMED])}{more}."

    async def close(self) -> None:
        self._closed = True
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in self.workers))
        self.workers.clear()
        await self._starter.close()

    # -- sending -----------------------------------------------------------------------------------------

    def _send_soon(self) -> None:
        """Sends calls after a pause at once, so that calls paced by a limit stay evenly spaced."""
        loop = asyncio.get_running_loop()
        loop.call_later(max(0.0, self._sent_at + WINDOW - loop.time()), self._send_outbox)

    def _send_outbox(self) -> None:
        self._sent_at = asyncio.get_running_loop().time()
        outbox, self._outbox = self._outbox, {}
        for provider, jobs in outbox.items():
            unsent = [(job, answer) for job, answer in jobs if not answer.done()]
            loads = {worker: len(worker.in_flight) for worker in self.having(provider)}
            if not loads:
                for _, answer in unsent:
                    error_text = f"No worker is left that can use {provider}"
                    answer.set_exception(ProviderError(ErrorClass.TRANSIENT, error_text, no_reply=NoReply.UNREACHABLE))
                continue
            queue = iter(unsent)
            for worker, share in distribute_calls(len(unsent), loads, 1 if self._openings[provider].on_node else PIECE):
                worker.submit([next(queue) for _ in range(share)])

    # -- starting and losing workers --------------------------------------------------------------------------------

    def _begin_start(self, pause: float = 0.0) -> "asyncio.Task[None]":
        task = asyncio.create_task(self._start(pause))
        self._starting.add(task)
        task.add_done_callback(self._started)
        return task

    async def _start(self, pause: float) -> None:
        """Starts a worker. With a pause, it replaces a lost one and is retried until it starts."""
        while True:
            await asyncio.sleep(pause)
            remote = await self._starter.start()
            try:
                worker = WorkerClient(remote, await remote.call("card"), self, max(FIRST_PAUSE, 2 * pause))
                version, own = worker.card.version, program_version()
                if version != own:  # calls and answers are sent as pickled objects
                    raise UsageError(
                        f"The node {worker.card.node} has Tidepool {version}, but this machine has {own}. Install the same version on all nodes."
                    )
                for opening in self._openings.values():
                    if await self._open_provider(worker, opening) is not None and opening.on_node:
                        self._reopen_later(worker, opening.name)
                break
            except BaseException as error:
                remote.kill()
                if self._closed or isinstance(error, UsageError) or not isinstance(error, Exception) or not pause:
                    raise
                pause = min(LONGEST_PAUSE, pause * 2)
        worker.begin()
        self.workers.append(worker)
        if pause:
            self.notices(
                f"A worker was restarted on {worker.card.node}. {len(self.workers)} of {self._target} workers are running."
            )
        self.on_change()

    def _started(self, task: "asyncio.Task[None]") -> None:
        self._starting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and self.workers:
            self.notices(f"A worker could not be started: {first_line(error)}")

    async def _open_at(self, worker: WorkerClient, opening: Opening) -> ProviderError | None:
        """Opens a provider on a worker, or loses the worker if it fails at this moment."""
        try:
            return await self._open_provider(worker, opening)
        except Exception as error:
            worker.lose(first_line(error))
            return None

    async def _open_provider(self, worker: WorkerClient, opening: Opening) -> ProviderError | None:
        fault: ProviderError | None = await worker.remote.call("open", opening)
        if fault is None:
            worker.providers.add(opening.name)
            if self._batch_id:
                await worker.remote.call("serve", self._batch_id)
        else:
            self.notices(
                f"The worker on {worker.card.node} cannot use {opening.name} and sends it no requests: {fault}"
            )
        return fault

    def set_aside(self, worker: WorkerClient, provider: str, error: ProviderError) -> None:
        """Stops using a provider on a worker whose own server is unavailable. The worker keeps its other providers."""
        if provider in worker.providers:
            worker.providers.discard(provider)
            self.notices(f"The worker on {worker.card.node} cannot use {provider} at the moment: {error}")
            self._reopen_later(worker, provider)

    def _reopen_later(self, worker: WorkerClient, provider: str) -> None:
        async def reopen() -> None:
            pause = FIRST_PAUSE
            while provider not in worker.providers:
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 2)
                if await worker.remote.call("open", self._openings[provider]) is None:
                    worker.providers.add(provider)
                    if self._batch_id:
                        await worker.remote.call("serve", self._batch_id)
                    self.on_change()

        worker.spawn(reopen())

    def lost(self, worker: WorkerClient, reason: str) -> None:
        self.workers.remove(worker)
        in_flight = len(worker.in_flight)
        effect = f"its {in_flight:,} requests are retried" if in_flight else "it had no requests in flight"
        left = f"{len(self.workers)} of {self._target} are left" if self.workers else "no worker is left"
        self.notices(f"The worker {worker.card.process} on {worker.card.node} was lost ({reason}): {effect}; {left}.")
        self.on_change()
        if not self._closed:
            self._begin_start(min(LONGEST_PAUSE, worker.pause))


class RemoteProvider(Provider):
    """A provider whose live calls are sent from workers."""

    def __init__(self, local: Provider, workers: WorkerPool) -> None:
        self.name = local.name
        self.simulated = local.simulated
        self.backoff = local.backoff
        self.batches = local.batches
        self.notices = local.notices
        self._local = local
        self._workers = workers
        self._on_node = local.settings.hosts == [LOCAL]
        """each worker uses the server on its own node, and no other"""

    @property
    def settings(self) -> Any:
        return self._local.settings

    @settings.setter
    def settings(self, changed: ProviderSettings) -> None:
        self._local.settings = changed
        self._workers.change(self.name, self._worker_settings())

    def serve(self, batch_id: str) -> None:
        self._local.serve(batch_id)
        self._workers.serve(batch_id)

    def concurrency(self, max_concurrent: int) -> int:
        """The limit for each server. For servers on worker nodes, there is one per node."""
        return (
            max_concurrent * max(1, len({worker.card.node for worker in self._workers.having(self.name)}))
            if self._on_node
            else self._local.concurrency(max_concurrent)
        )

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        return await self._workers.complete(self.name, call, seed, attempt)

    def price(self, model_name: str) -> PriceTag | None:
        return self._local.price(model_name)

    async def check(self, model_names: Sequence[str]) -> None:
        """Checks the provider from the driver, which creates its batches, and from every worker."""
        if not self._on_node:
            await self._local.check(model_names)
        await self._workers.open(
            Opening(self.name, self._worker_settings(), tuple(model_names), on_node=self._on_node), self.notices
        )

    async def close(self) -> None:
        await self._local.close()

    def _worker_settings(self) -> ProviderSettings:
        """The settings for workers, with the addresses of this environment. An address with a password is not sent: every node
        has it in its own environment, like the keys."""
        settings: ProviderSettings = self._local.settings
        if self._on_node or not is_endpoint(self.name, settings):
            return settings
        addresses = endpoint_of(self.name, settings).addresses
        if any(map(has_credentials, addresses)):
            return settings
        changes = {"hosts": list(addresses)} if len(addresses) > 1 else {"base_url": addresses[0], "hosts": []}
        return settings.model_copy(update=changes)
