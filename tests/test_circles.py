"""No file needs itself: imports form no circle, lazy and type-only ones counted, and each layer knows only those beneath."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
KINDS = ("secret_game", "simulation", "evolution", "mutation")


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {_module(path): path for room in ("engine", "storage") for path in (ROOT / room).rglob("*.py")}


def _named(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _imports(name: str) -> set[str]:
    """The files that a file imports. An empty __init__ is no file that anybody needs."""
    found = {other.removeprefix("tidepool.") for other in _named(FILES[name])} & FILES.keys() - {name}
    return {one for one in found if FILES[one].name != "__init__.py" or FILES[one].stat().st_size}


def test_imports_form_no_circle() -> None:
    try:
        TopologicalSorter({name: _imports(name) for name in FILES}).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' → '.join(reversed(error.args[1]))}")


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_study_imports_another(kind: str) -> None:
    others = tuple(f"engine.studies.{other}." for other in KINDS if other != kind)
    own = [name for name in FILES if name.startswith(f"engine.studies.{kind}.")]
    assert own and {name: found for name in own if (found := [o for o in _imports(name) if o.startswith(others)])} == {}


def test_the_library_lies_beneath_the_studies() -> None:
    library = [name for name in FILES if name.startswith("engine.library.")]
    up = {name: [other for other in _imports(name) if other.startswith("engine.studies")] for name in library}
    assert library and {name: found for name, found in up.items() if found} == {}
