"""The workers of a run, as the driver sees them: who gets which calls, and what happens when a worker is lost.

Calls go out in batches; answers come back by a long poll. A worker whose process or node dies, or that is silent for long, is
lost, and so are its calls: they may have been bought, and are retried elsewhere. A lost worker is restarted, later each time.
Without any worker, calls leave from the driver; calls to a server beside a worker wait for one as for a provider that is down.
A worker whose server is down rests from that provider, as a server of a pool does, because it fails fast and would attract calls.
"""

import asyncio
import pickle
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.pool import LONGEST_REST, Rest
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, Notices, ProviderError
from tidepool.engine.registries import program_version
from tidepool.engine.runtime.worker import (
    WINDOW,
    CallBatch,
    Fault,
    Opening,
    WorkerCall,
    WorkerCard,
    pack_calls,
)

PIECE = 20
"""calls that are worth a message of their own"""

H = TypeVar("H")


def distribute_calls(count: int, loads: Mapping[H, int], piece: int = PIECE) -> list[tuple[H, int]]:
    """How many calls each worker gets: few go to the least busy one, many so that all are equally busy in the end."""
    taking = max(1, min(len(loads), count // piece))
    totals = dict(sorted(loads.items(), key=lambda load: load[1])[:taking])
    for _ in range(count if totals else 0):
        totals[min(totals, key=totals.__getitem__)] += 1
    return [(worker, total - loads[worker]) for worker, total in totals.items() if total > loads[worker]]


LOST_SECONDS = 60.0
"""without a word, after which a hand is taken for lost: it says something every two"""
RATE_SECONDS = 10.0
"""over which the calls a second of a hand are counted"""
GOODBYE_SECONDS = 2.0


class RemoteWorker(Protocol):
    """How to reach a `Worker`. Any exception means that it is lost."""

    async def call(self, method: str, *arguments: Any) -> Any:
        """Calls a method of the worker."""

    def kill(self) -> None:
        """Ends it at once."""


class AnswerSlot(NamedTuple):
    """Who waits for a call that a hand has."""

    answer: "asyncio.Future[Answer]"
    provider: str
    asked_at: float


class WorkerClient:
    def __init__(self, remote: RemoteWorker, card: WorkerCard, on_lost: "Callable[[WorkerClient, str], None]") -> None:
        self.remote = remote
        self.card = card
        self.providers: set[str] = set()
        """that can be asked from there"""
        self.rests: dict[str, Rest] = {}
        """of providers whose server is beside it, while that is busy, silent or gone"""
        self.troubled: set[str] = set()
        """those of which the last word was a fault"""
        self.in_flight: dict[int, AnswerSlot] = {}
        self.returned = 0
        self.pause = 0.0
        """seconds before another is started where this one is lost"""
        self.notice: Callable[[str, str], None] = lambda provider, text: None
        self.on_returned: Callable[[WorkerClient, AnswerSlot, Fault | None], None] = lambda worker, slot, fault: None
        """told of each call that came back, with its fault or without"""
        self._on_lost = on_lost
        self._lost = False
        self._recent: deque[tuple[float, int]] = deque()
        self._since = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        self._spawn(self._collect())

    def submit(self, jobs: Sequence[WorkerCall], answers: Sequence["asyncio.Future[Answer]"]) -> None:
        now = time.monotonic()
        for job, answer in zip(jobs, answers, strict=True):
            self.in_flight[job.number] = AnswerSlot(answer, job.provider, now)
        self.send("submit", pack_calls(jobs))

    def send(self, method: str, *arguments: Any) -> None:
        """Calls a method of the worker without waiting for it."""
        self._spawn(self.remote.call(method, *arguments))

    @property
    def rate(self) -> float:
        """Calls a second that came back of late."""
        now = time.monotonic()
        while self._recent and self._recent[0][0] < now - RATE_SECONDS:
            self._recent.popleft()
        return sum(count for _, count in self._recent) / max(1.0, min(RATE_SECONDS, now - self._since))

    async def close(self) -> None:
        self._lost = True
        for task in self._tasks:
            task.cancel()
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self.remote.call("close")
        except Exception:  # it is not waited for
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
        self._on_lost(self, reason)
        for slot in self.in_flight.values():
            if not slot.answer.done():
                error_text = f"The hand on {self.card.node} was lost ({reason})"
                slot.answer.set_exception(ProviderError(ErrorClass.TRANSIENT, error_text, no_reply=NoReply.LOST))
        self.in_flight.clear()

    async def _collect(self) -> None:
        while True:
            async with asyncio.timeout(LOST_SECONDS):
                packed = await self.remote.call("collect")
            self._settle(pickle.loads(packed))

    def _settle(self, batch: CallBatch) -> None:
        count = len(batch.returned)
        if count:
            self.returned += count
            self._recent.append((time.monotonic(), count))
        for provider, text in batch.notices:
            self.notice(provider, text)
        for number, answer, fault in batch.returned:
            slot = self.in_flight.pop(number, None)
            if slot is None:
                continue
            self.on_returned(self, slot, fault)
            if slot.answer.done():  # nobody waits for it any more
                continue
            if fault is not None:
                slot.answer.set_exception(fault.error())
            elif answer is not None:
                slot.answer.set_result(answer)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            timed_out = isinstance(error, TimeoutError)
            self.lose("it says nothing" if timed_out else f"{type(error).__name__}: {first_line(error)}")


def first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "")[:300]


FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""seconds before a lost hand is started again"""
MOST_NAMED = 5
MOST_SHOWN = 200
"""hands that a watcher is shown one by one"""


AwaitStop = Callable[[], Coroutine[Any, Any, object]]
"""comes back when somebody wants the run to stop"""


class Starter(Protocol):
    """Who starts hands."""

    start_seconds: float
    """after which the hands that are there begin without the others"""

    async def start(self) -> RemoteWorker:
        """A new hand, as soon as there is room for it."""

    async def close(self) -> None: ...

    def capacity(self) -> str:
        """In words, what there is and what a hand takes: told where none can be started."""


class WorkerPool:
    def __init__(self, starter: Starter, workers: int) -> None:
        self.workers: list[WorkerClient] = []
        self.notices = Notices()
        self.on_change: Callable[[], None] = lambda: None
        """told when a hand came or went"""
        self._starter = starter
        self._target = workers
        self._openings: dict[str, Opening] = {}
        self._batch_id = ""
        self._listeners: dict[str, Notices] = {}
        self._outbox: dict[str, list[tuple[WorkerCall, asyncio.Future[Answer]]]] = {}
        self._number = 0
        self._sent_at = 0.0
        self._starting: set[asyncio.Task[None]] = set()
        self._closed = False

    async def gather(self, await_stop: AwaitStop | None = None) -> None:
        """Starts the hands, and waits for them, or for as many as come in time, or before somebody wants to stop. Raises
        where none does."""
        first = [self._begin_start() for _ in range(self._target)]
        ends: list[asyncio.Future[Any]] = [asyncio.ensure_future(await_stop())] if await_stop else []
        ends.append(asyncio.ensure_future(asyncio.wait(first, timeout=self._starter.start_seconds)))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
        if not self.workers and await_stop and ends[0].done():
            raise UsageError("Stopped before a hand had started: nothing was asked.")
        if not self.workers:
            failed = next((task.exception() for task in first if task.done() and task.exception()), None)
            why = f" ({first_line(failed)})" if failed else ""
            raise UsageError(
                f"No hand could be started{why}. {self._starter.capacity()} Say less in [cluster] resources, add nodes, or "
                "go on without: --set cluster.hands=0.",
                ("cluster", "resources"),
            )
        if len(self.workers) < self._target:
            self.notices(
                f"{len(self.workers)} of {self._target} hands have started, and calls leave from them; the others join "
                f"in as soon as there is room. {self._starter.capacity()}"
            )

    async def open(self, opening: Opening, notices: Notices) -> None:
        """Has every hand take up a provider. Raises a ProviderError where it can be asked from none of them."""
        self._openings[opening.name], self._listeners[opening.name] = opening, notices
        workers = list(self.workers)
        faults = await asyncio.gather(*(self._open_at(worker, opening) for worker in workers))
        if self.having(opening.name):
            return
        for worker, fault in zip(workers, faults, strict=True):
            if fault is not None:
                prefix = f"From no hand can {opening.name} be asked, and each has the keys and the network of its own node. On "
                raise fault._replace(words=f"{prefix}{worker.card.node}: {fault.words}").error()
        raise ProviderError(ErrorClass.FATAL, "No hand is left.")

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

    def awake(self, provider: str) -> list[WorkerClient]:
        """Those of them whose server beside them does not rest."""
        now = time.monotonic()
        return [
            worker
            for worker in self.having(provider)
            if provider not in worker.rests or worker.rests[provider].until <= now
        ]

    def nodes(self, provider: str) -> int:
        return len({worker.card.node for worker in self.awake(provider)})

    async def complete(self, provider: str, call: Call, seed: int, attempt: int) -> Answer:
        """One call from some hand; there is one that has the provider."""
        while True:
            answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self._number += 1
            if not self._outbox:
                self._send_soon()
            self._outbox.setdefault(provider, []).append(
                (WorkerCall(self._number, provider, call, seed, attempt), answer)
            )
            try:
                return await answer
            except ProviderError as error:
                if not (self._openings[provider].on_node and _unasked(error) and self.awake(provider)):
                    raise

    def worker_rows(self) -> list[dict[str, Any]]:
        """For watchers: each hand with its node, calls in flight, calls that came back, and calls a second."""
        return [
            {
                "node": worker.card.node,
                "process": worker.card.process,
                "in_flight": len(worker.in_flight),
                "returned": worker.returned,
                "per_second": round(worker.rate, 1),
            }
            for worker in self.workers[:MOST_SHOWN]
        ]

    @property
    def summary(self) -> str:
        nodes = sorted({worker.card.node for worker in self.workers})
        count = f"{len(self.workers)} hands" if len(self.workers) != 1 else "one hand"
        more = f" and {len(nodes) - MOST_NAMED:,} nodes more" if len(nodes) > MOST_NAMED else ""
        return f"Live calls leave from {count} on {', '.join(nodes[:MOST_NAMED])}{more}."

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
        """What comes after a pause leaves at once, so that calls paced by a limit stay as even as they were let go."""
        loop = asyncio.get_running_loop()
        wait = self._sent_at + WINDOW - loop.time()
        if wait > 0:
            loop.call_later(wait, self._send_outbox)
        else:
            loop.call_soon(self._send_outbox)

    def _send_outbox(self) -> None:
        self._sent_at = asyncio.get_running_loop().time()
        outbox, self._outbox = self._outbox, {}
        for provider, jobs in outbox.items():
            unsent = [(job, answer) for job, answer in jobs if not answer.done()]
            workers = {id(worker): worker for worker in self.awake(provider) or self.having(provider)}
            if not workers:
                for _, answer in unsent:
                    answer.set_exception(NoWorkerLeft())
                continue
            piece = 1 if self._openings[provider].on_node else PIECE
            queue = iter(unsent)
            for key, share in distribute_calls(
                len(unsent), {key: len(worker.in_flight) for key, worker in workers.items()}, piece
            ):
                chunk = [next(queue) for _ in range(share)]
                workers[key].submit([job for job, _ in chunk], [answer for _, answer in chunk])

    # -- coming and going --------------------------------------------------------------------------------

    def _begin_start(self, pause: float = 0.0) -> "asyncio.Task[None]":
        task = asyncio.create_task(self._start(pause))
        self._starting.add(task)
        task.add_done_callback(self._started)
        return task

    async def _start(self, pause: float) -> None:
        await asyncio.sleep(pause)
        while True:
            remote = await self._starter.start()
            try:
                worker = WorkerClient(remote, await remote.call("card"), self._lost)
                version, own = worker.card.version, program_version()
                if version != own:  # calls and answers travel as pickled objects
                    raise UsageError(
                        f"The node {worker.card.node} has Tidepool {version}, and this is {own}: install the same version on all nodes."
                    )
                for opening in self._openings.values():
                    await self._open_provider(worker, opening)
                break
            except UsageError:
                remote.kill()
                raise
            except BaseException as error:
                remote.kill()
                if self._closed or not isinstance(error, Exception) or not pause:
                    raise
                pause = min(LONGEST_PAUSE, pause * 2)
                await asyncio.sleep(pause)
        worker.notice = lambda provider, text: self._listeners[provider](text)
        worker.on_returned = self._update_rest
        worker.pause = max(FIRST_PAUSE, 2 * pause)
        worker.begin()
        self.workers.append(worker)
        if pause:
            self.notices(
                f"A hand was started again, on {worker.card.node}: {len(self.workers)} of {self._target} are there."
            )
        self.on_change()

    def _started(self, task: "asyncio.Task[None]") -> None:
        self._starting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and self.workers:
            self.notices(f"A hand could not be started: {first_line(error)}")

    async def _open_at(self, worker: WorkerClient, opening: Opening) -> Fault | None:
        """A hand that is lost just then is one less."""
        try:
            return await self._open_provider(worker, opening)
        except Exception as error:
            worker.lose(first_line(error))
            return None

    async def _open_provider(self, worker: WorkerClient, opening: Opening) -> Fault | None:
        fault: Fault | None = await worker.remote.call("open", opening)
        if fault is None:
            worker.providers.add(opening.name)
            if self._batch_id:
                await worker.remote.call("serve", self._batch_id)
        else:
            self.notices(
                f"From {worker.card.node} {opening.name} cannot be asked, and gets no calls there: {fault.words}"
            )
        return fault

    def _lost(self, worker: WorkerClient, reason: str) -> None:
        self.workers.remove(worker)
        in_flight = len(worker.in_flight)
        effect = f"its {in_flight:,} calls are asked again" if in_flight else "it had no calls in flight"
        left = f"{len(self.workers)} of {self._target} are left" if self.workers else "none is left"
        self.notices(f"The hand {worker.card.process} on {worker.card.node} was lost ({reason}): {effect}; {left}.")
        self.on_change()
        if not self._closed:
            self._begin_start(min(LONGEST_PAUSE, worker.pause))

    def _update_rest(self, worker: WorkerClient, slot: AnswerSlot, fault: Fault | None) -> None:
        """What a call says of the server beside its hand. One fault of a server that answers may be the call's."""
        provider, rest = slot.provider, worker.rests.get(slot.provider)
        if not self._openings[provider].on_node:
            return
        if fault is None:
            worker.troubled.discard(provider)
            if rest is not None and slot.asked_at >= rest.until:
                del worker.rests[provider]
                if rest.times > 1:
                    self.notices(f"{provider} answers again beside the hand on {worker.card.node}.")
                self.on_change()
        elif fault.kind is not ErrorClass.CLIENT:
            at_least = LONGEST_REST if fault.kind is ErrorClass.FATAL else fault.retry_after or 0.0
            if at_least or fault.no_reply is not None or provider in worker.troubled:
                rest = worker.rests.setdefault(provider, Rest())
                if rest.begin(slot.asked_at, time.monotonic(), at_least):
                    if rest.times == 2 or at_least == LONGEST_REST:
                        self.notices(
                            f"{provider} beside the hand on {worker.card.node} is left alone for a while: {fault.words}"
                        )
                    self.on_change()
            worker.troubled.add(provider)


def _unasked(error: ProviderError) -> bool:
    """The server beside the hand certainly did not begin with it, or can never answer it: another may be asked."""
    systemic = error.fault is ErrorClass.FATAL and error.no_reply is not NoReply.BROKEN
    return systemic or error.fault is ErrorClass.RATE_LIMITED or error.no_reply is NoReply.UNREACHABLE


class NoWorkerLeft(Exception):
    """Nobody can make the call just now."""
