"""A scorer of the user's own: `scorer = "file.py:function"`, a file in the folder of the config.

A scorer is code, so it runs only on the user's own request. A config that the user wrote names it, and its hash is frozen. A
resumed batch runs the file with this hash only, after `run.py` has established that the batch is the user's own and has located
the file. Reading results never runs it. The scorer runs in a separate process: if it hangs, crashes or fails, one mark is
missing, and the run continues.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import RunError, UsageError
from tidepool.engine.studies.evolution.config import OWN_SCORER, EvolutionSettings
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.verdict import SolverReply, Unmarked, Verdict
from tidepool.engine.trust.foreign_keys import NOT_TRUSTED

WORKER = Path(__file__).with_name("scorer_worker.py")
MOST_BYTES = 1 << 20
LOAD_SECONDS = 60.0
"""limit for a scorer's imports"""
WHERE = ("evolution", "scorer")
READY = b'{"ready": true}\n'
"""a worker's message after it has loaded the scorer"""


@dataclass(frozen=True, slots=True)
class FoundScorer:
    path: Path
    function: str
    sha256: str

    def command(self, seconds: float) -> list[str]:
        return [sys.executable, "-P", "-B", str(WORKER), str(self.path), self.function, self.sha256, str(seconds)]


_allowed: dict[tuple[str, str], FoundScorer] = {}
"""by name and hash: the scorers that `find_code` located for batches of the user's own"""


def is_own(scorer: str) -> bool:
    """Whether it is a file of the user's; else it is the name of an installed scorer, or empty."""
    return re.fullmatch(OWN_SCORER, scorer) is not None


def find_scorer(scorer: str, folders: Iterable[Path], expected: str = "") -> FoundScorer:
    """The file in the first folder that has it, with this hash if one is expected. Does not run it."""
    match = re.fullmatch(OWN_SCORER, scorer)
    assert match
    searched, changed = list(dict.fromkeys(folder.resolve() for folder in folders)), None
    for folder in searched:
        path = _within(folder, match["file"])
        if path.is_file():
            digest = sha256(_content(path)).hexdigest()
            if expected in ("", digest):
                return FoundScorer(path, match["function"], digest)
            changed = changed or path
    if changed:
        raise UsageError(
            f"The scorer {changed} was changed after the batch was made (its hash is not {expected[:12]}…), so its scores "
            "would differ. Restore the old file, or start a new run.",
            WHERE,
        )
    places = " nor in ".join(map(str, searched))
    raise UsageError(f"There is no scorer {match['file']} in {places}. Copy it there.", WHERE)


def try_to_load(found: FoundScorer, seconds: float) -> None:
    """Loads it in a separate process, so that errors show before the first request."""
    try:
        output = subprocess.run(
            found.command(seconds),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LOAD_SECONDS,
            cwd=found.path.parent,
        ).stdout
    except subprocess.TimeoutExpired:
        raise UsageError(f"The scorer {found.path} did not load within {LOAD_SECONDS:g} seconds.", WHERE) from None
    if output != READY:
        words = json.loads(output)["error"] if output else "its process ended"
        raise UsageError(f"The scorer {found.path.name}:{found.function} cannot be loaded: {words}.", WHERE)


def allowed_scorer(settings: EvolutionSettings) -> FoundScorer:
    if (found := _allowed.get((settings.scorer, settings.scorer_sha256))) is None:
        raise UsageError(f"The scorer {settings.scorer} does not run, because this process did not request it.", WHERE)
    return found


def _within(folder: Path, name: str) -> Path:
    """A file in the folder; raises if a name or a link leads elsewhere."""
    path = Path(os.path.realpath(folder / name))
    if Path(name).is_absolute() or not path.is_relative_to(folder):
        raise UsageError(
            f"The scorer {name!r} is not in the folder of the config. Only scorers in this folder can run.", WHERE
        )
    return path


def _content(path: Path) -> bytes:
    try:
        check_file(path, MOST_BYTES, WHERE)
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"The scorer {path} cannot be read: {error.strerror}.", WHERE) from None


SPARE_SECONDS = 2.0
"""grace period before a worker that should have ended is killed"""
LONGEST_LINE = 1 << 20
FAILURES_AT_FIRST = 10
"""after this many failures without any mark the scorer is broken, and more replies would be wasted"""


