"""A command loads what it needs and nothing else: held by what is loaded, not by a clock."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import all_kinds
from tests.support.state import query
from tests.support.studies import written

ROOT = Path(__file__).parents[3]
NEVER = {"sqlmodel", "sqlalchemy", "scipy", "textual", "openai", "anthropic", "ollama", "genai_prices", "safetensors"}
"""packages that reading does not need; a study of simulated conversations needs SQLModel alone, to write"""


PROGRAM = """
import sys
from tidepool.tui.command.main import main
try:
    code = main(sys.argv[1:])
finally:
    print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
sys.exit(code)
"""


def loaded_by(*arguments: str, folder: Path) -> set[str]:
    """The top-level modules that a command has loaded by its end."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "TIDEPOOL_STATE": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture
def file_of_all_kinds(tmp_path: Path) -> Path:
    return all_kinds.file_of_all_kinds(tmp_path / "all_kinds.db")


LIGHT = NEVER | {"pydantic", "asyncio", "filelock"}
TABLES = ("--format", "csv", "-o", "out")


@pytest.mark.parametrize(
    ("command", "kind", "never"),
    [
        ("--help", "", NEVER | {"pydantic", "numpy", "plotext", "rich"}),
        ("list", "", LIGHT | {"numpy", "plotext"}),
        ("log", "secret_game", LIGHT),
        ("show", "secret_game", LIGHT),
        ("show", "evolution", LIGHT),
        ("show", "mutation", LIGHT),
        ("stats", "simulation", LIGHT),
        ("export", "secret_game", {"sqlmodel", "sqlalchemy"}),
    ],
)
def test_reading_loads_no_config_class_and_nothing_that_calls_a_provider(
    command: str, kind: str, never: set[str], file_of_all_kinds: Path
) -> None:
    ids = query(file_of_all_kinds, "SELECT id FROM batch WHERE kind = ? LIMIT 1", kind)
    arguments = [command, *(row[0] for row in ids), *(TABLES if command == "export" else ())]
    loaded = loaded_by("--db", str(file_of_all_kinds), *arguments, folder=file_of_all_kinds.parent)
    assert (command in ("--help", "export") or {"sqlite3", "rich"} <= loaded) and loaded.isdisjoint(never)


@pytest.mark.parametrize(
    ("arguments", "needed", "never"),
    [(["--run"], {"asyncio", "sqlmodel"}, set()), (["plan"], {"pydantic"}, {"numpy", "plotext", "filelock"})],
)
def test_a_small_study_loads_no_sdk_and_nothing_for_tables_or_statistics_that_it_does_not_use(
    arguments: list[str], needed: set[str], never: set[str], tmp_path: Path
) -> None:
    loaded = loaded_by("--db", str(tmp_path / "new.db"), *arguments, str(written(tmp_path)), folder=tmp_path)
    assert needed <= loaded and loaded.isdisjoint(NEVER - {"sqlmodel", "sqlalchemy"} | never)


def test_the_first_screen_of_the_app_waits_for_no_config() -> None:
    """What checks a config, and the screens one has not gone to, are loaded behind it."""
    told = "import sys, tidepool.tui.app.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "tidepool.tui.app.screens.batches" in loaded
    assert not loaded & {
        *("pydantic", "numpy", "plotext", "sqlmodel", "sqlalchemy"),
        "tidepool.tui.app.screens.compose",
        "tidepool.engine.config.sections",
    }


def test_a_small_study_enters_at_most_sixty_modules() -> None:
    command = [sys.executable, "-m", "benchmarks.entered_modules"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert int(printed.splitlines()[-1].split()[0]) <= 60
