"""Work that must not block the event loop: reading the file, helper processes, calls to providers.

`FileReader` runs queries in threads. `WorkerProcess` sends jobs to a process (`worker.py`). `run_in_thread` runs a coroutine
in the event loop of another thread, because loading an SDK takes half a second and a dead address takes long.
"""

import asyncio
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from textual.app import App
from textual.css.query import NoMatches

from tidepool.engine.errors import RunError
from tidepool.engine.registries import blame_code
from tidepool.storage.errors import FileError, TidepoolError
from tidepool.storage.file import connect, explain
from tidepool.storage.queries.damage import blame
from tidepool.tui.app.launching import environment
from tidepool.tui.app.worker import Job


@contextmanager
def while_open(app: App[None]) -> Iterator[None]:
    try:
        yield
    except NoMatches:
        if app.is_running:
            raise


P = ParamSpec("P")
T = TypeVar("T")


class _Lane:
    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None

    async def run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, query)

    def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._connection is None:
                self._connection = connect(self._path)
                self._connection.execute("PRAGMA query_only = ON")
            return query(self._connection)
        except sqlite3.Error as error:
            raise FileError(explain(self._path, error)) from error
        except TidepoolError:
            raise
        except Exception as error:
            raise blame_code(error) or blame(self._path, error) or error from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()
        self._thread.submit(self._close_connection)
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _close_connection(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


class FileReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._quick = _Lane(path, "look")
        self._slow = _Lane(path, "dig")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="do")

    async def look(
        self, query: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._quick.run(lambda connection: query(connection, *args, **kwargs))

    async def dig(self, query: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._slow.run(lambda connection: query(connection, *args, **kwargs))

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a small write, or other work that may wait for the file."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, lambda: work(*args, **kwargs))

    def close(self) -> None:
        self._quick.close()
        self._slow.close()
        self._writer.shutdown(wait=True)


class WorkerFailed(TidepoolError):
    """The helper process could not do a job."""


class WorkerProcess:
    """A process of `worker.py` that runs one job at a time. If it dies, the next job starts it again."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the process before the app runs, so that the first plot appears sooner."""
        self._end()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tidepool.tui.app.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )

    async def ask(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs the function in the process and returns its result. Raises WorkerFailed."""
        error, answer = await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, (job, args, kwargs))
        if error:
            raise WorkerFailed(error)
        return cast(T, answer)

    def _ask(self, job: Job) -> tuple[str, Any]:
        ended = "a background process of the app ended. Change a field, or open the screen again, to retry", None
        if self._closed:
            return ended
        if not self.running:
            self.start()
        process = self._process
        assert process and process.stdin and process.stdout
        try:
            pickle.dump(job, process.stdin)
            process.stdin.flush()
            error, answer = pickle.load(process.stdout)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):  # the process died during the job
            self._end()
            return ended
        return error, answer

    def kill(self) -> None:
        """Kills the process from any thread. The pending job fails."""
        if (process := self._process) is not None:
            process.kill()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with process:  # closes the pipes and waits
                process.kill()

    def close(self) -> None:
        """Ends the process, even during a job."""
        self._closed = True
        self.kill()
        self._thread.submit(self._end)
        self._thread.shutdown(wait=True)


@cache
def _background_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="providers", daemon=True).start()
    return loop


async def run_in_thread(start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Returns the coroutine's result. Turns every error into a TidepoolError, because users type addresses."""
    try:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(start(), _background_loop()))
    except TidepoolError:
        raise
    except Exception as error:
        from tidepool.engine.providers.endpoint import scrub_keys

        error_text = scrub_keys(str(error)) or type(error).__name__
        message = f"The request to the provider failed: {error_text}. Check its address and the network."
        raise RunError(message) from error
