"""The app's end of the process beside it."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tidepool.storage.errors import TidepoolError
from tidepool.tui.app.worker_process.line_process import LineProcess


class WorkerFailed(TidepoolError):
    """The process beside the app could not do a job."""


class WorkerProcess:
    """One job at a time; a process that died is started again with the next job."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._closed = False
        self.process = LineProcess("tidepool.tui.app.worker_process.worker")

    def start(self) -> None:
        """Before the app runs, so that its first plot need not wait."""
        self.process.start()

    async def ask(self, job: str, **details: Any) -> Any:
        line = json.dumps({"job": job, **details})
        said = json.loads(await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, line))
        if "error" in said:
            raise WorkerFailed(said["error"])
        return said["answer"]

    def _ask(self, line: str) -> str:
        for _ in range(2):
            if self._closed:
                break
            if (said := self.process.answer(line)) is not None:
                return said
        return json.dumps({"error": "the process beside the app ended unexpectedly"})

    def close(self) -> None:
        """Also while it works: nobody waits for the answer any more."""
        self._closed = True
        self.process.kill()
        self._thread.submit(self.process.end)
        self._thread.shutdown(wait=True)
