"""tui ──► engine ──► storage: imports go to the right only; and what a story may not reach."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STORIES = ("secret_game", "simulation", "evolution", "mutation")
MAY_IMPORT = {"tui": {"tui", "engine", "storage"}, "engine": {"engine", "storage"}, "storage": {"storage"}}


def _names(path: Path) -> set[str]:
    """Everything of ours that a file imports, lazily or for its types alone too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name.removeprefix("tidepool.") for name in names if name.startswith("tidepool.")}


def _imported(path: Path) -> set[str]:
    return {name.split(".")[0] for name in _names(path)} & set(MAY_IMPORT)


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


def _modules(room: str) -> dict[str, Path]:
    """Files by the name they are imported by; a package's own file counts where there is something in it."""
    files = (path for path in (ROOT / room).rglob("*.py") if path.name != "__init__.py" or path.stat().st_size)
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


@pytest.mark.parametrize("room", ["engine", "storage"])
def test_no_circle_of_imports_not_even_of_lazy_or_type_only_ones(room: str) -> None:
    modules = _modules(room)
    graph = {name: (_names(path) & modules.keys()) - {name} for name, path in modules.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(modules)


@pytest.mark.parametrize("kind", STORIES)
def test_no_kind_imports_another(kind: str) -> None:
    others = tuple(f"engine.studies.{other}." for other in STORIES if other != kind)
    wrong = {
        str(path.relative_to(ROOT)): found
        for path in (ROOT / "engine" / "studies" / kind).rglob("*.py")
        if (found := sorted(name for name in _names(path) if name.startswith(others)))
    }
    assert wrong == {}


OWN_DATABASES = {"engine/trust/record.py", "engine/providers/simulated/purchase_log.py", "engine/bench.py"}
"""they keep files of their own, or disturb a study's on purpose"""


def test_statements_on_the_tables_live_in_storage_alone() -> None:
    elsewhere = {
        str(path.relative_to(ROOT))
        for room in ("engine", "tui")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"\.execute(?:many|script)?\((?!\"PRAGMA)", path.read_text())
    }
    assert elsewhere == OWN_DATABASES


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


OUTLINE = ("config", "study", "plan", "story", "statistics", "comparison", "report", "methods", "exports")


@pytest.mark.parametrize("kind", STORIES)
def test_every_kind_has_the_same_outline(kind: str) -> None:
    """Who learned one knows four."""
    missing = [name for name in OUTLINE if not (ROOT / "engine" / "studies" / kind / f"{name}.py").exists()]
    assert missing == []