class ScorerMarker:
    """Scores with the user's own function, one reply at a time. Restarts a worker that ended. A reply that it cannot score is
    missing, never wrong."""

    def __init__(self, found: FoundScorer, seconds: float, pass_mark: float, notify: Callable[[str], None]) -> None:
        self._found, self._seconds, self._pass_mark, self._notify = found, seconds, pass_mark, notify
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._marked = self._failed = 0

    async def mark(self, reply: SolverReply, problem: Problem) -> Verdict | Unmarked:
        async with self._turn:
            marks = await self.score(reply.text, problem)
        if "error" in marks:
            return self._missing(marks["error"])
        self._marked += 1
        score = marks["score"]
        correct = score >= self._pass_mark if marks["correct"] is None else marks["correct"]
        return Verdict(f"{score:g}", correct, reply.length, score, marks["metrics"])

    async def score(self, reply: str, problem: Problem) -> dict[str, Any]:
        """What the worker says of one reply; {"error": …} where it cannot."""
        about = {"question": problem.question, "answer": problem.answer, **problem.fields}
        request = {"reply": reply, "answer": problem.answer, "problem": about}
        try:
            worker = self._process or await self._start()
            assert worker.stdin and worker.stdout
            worker.stdin.write(json.dumps(request).encode() + b"\n")
            async with asyncio.timeout(self._seconds + SPARE_SECONDS):
                marks: dict[str, Any] = json.loads(await worker.stdout.readline())
                return marks
        except (OSError, ValueError, TimeoutError):
            await self.close()
            return {"error": f"its process ended, or it took longer than {self._seconds:g} seconds"}
        except asyncio.CancelledError:  # its answer could be mistaken for that to the next reply
            self._kill()
            raise

    async def _start(self) -> asyncio.subprocess.Process:
        self._process = worker = await asyncio.create_subprocess_exec(
            *self._found.command(self._seconds),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self._found.path.parent,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        assert worker.stdout
        async with asyncio.timeout(LOAD_SECONDS):
            if await worker.stdout.readline() != READY:
                raise OSError
        return worker

    def _missing(self, why: str) -> Unmarked:
        self._failed += 1
        name = self._found.path.name
        if self._failed == 1:
            self._notify(f"The scorer {name} could not score a reply, so its score is missing: {why}.")
        if not self._marked and self._failed >= FAILURES_AT_FIRST:
            raise RunError(
                f"The scorer {name} has failed {self._failed} times and never scored a reply: {why}. "
                "Correct the file and start a new run, since a batch keeps its original scorer."
            )
        return Unmarked(why)

    async def close(self) -> None:
        if (worker := self._process) is not None:
            self._kill()
            await worker.wait()

    def _kill(self) -> None:
        """Kills the worker with all its child processes."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process = None


def with_code_frozen(settings: EvolutionSettings, folder: Path | None) -> EvolutionSettings:
    """Adds the scorer's hash when a batch is made. The file is beside the config, or in the current directory."""
    if settings.scorer.startswith(NOT_TRUSTED):
        raise UsageError(
            f"evolution.scorer is {settings.scorer!r}: this scorer comes from an untrusted file, and it runs code on this "
            f"machine. If you trust the file, write scorer = {settings.scorer.removeprefix(NOT_TRUSTED)!r} yourself.",
            WHERE,
        )
    if not is_own(settings.scorer):
        return settings
    if folder is not None:
        found = find_scorer(settings.scorer, (folder, Path.cwd()), settings.scorer_sha256)
        return settings.model_copy(update={"scorer_sha256": found.sha256})
    if not settings.scorer_sha256:
        raise UsageError("The config of the batch names a scorer without its hash. The file was changed.", WHERE)
    return settings


def code_of(settings: EvolutionSettings) -> tuple[str, ...]:
    """The code that it runs on this machine, in words."""
    if not is_own(settings.scorer):
        return ()
    name, digest = settings.scorer.removeprefix(NOT_TRUSTED), settings.scorer_sha256[:16]
    return (f"the scorer {name} (sha256 {digest}...), which can read your keys and files",)


def find_code(settings: EvolutionSettings, folders: Sequence[Path]) -> None:
    """Allows this process to run it."""
    if is_own(settings.scorer):
        found = find_scorer(settings.scorer, folders, settings.scorer_sha256)
        try_to_load(found, settings.marking_seconds)
        _allowed[settings.scorer, settings.scorer_sha256] = found
