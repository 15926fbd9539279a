"""Runs a reply's code and the tests of its problem under limits: JSON in on stdin, a report out on a pipe of its own.

The limits guard the machine against accidents: endless loops, memory, floods, forks, stray files and calls. They are no wall
against code that sets out to break them. Whatever ends this process before its report is whole, no test has passed.
"""

import ast
import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

FILE_BYTES = 1 << 20
OPEN_FILES = 64
LONGEST = 300
REFUSED = {
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.exec",
    "os.system",
    "os.startfile",
    "os.kill",
    "os.killpg",
    "os.chmod",
    "os.chown",
    "os.link",
    "os.symlink",
    "pty.spawn",
    "subprocess.Popen",
    "socket.bind",
    "socket.connect",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.sendto",
    "ctypes.dlsym",
    "ctypes.dlsym/handle",
    "signal.pthread_kill",
}
WRITES = {
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.truncate",
    "shutil.rmtree",
    "shutil.copyfile",
    "shutil.move",
    "sqlite3.connect",
}
"""may be done in the folder of the run alone"""
AF_UNIX = 1
"""sockets within the machine, of which an event loop needs a pair"""


class Refused(PermissionError):
    """What code of a reply may not do."""


class Count:
    """Checks that were met, and how they went."""

    def __init__(self) -> None:
        self.passed = self.failed = 0
        self.note = ""

    def met(self) -> None:
        self.passed += 1

    def missed(self, error: BaseException) -> None:
        self.failed += 1
        self.note = self.note or words(error)


def main() -> None:
    asked = json.load(sys.stdin)
    report = os.fdopen(int(sys.argv[1]), "w")
    silence()
    limit(asked["seconds"], asked["clock"], asked["megabytes"])
    found = examine(asked["code"], asked["tests"], asked["entry_point"])
    json.dump({"token": asked["token"], **found}, report)
    report.flush()
    os._exit(0)  # whatever the code has left to be done at the end is not done


def silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)


def limit(seconds: float, clock: float, megabytes: int) -> None:
    whole = math.ceil(seconds)
    memory = megabytes << 20
    for kind, most in (
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        lower(kind, most)
    signal.setitimer(signal.ITIMER_REAL, clock)
    sys.addaudithook(guard(os.path.realpath(os.curdir)))


def lower(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError, OSError):  # a system that does not know this limit has the others
        resource.setrlimit(kind, (most, most))


def guard(folder: str) -> Callable[[str, tuple[Any, ...]], None]:
    """Refuses what no solution needs: other processes and what they hold, the network, and writing outside its folder."""
    own = str(os.getpid())
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def inside(path: Any) -> bool:
        if isinstance(path, int):
            return True
        return (os.path.realpath(os.fsdecode(path)) + os.sep).startswith(folder + os.sep)

    def of_another(path: Any) -> bool:
        """Keys stand in the environment of whoever started this."""
        parts = [] if isinstance(path, int) else os.path.realpath(os.fsdecode(path)).split("/")
        return parts[1:2] == ["proc"] and parts[2:3] != [own] and "".join(parts[2:3]).isdecimal()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in REFUSED or (event == "socket.__new__" and arguments[1] != AF_UNIX):
            raise Refused(f"{event} is not allowed here")
        if event == "open" and of_another(arguments[0]):
            raise Refused("reading of other processes is not allowed here")
        if event == "open" and len(arguments) > 2:
            path, mode, flags = arguments[:3]
            writes = bool(set(mode) & set("wax+")) if isinstance(mode, str) else bool(flags & writing)
            if writes and path != os.devnull and not inside(path):
                raise Refused("writing outside its folder is not allowed here")
        elif event in WRITES and not all(inside(path) for path in arguments if isinstance(path, str | bytes)):
            raise Refused(f"{event} outside its folder is not allowed here")

    return hook


def examine(code: str, tests: str, entry_point: str) -> dict[str, Any]:
    """How many checks were met of how many. Where the tests did not come to their end, those that they would still have met
    count as failed."""
    count = Count()
    solution = ModuleType("solution")
    sys.modules["solution"] = solution
    try:
        exec(compile(code, "reply", "exec"), solution.__dict__)
        run_tests(tests, entry_point, solution.__dict__, count)
    except BaseException as error:
        total = max(checks_in(tests), count.passed + count.failed + 1)
        return {"passed": count.passed, "total": total, "note": count.note or words(error)}
    if not count.passed + count.failed and checks_in(tests):
        return {"passed": 0, "total": checks_in(tests), "note": "its tests check nothing"}
    if not count.passed + count.failed:
        count.met()
    return {"passed": count.passed, "total": count.passed + count.failed, "note": count.note}


def run_tests(tests: str, entry_point: str, space: dict[str, Any], count: Count) -> None:
    """Asserts are counted one by one, and so are the methods of test cases; tests with neither pass as one."""
    tree = ast.fix_missing_locations(CountedAsserts().visit(ast.parse(tests)))
    space["__met__"], space["__missed__"] = count.met, count.missed
    before = dict(space)
    exec(compile(tree, "tests", "exec"), space)
    new = {name: value for name, value in space.items() if before.get(name) is not value}
    if callable(new.get("check")) and entry_point:
        new["check"](space[entry_point])
    for name, value in new.items():
        if is_case(value):
            run_case(value, count)
        elif name.startswith("test") and callable(value):
            attempt(value, count)


def is_case(value: Any) -> bool:
    """Loading unittest takes longer than most runs: only tests that have loaded it have test cases."""
    known = sys.modules.get("unittest")
    return known is not None and isinstance(value, type) and issubclass(value, known.TestCase)


def run_case(case: Any, count: Count) -> None:
    import io
    import unittest

    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    wrong = [*result.failures, *result.errors]
    count.failed += len(wrong)
    count.passed += result.testsRun - len(wrong) - len(result.skipped)
    if wrong:
        count.note = count.note or wrong[0][1].strip().rpartition("\n")[2][:LONGEST]


def attempt(test: Callable[[], Any], count: Count) -> None:
    """A function whose asserts are counted as they are met; what else goes wrong in it is a check that failed."""
    before = count.passed + count.failed
    try:
        test()
    except Exception as error:
        count.missed(error)
    else:
        if count.passed + count.failed == before:
            count.met()


class CountedAsserts(ast.NodeTransformer):
    """Each assert counts, and one that fails does not keep the next from being met."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        caught = ast.ExceptHandler(ast.Name("Exception", ast.Load()), "__error__", [called("__missed__", "__error__")])
        return ast.Try([node, called("__met__")], [caught], [], [])


def called(function: str, *names: str) -> ast.stmt:
    arguments: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
    return ast.Expr(ast.Call(ast.Name(function, ast.Load()), arguments, []))


def checks_in(tests: str) -> int:
    try:
        return sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(tests)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 1


def words(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:LONGEST] if said else type(error).__name__


if __name__ == "__main__":
    main()
