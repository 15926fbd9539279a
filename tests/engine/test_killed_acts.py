"""kill -9 in the middle of each act that writes: the next look finds the file sound, all or nothing, and nothing left over.

`make prove ONLY=killed_commands` kills them at twenty random moments each.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.command import ROOT, Tidepool
from tests.support.state import query
from tests.support.studies import game
from tidepool.engine.run import run_batch


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    await run_batch(game(4, 2), folder / "small.db")
    await run_batch(game(3, 2, seed=2), folder / "other.db")
    return folder


def _count(database: Path, table: str) -> int:
    return int(query(database, f"SELECT count(*) FROM {table}")[0][0])


CASES: dict[str, tuple[str, list[str], Callable[[Path], bool]]] = {
    "import": ("INSERT INTO call", ["import", "../other.db"], lambda path: _count(path, "batch") == 1),
    "delete": ("DELETE FROM unit", ["delete", "last", "--yes"], lambda path: _count(path, "call") == 8),
    "library": ("COMMIT", ["entities", "generate", "-n", "50"], lambda path: _count(path, "library_entity") == 0),
    "export": ("FROM conversations", ["export", "last", "-o", "out"], lambda path: not (path.parent / "out").exists()),
}


DONE_AGAIN = ("delete", "library")
"""acts whose own lock or journal is taken away by the next one that writes"""


@pytest.mark.parametrize(
    "act", ["import", "delete", *(pytest.param(act, marks=pytest.mark.slow) for act in ("library", "export"))]
)
def test_an_act_that_was_killed_is_done_or_not_done_and_leaves_nothing(act: str, files: Path, tmp_path: Path) -> None:
    statement, arguments, right = CASES[act]
    study, scratch = tmp_path / "study", tmp_path / "tmp"
    study.mkdir()
    scratch.mkdir()
    database = study / "study.db"
    shutil.copy(files / "small.db", database)
    shutil.copy(files / "other.db", tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)}
    killed = subprocess.run(
        [sys.executable, "-m", "tests.support.killed", f"before:{statement}", "--db", str(database), *arguments],
        cwd=study,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    looked = Tidepool(study, database)("list")
    assert looked.returncode == 0, looked.stderr
    assert query(database, "PRAGMA integrity_check") == [("ok",)]
    assert right(database)
    if act in DONE_AGAIN:
        assert Tidepool(study, database)(*arguments).returncode == 0
    assert {path.name for path in study.iterdir()} == {"study.db"}
    assert not list(scratch.iterdir())
