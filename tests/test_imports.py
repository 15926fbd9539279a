"""What import-linter (pyproject.toml) cannot check: circles between files, SQL outside storage, clocks in studies, two names."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PRODUCT = ("engine", "storage", "tui")
KINDS = ("secret_game", "simulation", "evolution", "mutation")
NOT_REPRODUCIBLE = {"time", "datetime", "uuid", "secrets"}
WRITES = re.compile(r"\b(INSERT (OR \w+ )?INTO|REPLACE INTO|UPDATE [\w\".{}]+ SET|DELETE FROM)\b")
READS_STORED_TIMES = "simulation/exports.py"


@cache
def _imports(path: Path) -> frozenset[str]:
    """Names that a file imports, in functions too, but not for types alone."""
    names: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    skipped = {id(inner) for node in for_types for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def test_files_of_engine_and_storage_import_one_another_without_a_circle() -> None:
    paths = [path for folder in ("engine", "storage") for path in (ROOT / folder).rglob("*.py")]
    files = {
        "tidepool." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
        if path.name != "__init__.py" or path.stat().st_size
    }
    graph = {name: set(_imports(path)) & files.keys() - {name} for name, path in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' → '.join(reversed(error.args[1]))}")


@pytest.mark.parametrize("folder", [*PRODUCT, "tests", "benchmarks", "tidepool"])
def test_nothing_is_imported_by_the_name_of_its_folder(folder: str) -> None:
    """`engine` and `tidepool.engine` would be two copies of one module."""
    files = [path for path in (ROOT / folder).rglob("*.py") if not any(part.is_symlink() for part in path.parents)]
    assert (
        files and [str(path) for path in files if {name.split(".")[0] for name in _imports(path)} & set(PRODUCT)] == []
    )


def test_statements_on_the_tables_live_in_storage_alone() -> None:
    elsewhere = {
        str(path.relative_to(ROOT))
        for folder in ("engine", "tui")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\.execute(?:many|script)?\((?!\"PRAGMA)", path.read_text(encoding="utf-8"))
    }
    assert elsewhere == set()


def test_no_statement_that_writes_is_written_by_hand() -> None:
    """They are built from the SQLModel classes."""
    files = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
    assert [str(path) for path in files if WRITES.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("kind", KINDS)
def test_studies_never_read_the_clock_or_a_random_stream_that_is_not_their_own(kind: str) -> None:
    """Rule 3: what stops a run for time or money is the engine."""
    files = list((ROOT / "engine" / "studies" / kind).rglob("*.py"))
    wrong = {
        str(path): found
        for path in files
        if not str(path).endswith(READS_STORED_TIMES) and (found := sorted(_not_reproducible(path)))
    }
    assert files and wrong == {}


def _not_reproducible(path: Path) -> Iterator[str]:
    """Names that differ in a second run; of `random` only the class `Random` is allowed."""
    for name in _imports(path):
        module, _, rest = name.partition(".")
        if module in NOT_REPRODUCIBLE or (module == "random" and rest and rest != "Random"):
            yield name
