"""`task = "python"`: is the code of a reply right? Its problem's tests say so."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.code_run import CodeRuns
from tidepool.engine.studies.evolution.tasks.given_reply import GivenReply
from tidepool.engine.studies.evolution.tasks.verdict import Verdict

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
