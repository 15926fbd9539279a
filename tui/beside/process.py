"""The app's end of the process beside it."""

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from storage.errors import TidepoolError
from tui.launching import environment


class BesideFailed(TidepoolError):
    """The process beside the app could not do a job."""


class Beside:
    """One job at a time; a process that died is started again with the next job."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def start(self) -> None:
        """Before the app runs, so that its first plot need not wait."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tui.beside.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=environment(),
        )

    async def ask(self, job: str, **details: Any) -> Any:
        line = json.dumps({"job": job, **details})
        said = json.loads(await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, line))
        if "error" in said:
            raise BesideFailed(said["error"])
        return said["answer"]

    def _ask(self, line: str) -> str:
        for _ in range(2):
            if self._closed:
                break
            if self._process is None or self._process.poll() is not None:
                self._end()
                self.start()
            assert self._process and self._process.stdin and self._process.stdout
            try:
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()
                if said := self._process.stdout.readline():
                    return said
            except (BrokenPipeError, ValueError):
                pass
            self._end()
        return json.dumps({"error": "the process beside the app ended unexpectedly"})

    def _end(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def close(self) -> None:
        """Also while it works: nobody waits for the answer any more."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        self._thread.submit(self._end)
        self._thread.shutdown(wait=True)
