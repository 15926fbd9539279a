"""Runs a reply's code and the tests of its problem under limits: JSON in on stdin, a report out on a pipe of its own.

The limits guard the machine against accidents: endless loops, memory, floods, forks, stray files and calls. They are no wall
against code that sets out to break them; docs/tasks.md lists what they do not cover. Whatever ends this process before its
report is whole, no test has passed.
"""

import _posixsubprocess
import ast
import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import all_suffixes
from types import ModuleType
from typing import Any

FILE_BYTES = 1 << 20
OPEN_FILES = 64
LONGEST = 300
REFUSED = frozenset(
    """
    os.fork os.forkpty os.posix_spawn os.spawn os.exec os.system os.startfile os.kill os.killpg os.chmod os.chown
    os.link os.symlink pty.spawn subprocess.Popen socket.bind socket.connect socket.sendmsg socket.getaddrinfo
    socket.gethostbyname socket.sendto ctypes.dlsym ctypes.dlsym/handle signal.pthread_kill
    sqlite3.enable_load_extension
    """.split()
)
OWN_FOLDER_ONLY = frozenset(
    """
    os.chdir os.mkdir os.rename os.remove os.rmdir os.truncate shutil.rmtree shutil.copyfile shutil.move
    sqlite3.connect
    """.split()
)
UNAUDITED = {"readline", "spwd", "_dbm", "_gdbm", "_tkinter"}
"""modules that open files in C, without an audit event"""
PREFIXES = (sys.prefix, sys.base_prefix, "/usr", "/usr/local")
READABLE = (
    *(f"{prefix}/{part}" for prefix in PREFIXES for part in ("bin", "lib", "lib64", "share")),
    *("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/etc/localtime", "/etc/mime.types", "/etc/os-release"),
)
"""what the interpreter and installed packages read; all other files outside the folder of the run are refused"""
AF_UNIX = 1
"""sockets within the machine, of which an event loop needs a pair"""
SUFFIXES = tuple(all_suffixes())


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
    """Refuses what no solution needs: other processes, the network, and files that are neither in its folder nor of Python."""
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    readable = tuple(os.path.realpath(path) + os.sep for path in READABLE)
    imported = tuple(f"{path}/" for path in sys.path)
    vars(_posixsubprocess)["fork_exec"] = None  # it has no audit event

    def inside(path: Any) -> bool:
        """Audit events of `open` do not show `dir_fd`. So a relative path must not lead upwards, and no folder outside can be
        opened: then every file descriptor of a folder is safe."""
        if isinstance(path, int):
            return True
        name = os.fsdecode(path)
        if name.startswith("file:") or os.path.normpath(name).startswith(os.pardir):
            return False
        return (os.path.realpath(name) + os.sep).startswith(folder + os.sep)

    def may_read(path: Any) -> bool:
        name, real = os.fsdecode(path), os.path.realpath(path)
        if os.path.isdir(real):  # noqa: PTH112 -- pathlib takes 15 ms to load
            return False
        # Modules may be installed elsewhere, by symlinks or for development.
        module = name.startswith(imported) and os.pardir not in name and name.endswith(SUFFIXES)
        return module or (real + os.sep).startswith(readable)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in REFUSED or (event == "socket.__new__" and arguments[1] != AF_UNIX):
            raise Refused(f"{event} is not allowed here")
        if event == "import" and arguments[0] in UNAUDITED:
            raise ImportError(f"{arguments[0]} is not allowed here")
        if event == "open" and not inside(arguments[0]):
            path, mode, flags = arguments
            writes = bool(set(mode) & set("wax+")) if isinstance(mode, str) else bool(flags & writing)
            if writes and path != os.devnull:
                raise Refused("writing outside its folder is not allowed here")
            if not may_read(path):
                raise Refused("reading outside its folder is not allowed here")
        elif event in OWN_FOLDER_ONLY and not all(inside(path) for path in arguments if path is not None):
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
