"""A reply's code with the tests of its problem, in a process of its own with limits: what one run comes to.

Own folder, an environment that names it and nothing else, isolated interpreter, limits on time, memory, files and processes, and an end of the whole
group of processes. Runs of the same code and tests are one run, and no more go at once than there are cores.
"""

import asyncio
import json
import os
import signal
import sys
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tidepool.engine.studies.evolution.tasks import workers

HARNESS = Path(workers.__file__).with_name("code_harness.py")
MEGABYTES = 512
LONGEST_REPORT = 1 << 16
CLOCK = 3.0
"""so many times the seconds of work may pass by the clock: a busy machine must not make code wrong"""
SPARE_SECONDS = 1.0
"""for the interpreter to start and the report to be written"""
MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class CodeResult:
    passed: int
    total: int
    note: str = ""
    """the first thing that went wrong"""


class CodeRuns:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lanes = asyncio.Semaphore(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
        self._known: OrderedDict[bytes, CodeResult] = OrderedDict()

    async def result(self, code: str, tests: str, entry_point: str, checks: int) -> CodeResult:
        """`checks`: how many there are to be met, where a run ends without saying so."""
        key = sha256("\x1f".join((code, tests, entry_point)).encode("utf-8", "surrogatepass")).digest()
        if key not in self._known:
            async with self._lanes:
                if key not in self._known:
                    self._known[key] = await self._run(code, tests, entry_point, checks)
                    if len(self._known) > MOST_KEPT:
                        self._known.popitem(last=False)
        return self._known[key]

    async def _run(self, code: str, tests: str, entry_point: str, checks: int) -> CodeResult:
        token = os.urandom(16).hex()
        limits = {"seconds": self.seconds, "clock": CLOCK * self.seconds, "megabytes": MEGABYTES}
        asked = {"code": code, "tests": tests, "entry_point": entry_point, "token": token, **limits}
        with TemporaryDirectory(prefix="tidepool-code-", ignore_cleanup_errors=True) as folder:
            report, status = await self._reported(json.dumps(asked).encode(), folder)
        try:
            told: dict[str, Any] = json.loads(report)
            if told["token"] == token:
                return CodeResult(int(told["passed"]), int(told["total"]), str(told["note"]))
        except (ValueError, KeyError, TypeError):
            pass
        return CodeResult(0, checks, self._ending(status))

    async def _reported(self, asked: bytes, folder: str) -> tuple[bytes, int | None]:
        """What the harness wrote, and how it ended; None: it was ended."""
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-B", "-X", "utf8", str(HARNESS), str(writing)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=folder,
                env={"TMPDIR": folder},
                pass_fds=(writing,),
                start_new_session=True,
            )
        finally:
            os.close(writing)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOCK * self.seconds + SPARE_SECONDS):
                    await process.communicate(asked)
            status = process.returncode
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            os.set_blocking(reading, False)
            with suppress(BlockingIOError), os.fdopen(reading, "rb") as report:
                written = report.read(LONGEST_REPORT)
        await process.wait()
        return written or b"", status

    def _ending(self, status: int | None) -> str:
        if status in (None, -signal.SIGALRM, -signal.SIGKILL, -signal.SIGXCPU):
            return f"it took longer than {self.seconds:g} seconds"
        return f"it ended by itself (status {status}) before its tests did"
