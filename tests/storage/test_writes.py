"""Every statement that writes to a study file is built from the SQLModel classes, which only writing loads."""

import re
import subprocess
import sys
from pathlib import Path

from tests.support.studies import game, written
from tidepool import run_batch

ROOT = Path(__file__).parents[2]
WRITES = re.compile(r"\b(INSERT (OR \w+ )?INTO|REPLACE INTO|UPDATE [\w\".{}]+ SET|DELETE FROM)\b")

BLOCKED = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sqlmodel", "sqlalchemy"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
"""
COMMAND = BLOCKED + "from tidepool.tui.command.main import main\nsys.exit(main(sys.argv[1:]))"
FIRST_SCREEN = BLOCKED + "import tidepool.tui.app.app, tidepool.tui.app.screens.batches"


def test_no_statement_that_writes_is_written_by_hand() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for room in ("engine", "storage", "tui")
        for path in (ROOT / room).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if WRITES.search(line)
    }
    assert found == set()


def blocked(program: str, *words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """The program where neither SQLModel nor SQLAlchemy can be imported."""
    environment = {"PYTHONPATH": str(ROOT), "TIDEPOOL_STATE": str(folder), "TIDEPOOL_SELLER": str(folder)}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


async def test_commands_that_only_read_and_the_first_screen_do_without_sqlmodel(database: Path, tmp_path: Path) -> None:
    await run_batch(game(2, 1), database)
    for words in (
        ["list"],
        ["show", "last"],
        ["log", "last"],
        ["stats", "last"],
        ["export", "last", "--format", "csv"],
    ):
        done = blocked(COMMAND, "--db", str(database), *words, folder=tmp_path)
        assert (done.returncode, done.stderr.count("Error")) == (0, 0), (words, done.stderr)
    done = blocked(FIRST_SCREEN, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_run_writes_through_sqlmodel(tmp_path: Path) -> None:
    done = blocked(
        COMMAND, "--db", str(tmp_path / "new.db"), "--debug", "--run", str(written(tmp_path, 2, 1)), folder=tmp_path
    )
    assert done.returncode != 0 and "is blocked" in done.stderr
