"""tui ──► engine ──► storage: imports go to the right only; and what a story may not reach."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {"tui": {"tui", "engine", "storage"}, "engine": {"engine", "storage"}, "storage": {"storage"}}


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.split(".")[1] for name in names if name.startswith("tidepool.")} & set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_itself_and_what_lies_to_its_right(room: str) -> None:
    wrong = {
        str(path.relative_to(ROOT)): sorted(_imported(path) - MAY_IMPORT[room])
        for path in (ROOT / room).rglob("*.py")
        if _imported(path) - MAY_IMPORT[room]
    }
    assert wrong == {}


@pytest.mark.parametrize("folder", [*MAY_IMPORT, "tests", "benchmarks", "tidepool"])
def test_nothing_is_imported_by_the_name_of_its_folder(folder: str) -> None:
    """`engine` and `tidepool.engine` would be two copies of one module."""
    bare = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(MAY_IMPORT)})\b", re.MULTILINE)
    files = [path for path in (ROOT / folder).rglob("*.py") if not any(part.is_symlink() for part in path.parents)]
    assert files and [str(path) for path in files if bare.search(path.read_text())] == []


STORIES = ("secret_game", "simulation", "evolution", "mutation")
TOLD_BY_THE_FILE = "simulation/exports.py"
"""writes times that are in the file already"""


def _fickle(path: Path) -> list[str]:
    """What would be another in a second run: the clock, ids made up, random streams that all share."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name in FICKLE | {"random"}]
        elif isinstance(node, ast.ImportFrom):
            shared = node.module == "random" and {alias.name for alias in node.names} != {"Random"}
            found += [str(node.module)] if node.module in FICKLE or shared else []
    return found


FICKLE = {"time", "datetime", "uuid", "secrets"}


@pytest.mark.parametrize("kind", STORIES)
def test_stories_never_read_the_clock_or_a_random_stream_that_is_not_their_own(kind: str) -> None:
    """Rule 3: what stops a run for time or money is the engine."""
    files = [
        path for path in (ROOT / "engine" / "studies" / kind).rglob("*.py") if not str(path).endswith(TOLD_BY_THE_FILE)
    ]
    assert files and {str(path): _fickle(path) for path in files if _fickle(path)} == {}
