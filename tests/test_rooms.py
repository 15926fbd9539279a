"""tui ──► engine ──► storage: imports go to the right only."""

import ast
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
    return {name.partition(".")[0] for name in names} & set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_itself_and_what_lies_to_its_right(room: str) -> None:
    wrong = {
        str(path.relative_to(ROOT)): sorted(_imported(path) - MAY_IMPORT[room])
        for path in (ROOT / room).rglob("*.py")
        if _imported(path) - MAY_IMPORT[room]
    }
    assert wrong == {}
