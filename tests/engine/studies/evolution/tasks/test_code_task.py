"""Code of replies: what is taken for code, how it is marked, and what it cannot do to the machine."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.running import run_with_interruptions, study
from tests.support.state import query
from tests.support.toy_problems import EXAMPLES
from tidepool.engine.config.freezing import freeze
from tidepool.engine.errors import NotTrusted, UsageError
from tidepool.engine.run import enlist, resume_batch
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.python_task import CodeMarker, CodeResult, CodeRuns, checks_for, code_of
from tidepool.engine.studies.evolution.tasks.task import AnswerTask
from tidepool.engine.studies.evolution.tasks.verdict import GivenReply

SECONDS = 1.0
ADD = "def add(a, b):\n    return a + b\n"
TESTS = "assert add(1, 2) == 3\nassert add(-1, 1) == 0\nassert add(2, 2) == 4\n"
HUMAN_EVAL = Problem(
    'def add(a, b):\n    """Adds."""\n',
    "    return a + b",
    {
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(2, 2) == 4\n",
        "entry_point": "add",
    },
)
MBPP = Problem("Write a function add.", ADD, {"test_list": TESTS.splitlines(), "test_setup_code": "import math"})


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (f"Here:\n```python\n{ADD}```\nDone.", ADD),
        (f"```\n{ADD}```", ADD),
        (f"```python\nx = 1\n```\nor better\n```py\n{ADD}```", ADD),
        (f"```python\n{ADD}```\nand it prints\n```\n3 is right\n```", ADD),
        (f"```python\n{ADD}```\nin the shell\n```bash\npython add.py\n```", ADD),
        (f"<think>```python\nadd = None\n```</think>\n~~~python\n{ADD}~~~", ADD),
        (f"```python\n{ADD}", ADD),
        (ADD, ADD.strip("\n")),
        ("The answer is 42.", None),
        ("42", None),
        ("", None),
    ],
)
def test_the_last_block_of_python_is_the_code_of_a_reply(reply: str, code: str | None) -> None:
    assert code_of(reply, Problem("Write add.", TESTS)) == code


def test_the_layouts_of_human_eval_and_mbpp_are_known() -> None:
    assert code_of("    return a + b", HUMAN_EVAL) == f"{HUMAN_EVAL.question}\n    return a + b"
    assert code_of("```python\n    return a + b\n```", HUMAN_EVAL) == f"{HUMAN_EVAL.question}\n    return a + b\n"
    assert code_of(f"```python\n{ADD}```", HUMAN_EVAL) == ADD
    assert checks_for(MBPP).source.startswith("import math\nassert add(1, 2)") and checks_for(MBPP).checks == 3
    assert AnswerTask("python").impossible(Problem("", "assert add(")) is not None
    assert AnswerTask("python").impossible(MBPP) is None


UNITTEST = """
import unittest
class T(unittest.TestCase):
    def test_one(self): self.assertEqual(add(1, 2), 3)
    def test_two(self): self.assertEqual(add(2, 2), 5)
