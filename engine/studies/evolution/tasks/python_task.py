"""`task = "python"`: runs the code of a reply with the tests of its problem, in a process of its own with limits.

Own folder, an environment that names it and nothing else, isolated interpreter, limits on time, memory, files and processes, and
an end of the whole group of processes. Runs of the same code and tests are one run, and no more go at once than there are
cores.
"""

import ast
import asyncio
import json
import os
import re
import signal
import sys
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.verdict import GivenReply, Verdict

HARNESS = Path(__file__).with_name("code_harness.py")
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


NO_CODE = "the reply has no Python"
_FENCED = re.compile(r"^[ \t]*(`{3,}+|~{3,}+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OURS = ("", "python", "py", "python3")
_MOST_BLOCKS = 50
"""of a reply that are tried: the last"""


@dataclass(frozen=True, slots=True)
class CodeTests:
    """Of one problem."""

    source: str
    entry_point: str
    """the function that they are handed; empty: they know it by name"""

    @property
    def checks(self) -> int:
        """As far as can be counted without running them."""
        return max(1, sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(self.source))))


def checks_for(problem: Problem) -> CodeTests:
    """As the columns of HumanEval (test, entry_point) and MBPP (test_list, test_setup_code) have them; else the answer."""
    fields = problem.fields
    found = next((fields[name] for name in ("test", "tests", "test_list") if fields.get(name)), problem.answer)
    source = "\n".join(map(str, found)) if isinstance(found, list) else str(found)
    setup = _text(fields, "test_setup_code") or _text(fields, "test_imports")
    return CodeTests(f"{setup}\n{source}" if setup else source, _text(fields, "entry_point"))


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return "\n".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def impossible_tests(problem: Problem) -> str | None:
    """Why no reply could ever pass; None: one could."""
    try:
        tree = ast.parse(checks_for(problem).source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"its tests are no Python ({error})"
    return None if tree.body else "it has no tests"


def code_of(reply: str, problem: Problem) -> str | None:
    """The last fenced block that is Python, or the whole reply where that is; what goes on from the question's own code is
    put behind it, as HumanEval has it. None: there is none."""
    reply = _THOUGHTS.sub("", reply)
    blocks = [found[3] for found in _FENCED.finditer(reply) if found[2].lower() in _OURS][-_MOST_BLOCKS:]
    entry_point = checks_for(problem).entry_point
    for code in (*reversed(blocks), reply.strip("\n")):
        for whole in (code, f"{problem.question}\n{code}"):
            if is_python(whole) and (not entry_point or defines(whole, entry_point)):
                return whole
    return next((code for code in reversed(blocks) if is_python(code)), None)


def is_python(code: str) -> bool:
    """Something that does or defines something: a word alone is Python too."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(one, ast.Expr) or isinstance(one.value, ast.Call) for one in body)


def defines(code: str, name: str) -> bool:
    body = ast.parse(code).body
    named = {one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    assigned = {
        target.id
        for one in body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    return name in named | assigned


@dataclass(frozen=True, slots=True)
class CodeMarker:
    runs: CodeRuns

    async def mark(self, reply: GivenReply, problem: Problem) -> Verdict:
        """The share of checks that were met; correct is all of them."""
        code, tests = code_of(reply.text, problem), checks_for(problem)
        if code is None:
            return Verdict(None, False, reply.length, 0.0, note=NO_CODE)
        result = await self.runs.result(code, tests.source, tests.entry_point, tests.checks)
        told = f"{result.passed} of {result.total} checks"
        return Verdict(
            told, result.passed == result.total, reply.length, result.passed / result.total, note=result.note
        )

    async def close(self) -> None:
        return None
