"""A user's scorer at work, in one process beside the run: what hangs, crashes or errs costs one mark, never the run."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tidepool.engine.errors import RunError
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.given_reply import GivenReply
from tidepool.engine.studies.evolution.tasks.own_scorer import LOAD_SECONDS, READY, FoundScorer
from tidepool.engine.studies.evolution.tasks.verdict import Unmarked, Verdict

SPARE_SECONDS = 2.0
"""until a worker that should have ended itself is ended"""
LONGEST_LINE = 1 << 20
FAILURES_AT_FIRST = 10
"""marks that may fail before there is one: then the scorer is broken, and going on would buy replies for nothing"""


class ScorerFailed(Exception):
    """Of one reply, in words."""


@dataclass(slots=True)
class ScorerProcess:
    """One reply at a time; a worker that ended is started anew for the next."""

    found: FoundScorer
    seconds: float
    """for one reply"""
    _process: asyncio.subprocess.Process | None = None

    async def score(self, reply: str, problem: Problem) -> dict[str, Any]:
        worker = self._process or await self._started()
        about = {"question": problem.question, "answer": problem.answer, **problem.fields}
        asked = {"reply": reply, "answer": problem.answer, "problem": about}
        try:
            assert worker.stdin
            worker.stdin.write(json.dumps(asked).encode() + b"\n")
            line = await self._line(worker, self.seconds + SPARE_SECONDS)
            found: dict[str, Any] = json.loads(line)
        except (OSError, ValueError, TimeoutError):
            await self.close()
            raise ScorerFailed("its process ended before it had a mark") from None
        except asyncio.CancelledError:  # its answer would be taken for that to the next reply
            self._kill()
            raise
        if "error" in found:
            raise ScorerFailed(found["error"])
        return found

    async def _started(self) -> asyncio.subprocess.Process:
        worker = await asyncio.create_subprocess_exec(
            *self.found.command(self.seconds),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self.found.path.parent,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        self._process = worker
        try:
            if await self._line(worker, LOAD_SECONDS) == READY:
                return worker
        except TimeoutError:
            pass
        await self.close()
        raise ScorerFailed("it cannot be loaded any more")

    async def _line(self, worker: asyncio.subprocess.Process, seconds: float) -> bytes:
        """Empty where the worker ended: with -14 it was its own alarm."""
        assert worker.stdout
        async with asyncio.timeout(seconds):  # on Python 3.11 `wait_for` loses a cancellation that comes with the line
            line = await worker.stdout.readline()
        async with asyncio.timeout(SPARE_SECONDS):
            ended = await worker.wait() if not line else None
        if ended == -signal.SIGALRM:
            await self.close()
            raise ScorerFailed(f"it took longer than {self.seconds:g} seconds")
        return line

    async def close(self) -> None:
        if (worker := self._process) is not None:
            self._kill()
            await worker.wait()

    def _kill(self) -> None:
        """With whatever it has started."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process = None


class ScorerMarker:
    """Marks by the user's own function: what it cannot mark is missing, never wrong."""

    def __init__(self, process: ScorerProcess, pass_mark: float, tell: Callable[[str], None]) -> None:
        self._process = process
        self._pass_mark = pass_mark
        self._tell = tell
        self._turn = asyncio.Lock()
        self._marked = self._failed = 0

    async def mark(self, reply: GivenReply, problem: Problem) -> Verdict | Unmarked:
        async with self._turn:
            try:
                found = await self._process.score(reply.text, problem)
            except ScorerFailed as error:
                return self._missing(str(error))
        self._marked += 1
        score = found["score"]
        correct = score >= self._pass_mark if found["correct"] is None else found["correct"]
        return Verdict(f"{score:g}", correct, reply.length, score, found["metrics"])

    def _missing(self, why: str) -> Unmarked:
        self._failed += 1
        name = self._process.found.path.name
        if self._failed == 1:
            self._tell(f"The scorer {name} could not mark a reply, whose mark is missing: {why}.")
        if not self._marked and self._failed >= FAILURES_AT_FIRST:
            raise RunError(
                f"The scorer {name} has failed {self._failed} times and never marked a reply: {why}. "
                "Mend the file and run the study anew: a batch keeps the scorer that it began with."
            )
        return Unmarked(why)

    async def close(self) -> None:
        await self._process.close()