"""
MARKED: dict[str, tuple[str, str, tuple[int, int]]] = {
    "right": (ADD, TESTS, (3, 3)),
    "partly": ("def add(a, b): return 3 if a == 1 else 4", TESTS, (2, 3)),
    "in a loop": (ADD, "for n in range(5):\n    assert add(n, n) == 2 * n", (5, 5)),
    "not reached": (ADD, "if add(1, 1) == 3:\n    assert False\nassert add(1, 2) == 3", (1, 1)),
    "raises": ("def add(a, b): raise OverflowError", TESTS, (0, 3)),
    "no such function": ("def plus(a, b): return a + b", TESTS, (0, 3)),
    "breaks the tests": (ADD, "assert add(1, 2) == 3\nadd(1, '2')\nassert add(2, 2) == 4", (1, 2)),
    "test functions": (ADD, "def test_a():\n    assert add(1, 2) == 3\ndef test_b():\n    add(1, '2')", (1, 2)),
    "test cases": (ADD, UNITTEST, (1, 2)),
    "no asserts": (ADD, "if add(1, 2) != 3: raise ValueError", (1, 1)),
    "checks nothing": (ADD, "def check(candidate):\n    assert candidate(1, 2) == 3", (0, 1)),
    "leaves early": ("import sys\nsys.exit(0)", TESTS, (0, 3)),
    "leaves without a word": ("import os\nos._exit(0)", TESTS, (0, 3)),
    "a flood": (f"{ADD}\nprint('x' * 50_000_000)\nimport sys\nsys.stderr.write('y' * 50_000_000)", TESTS, (3, 3)),
    "numbers in a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\ndef add(a, b): return P(a + b).a",
        TESTS,
        (3, 3),
    ),
}


def ran(*jobs: tuple[str, str]) -> list[CodeResult]:
    async def all_of_them() -> list[CodeResult]:
        runs = CodeRuns(SECONDS)
        return await asyncio.gather(*(runs.result(code, tests, "", 3) for code, tests in jobs))

    return asyncio.run(all_of_them())


def test_a_mark_is_the_share_of_checks_that_were_met() -> None:
    results = ran(*((code, tests) for code, tests, _ in MARKED.values()))
    found = {name: (one.passed, one.total) for name, one in zip(MARKED, results, strict=True)}
    assert found == {name: expected for name, (_, _, expected) in MARKED.items()}


def test_code_that_would_harm_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    outside = tmp_path / "outside"
    kept = tmp_path / "kept"
    kept.write_text("mine")
    hostile = {
        "loops": "while True: pass",
        "sleeps": "import time\ntime.sleep(60)",
        "eats memory": "x = 'x' * (4 << 30)",
        "forks": "import os\nfor _ in range(5): os.fork()",
        "a shell": f"import os\nos.system('touch {outside}')",
        "by another name": "import _posixsubprocess, os\nos.posix_spawn('/bin/true', ['true'], {})",
        "writes outside": f"open({str(outside)!r}, 'w').write('x')",
        "removes": f"import os\nos.remove({str(kept)!r})",
        "a large file": "open('f', 'w').write('x' * (2 << 20))",
        "calls out": "import socket\nsocket.create_connection(('127.0.0.1', 9))",
        "a packet": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('127.0.0.1', 9))",
        "a database outside": f"import sqlite3\nsqlite3.connect({str(outside)!r}).execute('CREATE TABLE t (x)')",
        "calls C": "import ctypes\nctypes.CDLL(None).fork()",
        "kills": f"import os\nos.kill({os.getpid()}, 15)",
    }
    honest = {
        "reads the environment": "import os\nassert 'OPENAI_API_KEY' not in os.environ and 'HOME' not in os.environ",
        "writes in its folder": "open('f', 'w').write('x')\nassert open('f').read() == 'x'",
        "a temporary file": "import tempfile\nwith tempfile.NamedTemporaryFile('w') as one: one.write('x')",
        "an event loop": "import asyncio\nasyncio.run(asyncio.sleep(0))",
        "its folder is empty": "import os\nassert os.listdir() == []",
    }
    began = time.monotonic()
    results = ran(*((f"{code}\n", "assert True") for code in (*hostile.values(), *honest.values())))
    found = {name: one.passed == one.total for name, one in zip((*hostile, *honest), results, strict=True)}
    assert found == {**dict.fromkeys(hostile, False), **dict.fromkeys(honest, True)}
    assert not outside.exists() and kept.read_text() == "mine"
    assert time.monotonic() - began < 30


DEEP = "import os\nhere = os.getcwd()\nos.makedirs('a/' * 20)\n"
READING_ATTACKS = {
    "open": "got = open(SECRET).read()",
    "os.open": "import os\ngot = os.read(os.open(SECRET, os.O_RDONLY), 99)",
    "open_code": "import io\ngot = io.open_code(SECRET).read()",
    "a loader": "from importlib.machinery import SourceFileLoader\ngot = SourceFileLoader('x', SECRET).get_data(SECRET)",
    "an import": "import sys\nsys.path.insert(0, FOLDER)\nimport planted_module\ngot = planted_module.got",
    "copyfile": "import shutil\nshutil.copyfile(SECRET, 'copy')\ngot = open('copy').read()",
    "..": "import os\ngot = open(os.path.relpath(SECRET)).read()",
    "dir_fd": "import os\ngot = os.read(os.open('secret', os.O_RDONLY, dir_fd=os.open(FOLDER, os.O_RDONLY)), 99)",
    "dir_fd by O_PATH": "import os\ngot = os.read(os.open('secret', os.O_RDONLY, dir_fd=os.open(FOLDER, os.O_PATH)), 99)",
    "dir_fd of the root": "import os\ngot = os.read(os.open(SECRET[1:], os.O_RDONLY, dir_fd=os.open('/', os.O_RDONLY)), 99)",
    "dir_fd of a library": "import os\nfd = os.open(os.path.dirname(os.__file__), os.O_RDONLY)\n"
    "got = os.read(os.open(os.path.relpath(SECRET, os.path.dirname(os.__file__)), os.O_RDONLY, dir_fd=fd), 99)",
    "dir_fd as an opener": "import os\nfd = os.open(FOLDER, os.O_RDONLY)\n"
    "got = open('secret', opener=lambda path, flags: os.open(path, flags, dir_fd=fd)).read()",
    "dir_fd of its own folder, from a deeper one": f"{DEEP}fd = os.open('.', os.O_RDONLY)\nos.chdir('a/' * 20)\n"
    "got = os.read(os.open(os.path.relpath(SECRET, here), os.O_RDONLY, dir_fd=fd), 99)",
    "chdir": "import os\nos.chdir(FOLDER)\ngot = open('secret').read()",
    "fchdir": "import os\nos.fchdir(os.open(FOLDER, os.O_RDONLY))\ngot = open('secret').read()",
    "a symlink": "import os\nos.symlink(SECRET, 'link')\ngot = open('link').read()",
    "a hard link": "import os\nos.link(SECRET, 'link')\ngot = open('link').read()",
    "/proc/self/root": "got = open('/proc/self/root' + SECRET).read()",
    "/proc/thread-self/root": "got = open('/proc/thread-self/root' + SECRET).read()",
    "/proc/self/cwd": "import os\ngot = open('/proc/self/cwd/' + os.path.relpath(SECRET)).read()",
    "/proc/self/fd": "import os\ngot = open(f'/proc/self/fd/{os.open(\"/\", os.O_PATH)}' + SECRET).read()",
    "/proc of the parent, its root": "import os\ngot = open(f'/proc/{os.getppid()}/root' + SECRET).read()",
    "environ of the parent": "import os\ngot = open(f'/proc/{os.getppid()}/environ').read()",
    "environ of the parent, as bytes": "import os\ngot = open(b'/proc/%d/environ' % os.getppid()).read()",
    "environ of the parent, by its thread": "import os\nnumber = os.getppid()\n"
    "got = open(f'/proc/{number}/task/{number}/environ').read()",
    "environ of the parent, by ..": "import os\ngot = open(f'/proc/self/task/../../{os.getppid()}/environ').read()",
    "environ of the parent, by chdir": "import os\nos.chdir(f'/proc/{os.getppid()}')\ngot = open('environ').read()",
    "environ of the parent, by dir_fd": "import os\nproc = os.open('/proc', os.O_RDONLY)\n"
    "got = os.read(os.open(f'{os.getppid()}/environ', os.O_RDONLY, dir_fd=proc), 99_999)",
    "a program": "import subprocess\ngot = subprocess.check_output(['cat', SECRET])",
    "a program, without an audit event": "import os\nfrom multiprocessing.util import spawnv_passfds\n"
    "spawnv_passfds(b'/bin/sh', ['sh', '-c', f'cat {SECRET} > copy'], [])\nos.wait()\ngot = open('copy').read()",
    "a database": "import sqlite3\ngot = sqlite3.connect(FOLDER + '/db').execute('SELECT * FROM t').fetchone()",
    "a database by Path": "import pathlib, sqlite3\n"
    "got = sqlite3.connect(pathlib.Path(FOLDER, 'db')).execute('SELECT * FROM t').fetchone()",
    "a database by URI": "import sqlite3\n"
    "got = sqlite3.connect(f'file:{FOLDER}/db?mode=ro', uri=True).execute('SELECT * FROM t').fetchone()",
    "C functions": "import ctypes\nlibc, text = ctypes.CDLL(None), ctypes.create_string_buffer(99)\n"
    "libc.read(libc.open(SECRET.encode(), 0), text, 99)\ngot = text.value",
    "readline": "import readline\nreadline.read_history_file(SECRET)\ngot = readline.get_history_item(1)",
}
HONEST = {
    "standard modules": "import abc, argparse, array, ast, base64, bisect, calendar, cmath, codecs, collections, contextlib, copy, csv, "
    "dataclasses, datetime, decimal, difflib, doctest, enum, fractions, functools, gzip, hashlib, heapq, hmac, html, io, "
    "itertools, json, locale, logging, math, numbers, operator, pathlib, pickle, pprint, queue, random, re, secrets, "
    "shutil, statistics, string, struct, subprocess, tempfile, textwrap, threading, time, tokenize, types, typing, "
    "unicodedata, unittest.mock, urllib.parse, uuid, xml.etree.ElementTree, zipfile, zlib\n"
    "assert decimal.Decimal('0.1') * 3 == decimal.Decimal('0.3') and uuid.uuid4() and random.random() < 1",
    "an installed package": "import numpy\nassert numpy.arange(3).sum() == 3",
    "files of the standard library": "import inspect, json, platform, mimetypes\n"
    "assert 'def dumps' in inspect.getsource(json) and platform.platform() and mimetypes.guess_type('a.txt')[0]",
    "a time zone": "import datetime, zoneinfo\nif 'Europe/Rome' in zoneinfo.available_timezones():\n"
    "    assert datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Rome')).utcoffset()",
    "devices": "import os\nassert len(open('/dev/urandom', 'rb').read(4)) == 4 and open(os.devnull).read() == ''\n"
    "open(os.devnull, 'w').write('x')",
    "folders of its own": "import os, pathlib, shutil\nos.makedirs('a/b')\npathlib.Path('a/b/f').write_text('x')\nos.chdir('a')\n"
    "assert open('b/f').read() == open('b/../b/f').read() == 'x' and [*os.walk('.')]\nshutil.rmtree('b')\nassert not os.listdir()",
    "a temporary folder": "import os, tempfile\nwith tempfile.TemporaryDirectory() as one:\n"
    "    os.mkdir(one + '/sub')\n    open(one + '/sub/f', 'w').write('x')\nassert not os.path.exists(one)",
    "a module of its own": "import sys\nopen('mine.py', 'w').write('x = 1')\nsys.path.insert(0, '')\nimport mine\nassert mine.x == 1",
    "databases of its own": "import sqlite3\nfor place in (':memory:', 'mine.db'):\n"
    "    one = sqlite3.connect(place)\n    one.execute('CREATE TABLE t (x)')\n    assert not one.execute('SELECT * FROM t').fetchall()",
}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Code that names a folder outside, with a secret file, a module and a database in it."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret").write_text("PATH=planted\n")
    (folder / "planted_module.py").write_text("got = 'PATH=planted'")
    with closing(sqlite3.connect(folder / "db")) as database, database:
        database.execute("CREATE TABLE t AS SELECT 'PATH=planted' AS x")
    return f"FOLDER = {str(folder)!r}\nSECRET = FOLDER + '/secret'\n"


@pytest.mark.parametrize("attack", READING_ATTACKS.values(), ids=READING_ATTACKS.keys())
def test_code_cannot_read_files_outside_or_the_keys_of_its_parent(attack: str, secrets: str, tmp_path: Path) -> None:
    """Every environment but that of a run has a PATH. Without the guard each attack succeeds, so that none fails by a slip."""
    code, check = f"{secrets}{attack}\n", "assert 'PATH=' in str(got)\n"
    unguarded = [sys.executable, "-I", "-c", code + check]
    assert subprocess.run(unguarded, cwd=tmp_path, env={"TMPDIR": str(tmp_path)}).returncode == 0
    (result,) = ran((code, check))
    assert result.passed == 0, attack


def test_honest_code_is_not_hindered() -> None:
    results = ran(*((f"{code}\n", "assert True") for code in HONEST.values()))
    assert {name: one.note for name, one in zip(HONEST, results, strict=True)} == dict.fromkeys(HONEST, "")


async def test_a_reply_with_code_is_marked_by_its_tests() -> None:
    marker = CodeMarker(CodeRuns(SECONDS))

    async def mark(text: str) -> Any:
        found = await marker.mark(GivenReply(text, 7, False, None, "p0", 1), MBPP)  # type: ignore[arg-type]
        return found.answer, found.correct, found.score, found.note

    assert await mark(f"```python\n{ADD}```") == ("3 of 3 checks", True, 1.0, "")
    wrong = "```python\ndef add(a, b): return 3\n```"
    assert await mark(wrong) == ("1 of 3 checks", False, pytest.approx(1 / 3), "AssertionError")
    assert await mark("I cannot.") == (None, False, 0.0, "the reply has no Python")


def test_nothing_is_run_without_a_word_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="allow_code = true"):
        freeze(study(task="python"), tmp_path / "x.db")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda name: monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / name))


async def test_a_strangers_batch_has_no_code_run(tmp_path: Path, machine: Callable[[str], None]) -> None:
    machine("here")
    batch = enlist(study(task="python", allow_code=True), tmp_path / "study.db")
    machine("there")
    with pytest.raises(NotTrusted, match="Python that models write"):
        await resume_batch(batch, tmp_path / "study.db")


async def test_an_evolution_of_code_that_was_stopped_keeps_its_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    config = study(
        problems="code_problems.jsonl",
        task="python",
        allow_code=True,
        population_size=3,
        max_generations=1,
        max_problems=3,
        validation_problems=2,
        seed_final=False,
        service="live",
    )
    summary, stops = await run_with_interruptions(config, tmp_path / "study.db", every=7)
    assert summary["status"] == "completed" and stops and summary["calls"]["bought"] == summary["calls"]["total"]
    answers = query(tmp_path / "study.db", "SELECT reply, extracted, correct, score FROM answers")
    assert {("```" in reply, extracted is None) for reply, extracted, _, _ in answers} <= {(True, False), (False, True)}
    assert all(correct == (score == 1.0) for _, _, correct, score in answers) and len({row[3] for row in answers}) > 1
